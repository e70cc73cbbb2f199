// Package upstream serves one client request from one upstream, which is either a pool of accounts, tried in the scheduler's
// order until one serves the request, or a single credential. It owns the transport, the rules for headers, and the attempt
// loop. It does not choose accounts (pool), say what responses mean (family), keep credentials (account) or move bytes to the
// client (relay).
//
// An [Upstream] is safe for concurrent use. A [Request] belongs to the goroutine that serves it.
package upstream

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/observe"
	"shunt/internal/pool"
	"shunt/internal/relay"
	"shunt/internal/wire"
)

// Upstream serves requests.
type Upstream interface {
	// Serve serves the request and fills in the request's record.
	Serve(w http.ResponseWriter, r *Request) Outcome

	// Models returns the models that the provider lists. Client is the header of the client's request in the dialect d.
	Models(ctx context.Context, d dialect.Inbound, client http.Header) ([]dialect.Model, error)

	// PassesTo returns the origin that the client's own credential goes to; ok is false if the upstream has a credential.
	PassesTo() (origin string, ok bool)

	// Dialect returns what the upstream speaks. Requests of clients of another dialect are translated.
	Dialect() dialect.Outbound

	// HasAccounts reports whether the upstream is a pool.
	HasAccounts() bool
}

// Outcome is what is left to do after an upstream has served a request.
type Outcome struct {
	// Failure is a response that the caller has to write: nothing was written to the client.
	Failure *Failure
	// Aborted is set if the response ended in the middle: the client's connection must not end normally.
	Aborted bool

	held *held // which a chain may relay
}

// Request is a client's request, read and routed.
type Request struct {
	Client *http.Request // method, headers and context; its body is read
	Path   string        // as the client sent it, escaped
	Body   *Body         // nil once the response has begun: nothing is resent after that (FO-9)
	// Compressed is the body as the client sent it, if that was compressed with zstd (GPT-10); nil: it was not.
	Compressed *Body
	Dialect    dialect.Inbound // of the client
	Scan       dialect.Request
	// CountsTokens is set if the request counts tokens and does nothing else (RTE-4).
	CountsTokens bool
	Model        string // for the upstream (RTE-1)
	Session      pool.Session
	Times        Times
	Record       *observe.Record

	// Set by [ServeChain].
	chained           bool // a response that lets the chain continue is returned and not relayed
	next              bool // another upstream follows
	withoutCredential bool // the client's own credential must not be sent (CHN-4)

	client    *relay.Client  // of a stream that may begin before an upstream responds (FAM-8); nil: it may not
	turn      *dialect.Turn  // the request in no dialect; nil: nothing has needed it yet
	hostDowns map[string]int // accounts that could not reach a base URL (FO-0b)
}

// Identify sets and records the session that the request's header names or else, once the body is scanned, the one that the
// body names (SES-1). Sessions of clients with a token of their own are apart (INB-6).
func (r *Request) Identify() {
	if r.Session != 0 {
		return
	}
	id := r.Dialect.Session(r.Client.Header)
	if strings.TrimSpace(id) == "" && r.Body != nil {
		id = r.Scan.SessionID(r.Body.Bytes())
	}
	if strings.TrimSpace(id) != "" && r.Record.Client != "" {
		id = r.Record.Client + "\x1f" + id
	}
	r.Session = pool.SessionOf(id)
	if r.Session != 0 {
		r.Record.Session, r.Record.SessionHash = r.Session.String(), uint64(r.Session)
	}
}

// Times are the timeouts of a request.
type Times struct {
	TTFB, TTFBNonstream time.Duration // to the upstream's response headers; 0 is no limit
	KeepAlive           time.Duration // of silence before a ping; 0 is never
	Idle                time.Duration // between bytes of the response's body (WIRE-12b); 0 is no limit
	CommitAfter         time.Duration // after which a client gets the head of a translated stream (FAM-8); 0 is at once
	CommitNative        bool          // a pool's stream in the client's own dialect begins at once, too
}

func (r *Request) ttfb() time.Duration {
	if r.Scan.Stream {
		return r.Times.TTFB
	}
	return r.Times.TTFBNonstream
}

// restore returns the model's name to restore in the response, or "" if the upstream got the client's own (RTE-3).
func (r *Request) restore() string {
	if r.Model != r.Scan.Model {
		return r.Scan.Model
	}
	return ""
}

// Release frees the request's body. It may be called more than once.
func (r *Request) Release() {
	for _, body := range [...]**Body{&r.Body, &r.Compressed} {
		if *body != nil {
			(*body).Release()
			*body = nil
		}
	}
}

// edits returns the changes to the body (WIRE-5): the model, and the account's UUID if it has one (WIRE-6).
func (r *Request) edits(uuid string) []wire.Edit {
	return r.Dialect.AppendEdits(make([]wire.Edit, 0, 2), &r.Scan, r.Model, uuid)
}

// Failure is an error response of shunt's own (ERR-1).
type Failure struct {
	Status     int
	Kind       dialect.ErrorKind
	Code       string // in an upstream's words; empty: it is shunt's own, or has none
	Message    string
	Final      bool          // the client is told not to retry: x-should-retry: false
	RetryAfter time.Duration // zero: the response has no retry-after
	Resets     time.Time     // when the pool's quota recovers first (GPT-12); zero: unknown, or it is not about quota

	severity severity
	reason   string // in one word, for the log of a chain that continues; empty: the upstream was unreachable
	cause    string // the network's error, if there was no response
}

// AsError returns the failure as a dialect writes it.
func (f *Failure) AsError() *dialect.Error {
	return &dialect.Error{Kind: f.Kind, Status: f.Status, Code: f.Code, Message: f.Message, Resets: f.Resets, RetryAfter: f.RetryAfter}
}

var noHeadersInTime = &Failure{
	Status: http.StatusGatewayTimeout, Kind: dialect.Timeout,
	Message: "the upstream did not start its response in time; the request may still be running there, so shunt did not send it again",
}

// writeGatewayHeaders sets the headers that name the upstream, the requested model and the upstream's model (CHN-3).
func writeGatewayHeaders(h http.Header, upstream, requested, model string) {
	names := [...]string{headerUpstream, headerModel, headerUpstreamModel}
	values := []string{upstream, requested, model}
	for i, name := range names {
		if isPrintable(values[i]) {
			h[name] = values[i : i+1 : i+1]
		}
	}
}

// record records how a response was relayed.
func (r *Request) record(status int, result relay.Result) {
	rec := r.Record
	rec.Status = status
	rec.BytesOut = result.Sent
	if !result.FirstByte.IsZero() {
		rec.TTFB = observe.Millis(result.FirstByte.Sub(rec.Time))
	}
	if result.Usage.Known {
		rec.Tokens = &observe.Tokens{
			Input: result.Usage.Input, Output: result.Usage.Output,
			CacheRead: result.Usage.CacheRead, CacheCreation: result.Usage.CacheCreation, Estimated: result.Estimated,
		}
	}
	switch {
	case result.StreamError != "": // after it, clients often leave
		rec.End, rec.StreamError = observe.Failed, result.StreamError
		r.noteStreamError()
	case result.Idle:
		rec.End, rec.TruncationCause = observe.Truncated, observe.UpstreamIdle
	case result.ClientErr != nil || r.Client.Context().Err() != nil:
		rec.End = r.departure()
	case result.Truncated:
		rec.End, rec.TruncationCause = observe.Truncated, observe.UpstreamEnded
	}
}

// ErrShutdown is the cause with which shunt, when it stops, cancels the requests that are still in flight.
var ErrShutdown = errors.New("shunt is shutting down")

// departure returns why a request ended before its response did: its client left, or shunt is stopping.
func (r *Request) departure() observe.End {
	if errors.Is(context.Cause(r.Client.Context()), ErrShutdown) {
		return observe.Shutdown
	}
	return observe.ClientGone
}

func (r *Request) hostDown(base string) {
	if r.hostDowns == nil {
		r.hostDowns = map[string]int{}
	}
	r.hostDowns[base]++
}

// gone reports whether the client has left, and records it.
func (r *Request) gone() bool {
	if r.Client.Context().Err() == nil {
		return false
	}
	r.Record.End = r.departure()
	return true
}
