package relay_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect/messages"
	"shunt/internal/relay"
)

// idleEvent is what a client receives from an upstream that was silent for a minute.
const idleEvent = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":" +
	"\"the upstream sent nothing for 60 seconds: the response is incomplete, and the request can be sent again\"}}\n\n"

// WIRE-12b: a response whose upstream sends nothing for too long ends as a truncated one, with an error event where one can
// go. Pings of shunt's own do not count, and the upstream's body is closed.
func TestIdleUpstreams(t *testing.T) {
	const half = "event: content_block_delta\ndata: {\"ty"
	const theirs = "event: ping\ndata: {}\n\n"
	ping := string(messages.Dialect{}.Ping())
	stream := func(body io.Reader) relay.Response { return eventStream(body) }
	compressed := func(body io.Reader) relay.Response {
		a := eventStream(body)
		a.Header.Set("Content-Encoding", "gzip")
		return a
	}
	plain := func(body io.Reader) relay.Response {
		return relay.Response{Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: closable(body), Length: 100_000}
	}
	refused := func(body io.Reader) relay.Response {
		a := plain(body)
		a.Status = 429
		return a
	}
	for _, c := range []struct {
		name     string
		response func(io.Reader) relay.Response
		script   []any
		want     string
		at       int // seconds
		idle     bool
	}{
		{"between events", stream, []any{start}, start + ping + idleEvent, 60, true},
		{"later", stream, []any{start, 50 * time.Second, delta, 50 * time.Second, theirs}, start + ping + delta + ping + theirs + ping + idleEvent, 160, true},
		{"inside an event", stream, []any{start, half}, start + half, 60, true},
		{"before the first byte", stream, nil, ping + idleEvent, 60, true},
		{"after the end", stream, []any{start, final}, start + final, 60, false},
		{"compressed", compressed, []any{start}, start, 60, true},
		{"JSON", plain, []any{`{"a":1`}, `{"a":1`, 60, true},
		{"JSON before the first byte", plain, nil, "", 60, true},
		{"an error", refused, []any{`{"a":1`, 59 * time.Second, "x"}, `{"a":1x`, 119, true},
	} {
		for _, pooled := range []bool{false, true} {
			for _, model := range []string{"", "claude-x[1m]"} {
				if c.name == "inside an event" && pooled {
					continue // see TestIdleWhileHeld
				}
				synctest.Test(t, func(t *testing.T) {
					w := newTimed()
					body := &closed{Reader: upstreamOf(t, append(c.script[:len(c.script):len(c.script)], silence{})...)}
					result := relay.Relay(w, c.response(body), relay.Options{Dialect: messages.Dialect{}, KeepAlive: 45 * time.Second, Idle: time.Minute, Hold: pooled, Model: model})
					want := c.want
					if model != "" {
						want = strings.Replace(want, "claude-x", model, 1)
					}
					if c.name == "compressed" {
						want = c.want
					}
					if diff := cmp.Diff(want, w.Body.String()); diff != "" {
						t.Errorf("%s, pool %v, model %q (-want +got):\n%s", c.name, pooled, model, diff)
					}
					if result.Idle != c.idle || result.Truncated != c.idle || result.Aborted != c.idle || result.ClientErr != nil || result.StreamError != "" || !body.closed {
						t.Errorf("%s: %+v, closed %v", c.name, result, body.closed)
					}
					if took := time.Since(w.began); took != time.Duration(c.at)*time.Second {
						t.Errorf("%s: it took %v", c.name, took)
					}
				})
			}
		}
	}
}

// WIRE-12b, FO-11: a limit shorter than the hold. What is held of an event that is not whole gives way to the error.
func TestIdleWhileHeld(t *testing.T) {
	const theirs = "event: ping\ndata: {}\n\n"
	event := strings.Replace(idleEvent, "60 seconds", "1.5 seconds", 1)
	for _, model := range []string{"", "claude-x[1m]"} {
		for name, c := range map[string]struct{ sent, want string }{
			"nothing": {"", event}, "pings": {theirs, theirs + event}, "part of an event": {theirs + start[:40], theirs + event},
		} {
			synctest.Test(t, func(t *testing.T) {
				w := newTimed()
				committed := 0
				result := relay.Relay(w, eventStream(upstreamOf(t, c.sent, silence{})), relay.Options{
					Dialect: messages.Dialect{},
					Idle:    1500 * time.Millisecond, Hold: true, Model: model, Commit: func(http.Header) { committed++ },
				})
				if w.Body.String() != c.want || committed != 1 || !w.Flushed || !result.Idle || !result.Truncated || !result.Aborted {
					t.Errorf("%s, model %q: %q, committed %d times, %+v", name, model, w.Body, committed, result)
				}
			})
		}
	}
}

// WIRE-12b, WIRE-13: the silence of a client that takes nothing is not the upstream's.
func TestIdleCountsReadsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTimed()
		slow := &slowClient{timed: w, pause: 10 * time.Minute}
		result := relay.Relay(slow, eventStream(upstreamOf(t, start, delta, 59*time.Second, final)), relay.Options{Dialect: messages.Dialect{}, Idle: time.Minute})
		if result.Idle || result.Truncated || w.Body.String() != start+delta+final {
			t.Errorf("%+v: %q", result, w.Body)
		}
	})
}

// WIRE-12b: without a limit, or within it, a response takes the time that it takes.
func TestIdleUpstreamInTime(t *testing.T) {
	for limit, pause := range map[time.Duration]time.Duration{0: 100 * time.Hour, time.Minute: 59 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := newTimed()
			result := relay.Relay(w, eventStream(upstreamOf(t, pause, start, pause, final, pause)), relay.Options{Dialect: messages.Dialect{}, Idle: limit})
			if result.Idle || result.Truncated || w.Body.String() != start+final {
				t.Errorf("%+v: %q", result, w.Body)
			}
		})
	}
}

// OBS-1: an error event anywhere in a stream is reported with its type, however the stream is split into pieces, and whether or
// not it was held.
func TestStreamErrors(t *testing.T) {
	event := "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}\n\n"
	broken := errors.New("connection reset")
	for name, c := range map[string]struct {
		body  io.Reader
		state int
		kind  string
	}{
		"in the middle": {strings.NewReader(start + delta + event), 200, string(messages.TypeOverloaded)},
		"byte by byte":  {&drip{text: start + delta + event}, 200, string(messages.TypeOverloaded)},
		"then aborted":  {upstreamOf(t, start+event, broken), 200, string(messages.TypeOverloaded)},
		"first":         {strings.NewReader(strings.Replace(event, "overloaded", "invalid_request", 1)), 200, string(messages.TypeInvalidRequest)},
		"none":          {strings.NewReader(start + delta + final), 200, ""},
		"not a 200":     {strings.NewReader(start + event), 500, ""},
	} {
		for _, hold := range []bool{true, false} {
			if closer, ok := c.body.(io.Seeker); ok {
				closer.Seek(0, io.SeekStart)
			} else if !hold {
				continue
			}
			a := eventStream(c.body)
			a.Status = c.state
			if result := relay.Relay(newTimed(), a, relay.Options{Dialect: messages.Dialect{}, Hold: hold}); result.StreamError != c.kind || result.Refusal != nil || result.Truncated {
				t.Errorf("%s, hold %v: %+v", name, hold, result)
			}
		}
	}
}

// closed notes that a body was closed.
type closed struct {
	io.Reader
	closed bool
}

func (c *closed) Close() error {
	c.closed = true
	return c.Reader.(io.Closer).Close()
}

// slowClient takes its time for each write.
type slowClient struct {
	*timed
	pause time.Duration
}

func (c *slowClient) Write(p []byte) (int, error) {
	time.Sleep(c.pause)
	return c.timed.Write(p)
}
