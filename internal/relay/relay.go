// Package relay sends one upstream response to the client as it arrives. It holds the head of a pooled event stream until the
// first event shows whether the response is a failure, sends pings during long silences, restores the model's name, counts
// tokens, and detects responses that are truncated, that fail in the middle, or whose upstream falls silent. It does not
// choose accounts and keeps nothing between responses.
//
// The client sets the pace: nothing is read from the upstream while a write to the client blocks, and a response holds one
// small buffer plus at most [HeadLimit] bytes (WIRE-13). Each response belongs to the goroutine that relays it.
package relay

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// HeadLimit bounds how much of a response is held back, in bytes (FO-11, RTE-3).
const HeadLimit = 64 << 10

// holdLimit bounds how long the head of a stream is held back (FO-11).
const holdLimit = 10 * time.Second

// Response is an upstream's response.
type Response struct {
	Status int
	Header http.Header // as the upstream sent it
	Body   io.ReadCloser
	Length int64 // of the body in bytes; -1 when unknown
}

// Options say how a response is relayed.
type Options struct {
	// Dialect is what both the client and the upstream speak.
	Dialect dialect.Inbound
	// KeepAlive is the silence after which a ping goes into an event stream (WIRE-12); 0 is never.
	KeepAlive time.Duration
	// Idle is how long the upstream may take for the next byte of the body (WIRE-12b); 0 is no limit. Then the body is closed,
	// and the response ends as truncated.
	Idle time.Duration
	// Hold keeps the head of an event stream back until its first event (FO-11).
	Hold bool
	// Model is the name that the client requested, which replaces the one in the response (RTE-3); empty changes nothing.
	Model string
	// Tap receives the bytes of a plain event stream as they arrive, before the client does. Optional.
	Tap io.Writer
	// Client is the client, if it may have its head already (FAM-8). Optional.
	Client *Client
	// Commit runs once, right before the head is sent to the client, and sets its headers. If the client has its head, it runs
	// right before the first byte, and the headers are lost.
	Commit func(http.Header)
}

// Result is what happened to a response.
type Result struct {
	// Refusal is the error in a held stream's first event. If there is one, nothing was sent, Commit did not run, Head is
	// what was read, and the rest is still in the body.
	Refusal *dialect.Error
	Head    []byte
	// Failure is the error of a translated response that failed after content, or fell silent, before the client received any
	// of it.
	Failure *dialect.Error

	FirstByte time.Time // when the first byte of the body was sent; zero: none was
	Sent      int64     // bytes of the body
	Usage     dialect.Usage
	Estimated bool // Usage is an estimate (DIA-9); nothing in this package sets it
	// OutputBytes is the size of the texts and arguments in a translated response, in bytes.
	OutputBytes int64
	// Truncated is set if the response ended before it was complete (FO-9). Aborted is set if the upstream's connection failed,
	// so that the client's must not end normally. Idle is set if Options.Idle is the reason.
	Truncated, Aborted, Idle bool
	// StreamError is the type of an error event in a plain event stream of status 200, as [dialect.StreamMeter] returns it.
	StreamError string
	// ClientErr is the error of writing to the client.
	ClientErr error
}

// IsEventStream reports whether a response is a stream of server-sent events, compressed or not.
func IsEventStream(h http.Header) bool {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/event-stream")
}

// IsPlain reports whether a body is not compressed.
func IsPlain(h http.Header) bool {
	encoding := h.Get("Content-Encoding")
	return encoding == "" || encoding == "identity"
}

// Relay sends the response to the client. It returns when the last byte is sent, the client has left, the upstream's
// connection has failed, or a held stream turns out to be a refusal.
func Relay(w http.ResponseWriter, r Response, o Options) Result {
	if o.Idle > 0 {
		body := limitIdle(r.Body, o.Idle)
		defer body.stop()
		r.Body = body
	}
	out := &output{w: w, flush: http.NewResponseController(w), response: r, commit: o.Commit}
	if o.Client != nil {
		out.begun = o.Client.Hold()
		if out.begun && (r.Status != http.StatusOK || !IsEventStream(r.Header) || !IsPlain(r.Header)) {
			o.Client.takeBack()
			return Result{Refusal: &dialect.Error{Kind: dialect.ServerError, Message: "the upstream responded with something other than a stream of events"}}
		}
	}
	switch plain := IsPlain(r.Header); {
	case IsEventStream(r.Header) && plain:
		return relayEvents(out, r, o)
	case IsEventStream(r.Header):
		out.flushEach, out.eventStream = true, true
		out.head()
		out.send()
		return copyBody(out, r.Body, nil)
	case plain && o.Model != "" && r.Status == http.StatusOK:
		return relayWithModel(out, r, o)
	case plain:
		return relayBytes(out, r.Body, o.Dialect.NewMeter())
	default:
		return relayBytes(out, r.Body, nil)
	}
}

// output is the client's side of a response.
type output struct {
	w           http.ResponseWriter
	flush       *http.ResponseController
	response    Response
	commit      func(http.Header)
	eventStream bool
	flushEach   bool
	begun       bool // the client had its head before the upstream responded
	grown       int  // bytes that the body gains on its way
	final       bool // nothing follows: what is sent now is flushed with the end of the response
	result      Result
}

// head sends status and headers.
func (out *output) head() {
	header := out.w.Header()
	if out.commit != nil {
		out.commit(header)
	}
	if out.begun {
		return
	}
	if header["Content-Type"] == nil {
		header["Content-Type"] = nil // net/http would add one
	}
	delete(header, "Content-Length")
	switch {
	case out.eventStream:
		header["X-Accel-Buffering"] = unbuffered
		if out.final {
			header["Transfer-Encoding"] = chunked // else net/http sets a length
		}
	case out.response.Length >= 0:
		header["Content-Length"] = []string{strconv.FormatInt(out.response.Length+int64(out.grown), 10)}
	default:
		out.flushEach = true
	}
	out.w.WriteHeader(out.response.Status)
}

var (
	unbuffered = []string{"no"} // by proxies in front of shunt (WIRE-12)
	chunked    = []string{"chunked"}
)

// send writes bytes of the body and reports whether the client still reads them.
func (out *output) send(segments ...[]byte) bool {
	for _, p := range segments {
		if len(p) == 0 || out.result.ClientErr != nil {
			continue
		}
		if out.result.FirstByte.IsZero() {
			out.result.FirstByte = time.Now()
		}
		n, err := out.w.Write(p)
		out.result.Sent += int64(n)
		out.result.ClientErr = err
	}
	if out.flushEach && !out.final && out.result.ClientErr == nil {
		out.result.ClientErr = out.flush.Flush()
	}
	return out.result.ClientErr == nil
}

// ended records how a body ended: it is complete if err is io.EOF. If err is nil, it was not read to its end.
func (out *output) ended(err error) {
	out.result.Aborted = err != nil && err != io.EOF
	out.result.Truncated = out.result.Aborted
	out.result.Idle = err == errIdle
}

// relayBytes relays a body as it is; m counts its tokens, or is nil.
func relayBytes(out *output, body io.Reader, m dialect.Meter) Result {
	out.head()
	return copyBody(out, body, m)
}

func copyBody(out *output, body io.Reader, m dialect.Meter) Result {
	buf := bufferPool.Get().(*[bufferSize]byte)
	defer bufferPool.Put(buf)
	for {
		n, err := body.Read(buf[:])
		out.final = err == io.EOF
		if n > 0 {
			if m != nil {
				m.Write(buf[:n])
			}
			if !out.send(buf[:n]) {
				break
			}
		}
		if err != nil {
			out.ended(err)
			break
		}
	}
	if m != nil {
		out.result.Usage = m.Usage()
	}
	return out.result
}

const bufferSize = 32 << 10

var bufferPool = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// relayWithModel relays a JSON response with its model restored: it reads the head until it finds the model.
func relayWithModel(out *output, r Response, o Options) Result {
	m := o.Dialect.NewMeter()
	head := make([]byte, 0, 4<<10)
	var failed error
	var span wire.Span
	found := false
	for !found && failed == nil && len(head) < HeadLimit {
		if len(head) == cap(head) {
			head = append(head, 0)[:len(head)]
		}
		n, err := r.Body.Read(head[len(head):min(cap(head), HeadLimit)])
		head, failed = head[:len(head)+n], err
		span, found = o.Dialect.ResponseModel(head)
	}
	segments := [][]byte{head}
	if found {
		edit := wire.Edit{Span: span, With: wire.Quote(o.Model)}
		out.grown = len(edit.With) - (span.End - span.Start)
		segments, _ = wire.Splice(head, edit)
	}
	out.head()
	m.Write(head)
	if !out.send(segments...) || failed != nil {
		out.ended(failed)
		out.result.Usage = m.Usage()
		return out.result
	}
	return copyBody(out, r.Body, m)
}
