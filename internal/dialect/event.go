package dialect

import "time"

// EventKind is the kind of an [Event].
type EventKind uint8

// The kinds of events, in the order in which a response has them. Parts may be interleaved. Every part that starts ends before
// Finished; after Failed, nothing follows.
const (
	Started     EventKind = iota + 1 // the upstream has begun; it is not yet content
	PartStarted                      // a part of the response begins
	PartDelta                        // a piece of it
	PartEnded
	Cited    // the text of a part cites a page (RSP-4)
	Finished // the last event: why the response ends, and its usage
	Failed   // the last event: the response ends with an error
)

// PartType is the type of a part of a response.
type PartType uint8

// The types.
const (
	TextPart PartType = iota
	RefusalPart
	ReasoningPart // its deltas are the text that a client may see
	CallPart      // its deltas are the arguments: a JSON object, or the plain input of a custom tool
	SearchPart    // a web search that the provider ran; it has no deltas
)

// StopReason is why a response ended.
type StopReason uint8

// The reasons (RSP-2).
const (
	EndTurn StopReason = iota
	StopMaxTokens
	StopToolUse
	StopRefusal
	StopSequence
	StopPause // the provider interrupted a long turn
)

// Event is one event of a response in no dialect (DIA-1). The fields that its kind does not name are zero.
type Event struct {
	Kind EventKind
	Part int      // of a part: its number, ascending from 0 in the order in which parts start
	Type PartType // of a part, in all of its events

	ID string // Started: of the response; PartStarted and PartEnded of reasoning: of the item

	// Text is a piece of a part. It is valid until the next call of the reader.
	Text []byte

	Call   *ToolCall  // PartStarted of a call: its ID and name, without arguments
	Search *WebSearch // PartEnded of a search
	Source *Citation  // Cited

	// PartEnded of reasoning: the token by which its provider recognizes it; empty: none. Redacted reasoning is the token alone.
	Opaque   string
	Redacted bool

	Stop         StopReason // Finished
	StopSequence string     // Finished with StopSequence
	Usage        Usage      // Finished

	Err       *Error // Failed
	Truncated bool   // Failed: because the response ended before the upstream's last event (DIA-8)
}

// Citation says that a text cites a page.
type Citation struct{ URL, Title, CitedText string }

// ResponseReader reads the response of an upstream. The division of the response into chunks makes no difference (DIA-3). It
// holds a bounded number of bytes between events.
type ResponseReader interface {
	// Read accepts the next bytes and appends the events that they complete.
	Read(dst []Event, p []byte) []Event
	// End appends the events that the end of the response entails. A response that has ended before the upstream's last event
	// ends with Failed (DIA-8).
	End(dst []Event) []Event
}

// ResponseWriter writes a response to a client.
type ResponseWriter interface {
	// Write appends what the client gets for an event. For a client that gets one document, only Finished appends anything.
	// Failed appends the event that ends a stream with an error; a document has none: the caller sends an error response.
	Write(dst []byte, e *Event) []byte
}

// ResponseOptions are what a [ResponseWriter] needs to know of the request.
type ResponseOptions struct {
	Turn    *Turn  // that the client requested; the writer does not change it
	Origin  Origin // of the account that responds
	Created time.Time
}
