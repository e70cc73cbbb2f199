// Package script is the vocabulary in which tests tell any simulated provider what to respond: a [Step] describes one response
// without the words of a dialect, and every provider renders it in its own. A provider takes the steps queued for it in order
// and falls back to [Default], which depends on the prompt alone.
//
// The package does not know HTTP, accounts or time: what belongs to one kind of provider (quota, tokens, pacing) is a fault or
// a setting of that provider. Values are immutable and safe for concurrent use.
package script

import "slices"

// Step is one response: reasoning, text, a refusal and tool calls, in this order, each if it is not empty, and how the response
// ends. Build one with the functions of the same names as its parts and combine them with the methods.
type Step struct {
	Reasoning   string // sent only to a client that requested reasoning
	Text        string
	Refusal     string // a refusal's text; where a dialect has no refusals, text with that stop reason
	Calls       []Call
	Interleaved bool // the deltas of the calls alternate
	Stop        Stop
	Failure     Failure
	When        When // of the failure
	// Cut ends a stream after the content, without what ends a response in the dialect. It does not affect plain responses.
	Cut bool
	// Cached is the number of the prompt's tokens that were read from a cache.
	Cached int64
}

// Call is a call of one of the client's tools.
type Call struct {
	ID        string // empty: derived from the prompt
	Namespace string // of the tool, for dialects that have namespaces
	Name      string
	// Input is a JSON object, or any text for a custom tool. Empty means no input at all.
	Input  string
	Custom bool // a tool whose input is free text, for dialects that distinguish these
}

// Stop is how the model stops.
type Stop uint8

// The stops.
const (
	Done       Stop = iota // by itself: at the end, at its calls, or with its refusal
	AtMaximum              // at the limit on output tokens
	AtFiltered             // by a content filter
)

// Failure is a way in which a provider fails; each provider has its own status and words for it.
type Failure uint8

// The failures.
const (
	NoFailure   Failure = iota
	TooLong             // the prompt exceeds the context window
	Overloaded          // the service has too little capacity
	RateLimited         // too many requests; not the quota
	ServerError         // an internal error
	Invalid             // the request is not valid
)

// When tells where a failure occurs.
type When uint8

// The places of a failure.
const (
	Before When = iota // instead of a response: an error status
	First              // in a stream, as its first event after the handshake; before a plain response
	After              // in a stream, after the content; before a plain response
)

// TooLongTokens and TooLongMaximum are the numbers in the message of [TooLong].
const (
	TooLongTokens  = 212_345
	TooLongMaximum = 200_000
)

// Text responds with the text.
func Text(text string) Step { return Step{Text: text} }

// Reasoning responds with reasoning, then the text.
func Reasoning(reasoning, text string) Step { return Step{Reasoning: reasoning, Text: text} }

// Refusal responds with a refusal.
func Refusal(text string) Step { return Step{Refusal: text} }

// Calls responds with calls of tools, one after the other.
func Calls(calls ...Call) Step { return Step{Calls: calls} }

// Interleaved responds with calls whose deltas alternate, where the dialect can express it.
func Interleaved(calls ...Call) Step { return Step{Calls: calls, Interleaved: true} }

// MaxTokens responds with a text that ends at the limit on output tokens.
func MaxTokens(text string) Step { return Step{Text: text, Stop: AtMaximum} }

// Overflow refuses a prompt that exceeds the context window.
func Overflow() Step { return Step{Failure: TooLong} }

// FailBefore fails with an error response.
func FailBefore(f Failure) Step { return Step{Failure: f} }

// FailFirst fails as the first event of a stream.
func FailFirst(f Failure) Step { return Step{Failure: f, When: First} }

// FailAfter responds with the text, then fails inside the stream.
func FailAfter(text string, f Failure) Step { return Step{Text: text, Failure: f, When: After} }

// Cut responds with the text and ends the stream without its terminal event.
func Cut(text string) Step { return Step{Text: text, Cut: true} }

// Stopping returns the step with another stop.
func (s Step) Stopping(stop Stop) Step { s.Stop = stop; return s }

// WithCut returns the step with its stream cut after the content.
func (s Step) WithCut() Step { s.Cut = true; return s }

// WithCached returns the step with n tokens of the prompt read from a cache.
func (s Step) WithCached(n int64) Step { s.Cached = n; return s }

// Queue holds the steps that a provider has not taken yet. The zero value is empty. It is not safe for concurrent use: the
// provider's lock guards it.
type Queue struct{ steps []Step }

// Add appends steps.
func (q *Queue) Add(steps ...Step) { q.steps = append(q.steps, steps...) }

// Next removes and returns the first step.
func (q *Queue) Next() (Step, bool) {
	if len(q.steps) == 0 {
		return Step{}, false
	}
	s := q.steps[0]
	q.steps = slices.Delete(q.steps, 0, 1)
	return s, true
}

// Len returns the number of steps left.
func (q *Queue) Len() int { return len(q.steps) }
