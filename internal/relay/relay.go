// Package relay carries one upstream response to the client as it arrives: it holds the head of a pooled event stream until
// the first event shows whether it is a failure, puts pings into long silences, restores the model name, counts tokens and
// notices when the response is truncated, when it fails in the middle, and when the upstream falls silent. It does not choose
// accounts and keeps nothing between responses.
//
// Back-pressure is the client's own: nothing is read from the upstream while a write to the client blocks, and an answer
// holds one small buffer plus at most [HeadLimit] bytes (WIRE-13). Each answer belongs to the goroutine that relays it.
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

// HeadLimit bounds what is held back of an answer, in bytes (FO-11, RTE-3).
const HeadLimit = 64 << 10

// holdLimit bounds how long the head of a stream is held back (FO-11).
const holdLimit = 10 * time.Second

// Answer is an upstream's response.
type Answer struct {
	Status int
	Header http.Header // as the upstream sent it
	Body   io.ReadCloser
	Length int64 // of the body in bytes; -1 when unknown
}

// Options say how an answer is relayed.
type Options struct {
	// Client is the dialect that the client reads, Upstream the one of the response.
	Client   dialect.Inbound
	Upstream dialect.Outbound
	// KeepAlive is the silence after which a ping goes into an event stream (WIRE-12); 0 is never.
	KeepAlive time.Duration
	// Idle is how long the upstream may take for the next byte of the body (WIRE-12b); 0 is no limit. After that the body is
	// closed, and the response ends as truncated.
	Idle time.Duration
	// Hold keeps the head of an event stream back until its first event (FO-11).
	Hold bool
	// Model is the name the client asked for, put back into the answer (RTE-3); empty leaves the answer alone.
	Model string
	// Commit runs once, right before the head goes to the client, and sets the headers that are to be sent.
	Commit func(http.Header)
}

// Result is what became of an answer.
type Result struct {
	// Refusal is the error type of a held stream's first event. Then nothing was sent, Commit did not run, Head holds
	// what was read and the rest is still in the body.
	Refusal dialect.ErrorKind
	Head    []byte

	FirstByte time.Time // when the first byte of the body went out; zero if none did
	Sent      int64     // body bytes
	Usage     dialect.Usage
	// Cut says that the answer ended before it was complete (FO-9). Broken says that the upstream's connection failed, so
	// that the client's must not be ended as if all were well. Idle says that Options.Idle is why.
	Cut, Broken, Idle bool
	// StreamError is the type of an error event in a plain event stream of status 200, as [dialect.StreamMeter] returns it.
	StreamError string
	// ClientErr is the failure to write to the client.
	ClientErr error
}

// IsEventStream reports whether an answer is server-sent events, compressed or not.
func IsEventStream(h http.Header) bool {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/event-stream")
}

// IsPlain reports whether a body can be read as it is.
func IsPlain(h http.Header) bool {
	encoding := h.Get("Content-Encoding")
	return encoding == "" || encoding == "identity"
}

// Relay sends the answer to the client and returns when the last byte is sent, the client has gone, the upstream broke
// off or a held stream turned out to be a refusal.
func Relay(w http.ResponseWriter, a Answer, o Options) Result {
	if o.Idle > 0 {
		body := watch(a.Body, o.Idle)
		defer body.stop()
		a.Body = body
	}
	out := &output{w: w, flush: http.NewResponseController(w), answer: a, commit: o.Commit}
	switch plain := IsPlain(a.Header); {
	case IsEventStream(a.Header) && plain:
		return relayEvents(out, a, o)
	case IsEventStream(a.Header):
		out.flushEach, out.eventStream = true, true
		out.head()
		out.send()
		return copyBody(out, a.Body, nil)
	case plain && o.Model != "" && a.Status == http.StatusOK:
		return relayRestored(out, a, o)
	case plain:
		return relayBytes(out, a.Body, o.Upstream.NewMeter())
	default:
		return relayBytes(out, a.Body, nil)
	}
}

// output is the client's side of an answer.
type output struct {
	w           http.ResponseWriter
	flush       *http.ResponseController
	answer      Answer
	commit      func(http.Header)
	eventStream bool
	flushEach   bool
	grown       int  // bytes the body is longer than the upstream said
	final       bool // nothing follows: what is sent goes out with the end of the answer
	result      Result
}

// head sends status and headers.
func (out *output) head() {
	header := out.w.Header()
	if out.commit != nil {
		out.commit(header)
	}
	if header["Content-Type"] == nil {
		header["Content-Type"] = nil // net/http would make one up
	}
	delete(header, "Content-Length")
	switch {
	case out.eventStream:
		header["X-Accel-Buffering"] = unbuffered
		if out.final {
			header["Transfer-Encoding"] = chunked // else net/http gives the stream a length
		}
	case out.answer.Length >= 0:
		header["Content-Length"] = []string{strconv.FormatInt(out.answer.Length+int64(out.grown), 10)}
	default:
		out.flushEach = true
	}
	out.w.WriteHeader(out.answer.Status)
}

var (
	unbuffered = []string{"no"} // by proxies before this one (WIRE-12)
	chunked    = []string{"chunked"}
)

// send writes body bytes and reports whether the client is still there.
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

// ended notes why nothing more comes of a body that is whole if it ends with io.EOF; nil: it was not read to its end.
func (out *output) ended(err error) {
	out.result.Broken = err != nil && err != io.EOF
	out.result.Cut = out.result.Broken
	out.result.Idle = err == errIdle
}

// relayBytes relays a body that is not looked into, except to count its tokens.
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

// relayRestored relays a JSON answer with its model put back: the head is read until the model is found.
func relayRestored(out *output, a Answer, o Options) Result {
	m := o.Upstream.NewMeter()
	head := make([]byte, 0, 4<<10)
	var failed error
	var span wire.Span
	found := false
	for !found && failed == nil && len(head) < HeadLimit {
		if len(head) == cap(head) {
			head = append(head, 0)[:len(head)]
		}
		n, err := a.Body.Read(head[len(head):min(cap(head), HeadLimit)])
		head, failed = head[:len(head)+n], err
		span, found = o.Upstream.ResponseModel(head)
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
	return copyBody(out, a.Body, m)
}
