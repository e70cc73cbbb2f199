package dialect

import "slices"

// Target is what [Outbound.Encode] needs to know of an upstream.
type Target struct {
	Model   string
	Origin  Origin // of the account
	Session string // a hash of the client's session, for the prompt cache; empty: none
	Accepts Accepts
}

// Accepts is what a vendor accepts of a dialect (FAM-3). The zero value is cautious.
type Accepts struct {
	Efforts             []string // the levels of effort, lowest first; none: low, medium and high
	Sampling            bool     // temperature and top_p in the responses dialect
	OmitMaxTokens       bool     // it rejects a limit on the length of the response
	MaxOutputTokens     int      // that a response may have; 0: [DefaultMaxOutputTokens]
	MaxCompletionTokens bool     // chat: the limit is called max_completion_tokens
	ReasoningEffort     bool     // chat: there is a reasoning_effort
	ReturnsReasoning    bool     // chat: it wants its reasoning back
	WebSearch           bool     // it searches the web by itself
}

// DefaultMaxOutputTokens is the most tokens of a response that an unknown vendor is asked for.
const DefaultMaxOutputTokens = 32_000

// Levels returns the levels of effort, lowest first.
func (a *Accepts) Levels() []string {
	if len(a.Efforts) == 0 {
		return defaultEfforts
	}
	return a.Efforts
}

// allEfforts are the levels of effort of all vendors, lowest first.
var allEfforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Nearest returns the accepted level of effort that is closest to a client's: that level, or else the next lower one, or else
// the lowest. A level that no vendor has counts as medium.
func (a *Accepts) Nearest(level string) string {
	levels := a.Levels()
	if slices.Contains(levels, level) {
		return level
	}
	rank := slices.Index(allEfforts, level)
	if rank < 0 {
		rank = slices.Index(allEfforts, "medium")
	}
	nearest := levels[0]
	for _, accepted := range levels {
		if slices.Index(allEfforts, accepted) <= rank {
			nearest = accepted
		}
	}
	return nearest
}

var defaultEfforts = []string{"low", "medium", "high"}

// Encoded is a turn as a request to an upstream.
type Encoded struct {
	Path   string // of the request, below the base URL, with its query
	Header []Field
	Body   []byte
	Stream bool // whether the upstream is asked for a stream of events

	// Tools are the turn's tools by their names in the body, as far as those differ or the tool is a custom one.
	Tools map[string]*Tool

	// Bound is set if the body depends on the target's origin: it contains reasoning of that origin, or lacks that of others,
	// which Dropped counts (RSP-3).
	Bound   bool
	Dropped int
}

// Field is a line of a header.
type Field struct{ Name, Value string }

// Keep reports whether a request to an account contains a piece of reasoning: if the account can read it (RSP-3). It counts
// what is dropped, and notes that the body depends on the account.
func (e *Encoded) Keep(r *Reasoning, to Origin) bool {
	if r.Origin != (Origin{}) {
		e.Bound = true
		if r.Origin == to && r.Opaque != "" {
			return true
		}
	}
	e.Dropped++
	return false
}
