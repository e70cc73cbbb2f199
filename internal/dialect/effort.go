package dialect

import "slices"

// scale are the levels of effort that any vendor knows, lowest first.
var scale = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// The budgets, in tokens, up to which a level is enough.
const (
	lowBudget    = 1_024
	mediumBudget = 8_192
	highBudget   = 24_576
)

// EffortFor returns the level of effort to request from a vendor that knows some levels, lowest first, or "" if the client does
// not say. A level that the vendor does not know becomes the nearest one below it that it knows, or else its lowest.
func (e *Effort) EffortFor(levels []string) string {
	level := e.Level
	switch {
	case e.Thinking == ThinkingOff:
		return levels[0]
	case level != "":
	case e.Thinking == ThinkingBudgeted:
		switch {
		case e.Budget <= lowBudget:
			level = "low"
		case e.Budget <= mediumBudget:
			level = "medium"
		case e.Budget <= highBudget:
			level = "high"
		default:
			level = "xhigh"
		}
	case e.Thinking == ThinkingOn:
		level = "medium"
	default:
		return ""
	}
	wanted := slices.Index(scale, level)
	if wanted < 0 || slices.Contains(levels, level) {
		return level
	}
	nearest := levels[0]
	for _, known := range levels {
		if at := slices.Index(scale, known); at >= 0 && at <= wanted {
			nearest = known
		}
	}
	return nearest
}

// On reports whether the client wants the model to reason.
func (e *Effort) On() bool { return e.Thinking == ThinkingOn || e.Thinking == ThinkingBudgeted }
