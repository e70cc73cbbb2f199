// Package dialect defines what a dialect is: a way in which clients and upstreams say one turn of a conversation. [Inbound]
// is a dialect as clients speak it to shunt, [Outbound] a dialect as shunt speaks it to upstreams; a package below this one
// implements both for one dialect. A client and an upstream of the same dialect exchange bytes, which shunt changes by
// splices only.
//
// Implementations keep no state, so that any number of goroutines may use one. What reads a response, a [Meter] or a
// [StreamMeter], belongs to the goroutine that relays it.
package dialect

import (
	"net/http"
	"net/url"

	"shunt/internal/wire"
)

// Inbound is a dialect as a client speaks it.
type Inbound interface {
	// Endpoints returns the paths that requests of the dialect are sent to.
	Endpoints() []Endpoint

	// Session returns the session that the header of a request names, or "" (SES-1).
	Session(h http.Header) string

	// Scan reads a request body in one pass. It allocates nothing but the names of models. The error is an [*RequestError].
	Scan(body []byte) (Request, error)

	// LeadingModel returns the model of a request from the beginning of its body. It reports false if the beginning does not
	// contain the model yet, or contains what Scan rejects.
	LeadingModel(head []byte) (model string, ok bool)

	// TokenAdvice says how the user of a client gives it a token for this gateway: the beginning of a sentence.
	TokenAdvice() string

	// AppendError appends an error response's body (ERR-1). An empty request ID is left out.
	AppendError(dst []byte, kind ErrorKind, message, requestID string) []byte

	// AppendErrorEvent appends the event that ends a stream with an error.
	AppendErrorEvent(dst []byte, kind ErrorKind, message string) []byte

	// AppendModels appends the response body that lists models.
	AppendModels(dst []byte, models []Model) []byte

	// Ping returns the event that keeps a silent stream alive (WIRE-12). It must not be changed.
	Ping() []byte
}

// Outbound is a dialect as an upstream speaks it.
type Outbound interface {
	// AppendEdits appends the changes that turn a client's body into one for the upstream (WIRE-5): its model, if that
	// differs, and the account's UUID where the body contains one (WIRE-6); "" leaves it.
	AppendEdits(dst []wire.Edit, r *Request, model, accountUUID string) []wire.Edit

	// CarriesReasoning reports whether a request body contains the reasoning of earlier turns (SEL-31).
	CarriesReasoning(body []byte) bool

	// ModelsURL returns where an upstream lists its models, and completes the header of a request for that list.
	ModelsURL(base *url.URL, h http.Header) *url.URL

	// ParseModels reads the response to such a request.
	ParseModels(body []byte) ([]Model, error)

	// ParseError reads an error from a response's body, which may be truncated after it.
	ParseError(body []byte) (Error, bool)

	// FirstEvent looks for the first event of a stream's head that is neither a ping nor a comment (FO-11). If there is none,
	// Start is that of the event that has not ended.
	FirstEvent(head []byte) (e Event, found bool)

	// ResponseModel finds the string literal of the model, quotes included, in the beginning of a response that is one JSON
	// document (RTE-3).
	ResponseModel(head []byte) (wire.Span, bool)

	// NewMeter returns a meter for a response that is one JSON document.
	NewMeter() Meter

	// NewStreamMeter returns a meter for a response that is a stream of events.
	NewStreamMeter() StreamMeter
}

// Endpoint is a path that requests of a dialect are sent to.
type Endpoint struct {
	Path         string
	CountsTokens bool // its requests count tokens and do nothing else (RTE-4)
}

// Model is a model as an upstream or shunt lists it.
type Model struct {
	ID          string
	DisplayName string
}

// Event is one event of a stream.
type Event struct {
	Start, End int       // its bytes in the head, the blank line that ends it included
	Model      wire.Span // the string literal of the response's model, quotes included; zero: it has none
	Failure    ErrorKind // of an event that says that the upstream failed before the response began (FO-11); else NoError
}

// Meter counts the tokens of a response as its bytes pass (OBS-1). It never fails, holds a bounded number of bytes, and
// ignores what it cannot read; how the response is cut into chunks makes no difference.
type Meter interface {
	Write(p []byte)
	Usage() Usage
}

// StreamMeter is the meter of a stream.
type StreamMeter interface {
	Meter

	// Complete reports whether the stream ended as one does, by its last event or an error event. A stream that ends before
	// is truncated (FO-9).
	Complete() bool

	// Failure returns the type of the first error event, as the upstream calls it: at most 64 lower-case letters and
	// underscores, "unknown" if it has no such type, and "" if there was no error event (OBS-1).
	Failure() string
}

// Usage is what a response says it cost, in tokens.
type Usage struct {
	Input, Output, CacheRead, CacheCreation int64
	Known                                   bool // whether the response said anything
}
