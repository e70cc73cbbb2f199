package dialect

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
