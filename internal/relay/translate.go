package relay

import (
	"io"
	"net/http"
	"strings"
	"time"

	"shunt/internal/dialect"
)

// Translation says how a response is translated for a client of another dialect.
type Translation struct {
	Reader dialect.ResponseReader // of the upstream's response
	Writer dialect.ResponseWriter // for the client
	// Client is the client, if it gets a stream; nil: it gets one document at the end.
	Client *Client
	// Idle is as in [Options].
	Idle time.Duration
	// Tap receives the bytes of the response as they arrive. Optional.
	Tap io.Writer
	// Commit is as in [Options].
	Commit func(http.Header)
}

// drainTime is how long the end of a response is awaited once its last event has arrived, so that its connection can be reused.
const drainTime = 100 * time.Millisecond

// Translate sends the response to the client in the client's dialect. The body is plain. If the response fails before the
// client has received any of it, nothing is sent: [Result.Refusal] has the error if another account may serve the request, and
// [Result.Failure] if there was content already or the error is about the request.
func Translate(w http.ResponseWriter, r Response, o Translation) Result {
	if o.Idle > 0 {
		body := limitIdle(r.Body, o.Idle)
		defer body.stop()
		r.Body = body
	}
	t := translator{Translation: o, w: w}
	buf := eventBufferPool.Get().(*[eventBufferSize]byte)
	defer eventBufferPool.Put(buf)
	var events []dialect.Event
	for !t.ended {
		n, err := r.Body.Read(buf[:])
		if n > 0 && o.Tap != nil {
			_, _ = o.Tap.Write(buf[:n])
		}
		events = o.Reader.Read(events[:0], buf[:n])
		t.accept(events)
		if err == errIdle && !t.ended {
			t.result.Idle = true
			t.accept([]dialect.Event{{Kind: dialect.Failed, Truncated: true, Err: idleError(o.Idle)}})
		} else if err != nil && !t.ended {
			t.accept(o.Reader.End(events[:0]))
			t.ended = true
		}
	}
	if t.complete {
		stop := time.AfterFunc(drainTime, func() { r.Body.Close() })
		_, _ = io.CopyBuffer(io.Discard, io.LimitReader(r.Body, HeadLimit), buf[:])
		stop.Stop()
	}
	return t.result
}

// translator is the state of one response.
type translator struct {
	Translation
	w        http.ResponseWriter
	out      []byte // for the client, not sent yet
	begun    bool   // the client has received a part of the response
	content  bool   // the upstream has begun to respond
	complete bool   // its last event has arrived
	ended    bool
	result   Result
}

// accept handles the events of one read.
func (t *translator) accept(events []dialect.Event) {
	for i := range events {
		if e := &events[i]; !t.ended {
			t.event(e)
		}
	}
	if len(t.out) > 0 {
		t.send()
	}
}

func (t *translator) event(e *dialect.Event) {
	switch e.Kind {
	case dialect.Started:
	case dialect.Failed:
		t.fail(e)
		return
	case dialect.Finished:
		t.complete, t.ended = true, true
		t.result.Usage = e.Usage
	default:
		t.content = true
		t.result.OutputBytes += int64(len(e.Text))
	}
	t.out = t.Writer.Write(t.out, e)
}

// fail ends the response with an error: for the client, if it has received a part of it.
func (t *translator) fail(e *dialect.Event) {
	t.ended = true
	t.result.Truncated = e.Truncated
	if !e.Truncated {
		t.result.StreamError = wordOf(e.Err)
	}
	switch {
	case t.begun || t.Client != nil && len(t.out) > 0:
		t.out = t.Writer.Write(t.out, e)
	case t.content || t.result.Idle || !e.Truncated && !e.Err.Kind.FailsBeforeResponse():
		t.result.Failure = e.Err
	default:
		t.result.Refusal = e.Err
	}
}

// send sends what there is for the client.
func (t *translator) send() {
	if t.Client != nil {
		t.result.ClientErr = t.Client.write(t.out, t.Commit)
		t.Commit = nil
		t.result.Sent, t.result.FirstByte = t.Client.Sent()
	} else {
		out := output{w: t.w, commit: t.Commit, final: true, response: Response{Status: http.StatusOK, Length: int64(len(t.out))}}
		t.w.Header().Set("Content-Type", "application/json")
		out.head()
		out.send(t.out)
		t.result.Sent, t.result.FirstByte, t.result.ClientErr = out.result.Sent, out.result.FirstByte, out.result.ClientErr
	}
	t.begun, t.out = true, t.out[:0]
	t.ended = t.ended || t.result.ClientErr != nil
}

// wordOf returns the upstream's code for an error, as [Result.StreamError] has it.
func wordOf(e *dialect.Error) string {
	if len(e.Code) == 0 || len(e.Code) > 64 || strings.Trim(e.Code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return "unknown"
	}
	return e.Code
}
