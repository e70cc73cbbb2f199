// Package dialect defines the contracts of a dialect: the format in which clients and upstreams exchange one turn of a
// conversation. [Inbound] is the side of clients, [Outbound] that of upstreams; each package below this one implements them for
// one dialect.
//
// Between a client and an upstream of the same dialect, shunt passes the bytes through and changes them by splices only, as
// [Passing] says. Between two dialects it translates by way of a neutral form, so that a dialect needs one reader and one writer
// and no dialect knows another (DIA-1): a request becomes a [Turn], a response a sequence of [Event] values.
//
// Implementations keep no state and are safe for concurrent use. A [Meter], a [StreamMeter], a [ResponseReader] or a
// [ResponseWriter] belongs to the goroutine that relays the response.
package dialect

import (
	"net/http"
	"net/url"
	"time"

	"shunt/internal/wire"
)

// Inbound reads requests of clients and writes responses to them.
type Inbound interface {
	Passing

	// Name names the dialect in logs and metrics. An upstream whose dialect has the same name gets the bytes of the client.
	Name() string

	// Endpoints returns the paths that requests of the dialect are sent to.
	Endpoints() []Endpoint

	// Session returns the session that the header of a request names, or "" (SES-1, INB-6).
	Session(h http.Header) string

	// Scan reads a request body in one pass. It allocates only the names of models. The error is a [*RequestError].
	Scan(body []byte) (Request, error)

	// LeadingModel returns the model of a request from the beginning of its body. It reports false if the beginning does not
	// contain the model yet, or contains what Scan rejects.
	LeadingModel(head []byte) (model string, ok bool)

	// ReadTurn reads a request body whole, to translate it. The turn does not alias the body. The error is a [*RequestError]
	// that names the member at fault (DIA-5).
	ReadTurn(body []byte) (*Turn, error)

	// NewWriter returns a writer of the translated response to a turn.
	NewWriter(o ResponseOptions) ResponseWriter

	// TokenAdvice returns how to give a client its token for this gateway, as the beginning of a sentence.
	TokenAdvice() string

	// Status returns the HTTP status with which a client of the dialect gets an error (DIA-6, GPT-12).
	Status(e *Error) int

	// AppendError appends an error response's body (ERR-1, DIA-6). An empty request ID is left out.
	AppendError(dst []byte, e *Error, requestID string) []byte

	// RendersExhaustion reports whether a client whose pool is exhausted gets an error in shunt's words, of the kind
	// QuotaExhausted, rather than the upstream's own rejection (GPT-12, FO-8c).
	RendersExhaustion() bool

	// RetryAfter returns the retry-after that a client of the dialect gets with an error of a kind if it would have to wait that
	// long; 0: none (GPT-12). It is never longer.
	RetryAfter(kind ErrorKind, wait time.Duration) time.Duration

	// AppendErrorEvent appends the event that ends a stream of the upstream's with an error.
	AppendErrorEvent(dst []byte, e *Error) []byte

	// ListsModelsFor reports whether the header of a request for the list of models shows that its client speaks the dialect.
	ListsModelsFor(h http.Header) bool

	// AppendModels appends the response body that lists models.
	AppendModels(dst []byte, models []Model) []byte

	// Ping returns the event that keeps a silent stream alive (WIRE-12). Callers must not modify it.
	Ping() []byte
}

// Passing is what shunt changes and reads in requests and responses that it passes through.
type Passing interface {
	// AppendEdits appends the changes that turn a client's body into one for the upstream (WIRE-5): its model, if that
	// differs, and the account's UUID where the body contains one (WIRE-6); "" leaves it.
	AppendEdits(dst []wire.Edit, r *Request, model, accountUUID string) []wire.Edit

	// AppendCuts appends the changes that remove from a body what only another account or family can read: the parts that bear
	// shunt's envelope for another origin (RSP-3b). Almost every body has none. Dropped is the number of such parts.
	AppendCuts(dst []wire.Edit, body []byte, to Origin) (_ []wire.Edit, dropped int)

	// AppendReasoningCuts appends the changes that remove all reasoning of earlier turns from a body, one for each piece (GPT-10b).
	// They neither overlap those of AppendEdits nor each other.
	AppendReasoningCuts(dst []wire.Edit, body []byte) []wire.Edit

	// CarriesReasoning reports whether a request body contains the reasoning of earlier turns (SEL-31).
	CarriesReasoning(body []byte) bool

	// FirstEvent finds the first event of a stream's head that shows whether the response fails: neither a ping nor a comment
	// nor an announcement (FO-11, FAM-7). If there is none, Start is that of the event that has not ended.
	FirstEvent(head []byte) (o Opening, found bool)

	// EventModels appends the string literals of the response's model, quotes included, in a complete event of a stream
	// (RTE-3). NamesModelAgain reports whether any event after the first may have one.
	EventModels(dst []wire.Span, e *wire.Event) []wire.Span
	NamesModelAgain() bool

	// ResponseModel finds the string literal of the model, quotes included, in the beginning of a response that is one JSON
	// document (RTE-3).
	ResponseModel(head []byte) (wire.Span, bool)

	// NewMeter returns a meter for a response that is one JSON document.
	NewMeter() Meter

	// NewStreamMeter returns a meter for a response that is a stream of events.
	NewStreamMeter() StreamMeter
}

// Outbound writes requests to upstreams and reads their responses.
type Outbound interface {
	// Name names the dialect; see [Inbound.Name].
	Name() string

	// Encode writes a turn as a request to an upstream. The error is a [*RequestError] that names the member of the client's
	// request that cannot be expressed (DIA-5). Encode does not change the turn.
	Encode(t *Turn, to *Target) (Encoded, error)

	// NewReader returns a reader of the response to an encoded turn: of a stream of events, or of one JSON document.
	NewReader(e *Encoded, stream bool) ResponseReader

	// CountsTokens reports whether upstreams of the dialect have an endpoint that counts the tokens of a request. For the
	// others, shunt counts (DIA-10).
	CountsTokens() bool

	// ModelsURL returns where an upstream lists its models, and completes the header of a request for that list.
	ModelsURL(base *url.URL, h http.Header) *url.URL

	// ParseModels reads the response to such a request.
	ParseModels(body []byte) ([]Model, error)

	// ParseError reads an error from a response's body, which may be truncated after it. The status is not part of the body.
	ParseError(body []byte) (Error, bool)
}

// Endpoint is a path that requests of a dialect are sent to.
type Endpoint struct {
	Path         string
	CountsTokens bool // its requests count tokens and do nothing else (RTE-4)
	Zstd         bool // its bodies may be compressed with zstd (GPT-10)
	// AppendCount appends the response's body, if it counts tokens (DIA-10).
	AppendCount func(dst []byte, tokens int64) []byte
}

// Model is a model as an upstream or shunt lists it.
type Model struct {
	ID          string
	DisplayName string
}

// Opening is the first event of a stream that shows whether the response fails.
type Opening struct {
	Start, End int    // its bytes in the head, including the blank line that ends it
	Failure    *Error // the failure that it reports, if the upstream failed before the response began (FO-11, FAM-7); else nil
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

// Usage is the number of tokens that a response reports. Input counts neither tokens read from the prompt cache nor tokens
// written to it; Output includes reasoning (DIA-9).
type Usage struct {
	Input, Output, CacheRead, CacheCreation int64
	Known                                   bool // whether the response reported any
}
