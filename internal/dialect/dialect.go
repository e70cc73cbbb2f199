// Package dialect defines the contracts of a dialect: the format in which clients and upstreams exchange one turn of a
// conversation. [Inbound] is the side of clients, [Outbound] that of upstreams; each package below this one implements both for
// one dialect. Between a client and an upstream of the same dialect, shunt passes the bytes through and changes them by splices
// only.
//
// Implementations keep no state and are safe for concurrent use. A [Meter] or a [StreamMeter] belongs to the goroutine that
// relays the response.
package dialect

import (
	"net/http"
	"net/url"

	"shunt/internal/wire"
)

// Inbound reads requests of clients and writes responses to them.
type Inbound interface {
	// Endpoints returns the paths that requests of the dialect are sent to.
	Endpoints() []Endpoint

	// Session returns the session that the header of a request names, or "" (SES-1).
	Session(h http.Header) string

	// Scan reads a request body in one pass. It allocates only the names of models. The error is a [*RequestError].
	Scan(body []byte) (Request, error)

	// LeadingModel returns the model of a request from the beginning of its body. It reports false if the beginning does not
	// contain the model yet, or contains what Scan rejects.
	LeadingModel(head []byte) (model string, ok bool)

	// TokenAdvice returns how to give a client its token for this gateway, as the beginning of a sentence.
	TokenAdvice() string

	// AppendError appends an error response's body (ERR-1). An empty request ID is left out.
	AppendError(dst []byte, kind ErrorKind, message, requestID string) []byte

	// AppendErrorEvent appends the event that ends a stream with an error.
	AppendErrorEvent(dst []byte, kind ErrorKind, message string) []byte

	// AppendModels appends the response body that lists models.
	AppendModels(dst []byte, models []Model) []byte

	// Ping returns the event that keeps a silent stream alive (WIRE-12). Callers must not modify it.
	Ping() []byte
}

// Outbound writes requests to upstreams and reads their responses.
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

	// FirstEvent finds the first event of a stream's head that is neither a ping nor a comment (FO-11). If there is none,
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
	Start, End int       // its bytes in the head, including the blank line that ends it
	Model      wire.Span // the string literal of the response's model, including the quotes; zero: none
	Failure    ErrorKind // if it reports that the upstream failed before the response began (FO-11); else NoError
}

// Meter counts the tokens of a response as its bytes pass (OBS-1). It never fails, holds a bounded number of bytes, and
// ignores what it cannot read. The division of the response into chunks makes no difference.
type Meter interface {
	Write(p []byte)
	Usage() Usage
}

// StreamMeter is the meter of a stream.
type StreamMeter interface {
	Meter

	// Complete reports whether the stream has reached its last event or an error event. A stream that ends before that is
	// truncated (FO-9).
	Complete() bool

	// Failure returns the upstream's type of the first error event: at most 64 lower-case letters and underscores, "unknown" if
	// the type is missing or different, and "" if there was no error event (OBS-1).
	Failure() string
}

// Usage is the number of tokens that a response reports.
type Usage struct {
	Input, Output, CacheRead, CacheCreation int64
	Known                                   bool // whether the response reported any
}
