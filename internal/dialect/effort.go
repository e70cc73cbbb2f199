package dialect

// The budgets, in tokens, up to which a level of effort is enough.
const (
	lowBudget    = 1_024
	mediumBudget = 8_192
	highBudget   = 24_576
)

// LevelFor returns the level of effort to request from a vendor, or "" if the client does not say.
func (e *Effort) LevelFor(a *Accepts) string {
	switch {
	case e.Thinking == ThinkingOff:
		return a.Levels()[0]
	case e.Level != "":
		return a.Nearest(e.Level)
	case e.Thinking == ThinkingBudgeted:
		return a.Nearest(levelOf(e.Budget))
	case e.Thinking == ThinkingOn:
		return a.Nearest("medium")
	}
	return ""
}

func levelOf(budget int) string {
	switch {
	case budget <= lowBudget:
		return "low"
	case budget <= mediumBudget:
		return "medium"
	case budget <= highBudget:
		return "high"
	}
	return "xhigh"
}

// On reports whether the client wants the model to reason.
func (e *Effort) On() bool { return e.Thinking == ThinkingOn || e.Thinking == ThinkingBudgeted }

// EffortOf returns the effort that a client requests with a level, as the dialects that began with OpenAI do.
func EffortOf(level string) Effort {
	switch level {
	case "":
		return Effort{}
	case "none":
		return Effort{Thinking: ThinkingOff, Level: level}
	}
	return Effort{Thinking: ThinkingOn, Level: level}
}
