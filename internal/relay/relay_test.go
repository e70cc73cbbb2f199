package relay_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
	"shunt/internal/relay"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"claude-x\",\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\n"
	delta = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n"
	final = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

func eventStream(body io.Reader) relay.Response {
	return relay.Response{Status: 200, Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}, Body: closable(body), Length: -1}
}

// closable is a body that need not be closed, unless it can be.
func closable(body io.Reader) io.ReadCloser {
	if c, ok := body.(io.ReadCloser); ok {
		return c
	}
	return io.NopCloser(body)
}

func jsonResponse(body string) relay.Response {
	return relay.Response{
		Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: closable(strings.NewReader(body)), Length: int64(len(body)),
	}
}

// silence is the step after which an upstream sends nothing any more, and does not end either.
type silence struct{}

// upstreamOf writes a script to a body: text after each pause.
func upstreamOf(t *testing.T, script ...any) io.Reader {
	r, w := io.Pipe()
	go func() {
		for _, step := range script {
			switch step := step.(type) {
			case string:
				io.WriteString(w, step)
			case time.Duration:
				time.Sleep(step)
			case silence:
				return
			case error:
				w.CloseWithError(step)
				return
			}
		}
		w.Close()
	}()
	t.Cleanup(func() { r.Close() })
	return r
}

// timed notes when what was written.
type timed struct {
	*httptest.ResponseRecorder
	began  time.Time
	writes []string
	at     []time.Duration
}

func newTimed() *timed { return &timed{ResponseRecorder: httptest.NewRecorder(), began: time.Now()} }

func (w *timed) Write(p []byte) (int, error) {
	w.writes, w.at = append(w.writes, string(p)), append(w.at, time.Since(w.began))
	return w.ResponseRecorder.Write(p)
}

// WIRE-11, WIRE-12, OBS-1: a stream arrives byte for byte and chunk by chunk, with its tokens counted on the way.
func TestStreamIsRelayedAsItArrives(t *testing.T) {
	for _, hold := range []bool{false, true} {
		w := newTimed()
		chunks := []any{start[:10], start[10:], delta, "event: unknown\r\n", "data: x\r\n\r\n", final, ": trailing bytes"}
		committed := 0
		result := relay.Relay(w, eventStream(upstreamOf(t, chunks...)), relay.Options{
			Dialect: messages.Dialect{},
			Hold:    hold, KeepAlive: time.Hour, Commit: func(h http.Header) { committed++; h.Set("X-From", "commit") },
		})
		whole := start + delta + "event: unknown\r\ndata: x\r\n\r\n" + final + ": trailing bytes"
		if got := w.Body.String(); got != whole {
			t.Errorf("hold %v: relayed %q", hold, got)
		}
		if committed != 1 || w.Header().Get("X-From") != "commit" || w.Header().Get("X-Accel-Buffering") != "no" || w.Header()["Content-Length"] != nil {
			t.Errorf("hold %v: committed %d times, header %v", hold, committed, w.Header())
		}
		if result.Truncated || result.Aborted || result.ClientErr != nil || result.Sent != int64(len(whole)) {
			t.Errorf("hold %v: %+v", hold, result)
		}
		if want := (dialect.Usage{Input: 7, Output: 5, Known: true}); result.Usage != want {
			t.Errorf("hold %v: usage %+v", hold, result.Usage)
		}
		if !w.Flushed || len(w.writes) < 5 {
			t.Errorf("hold %v: %d writes", hold, len(w.writes))
		}
	}
}

// FO-11: a first event that refuses is not relayed; everything else is.
func TestHoldSeesTheFirstEvent(t *testing.T) {
	event := func(kind string) string {
		return "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"" + kind + "\",\"message\":\"m\"}}\n\n"
	}
	ping := string(messages.Dialect{}.Ping())
	for _, c := range []struct {
		name, body string
		refusal    dialect.ErrorKind
	}{
		{"overloaded", event("overloaded_error"), dialect.Overloaded},
		{"api", event("api_error"), dialect.ServerError},
		{"rate limit", event("rate_limit_error"), dialect.RateLimit},
		{"after pings and comments", ": hello\n\n" + ping + ping + event("overloaded_error"), dialect.Overloaded},
		{"about the request", event("invalid_request_error"), dialect.NoError},
		{"not first", start + event("overloaded_error"), dialect.NoError},
		{"no JSON", "event: error\ndata: overloaded_error\n\n", dialect.NoError},
		{"nothing at all", "", dialect.NoError},
		{"unfinished", "event: error\ndata: {", dialect.NoError},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newTimed()
			committed := false
			result := relay.Relay(w, eventStream(upstreamOf(t, c.body)), relay.Options{Dialect: messages.Dialect{}, Hold: true, Commit: func(http.Header) { committed = true }})
			got := dialect.NoError
			if result.Refusal != nil {
				got = result.Refusal.Kind
			}
			if got != c.refusal {
				t.Fatalf("refusal %+v", result.Refusal)
			}
			if refused := c.refusal != dialect.NoError; refused == committed || refused != (w.Body.Len() == 0 && c.body != "") {
				t.Errorf("committed %v, relayed %q", committed, w.Body)
			}
			if c.refusal != dialect.NoError && string(result.Head) != c.body {
				t.Errorf("head %q", result.Head)
			}
		})
	}
}

// FO-11: the hold ends after min(keep-alive, 10 s), and after 64 KiB.
func TestHoldIsBounded(t *testing.T) {
	for keepAlive, bound := range map[time.Duration]time.Duration{0: 10 * time.Second, time.Minute: 10 * time.Second, 7 * time.Second: 7 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := newTimed()
			var released time.Duration
			relay.Relay(w, eventStream(upstreamOf(t, ": wait\n\n", 50*time.Second, start+final)), relay.Options{
				Dialect: messages.Dialect{},
				Hold:    true, KeepAlive: keepAlive, Commit: func(http.Header) { released = time.Since(w.began) },
			})
			if released != bound {
				t.Errorf("keep-alive %v: released after %v", keepAlive, released)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newTimed()
		long := ": " + strings.Repeat("x", 70<<10)
		relay.Relay(w, eventStream(upstreamOf(t, long, time.Second, start)), relay.Options{Dialect: messages.Dialect{}, Hold: true})
		if w.at[0] != 0 || w.Body.Len() != len(long)+len(start) {
			t.Errorf("first write after %v, %d bytes", w.at[0], w.Body.Len())
		}
	})
}

// WIRE-12: pings fill silences between events, never inside one and never after the end.
func TestPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTimed()
		relay.Relay(w, eventStream(upstreamOf(t,
			25*time.Second, start, 25*time.Second, delta[:20], 35*time.Second, delta[20:], 9*time.Second, final, 60*time.Second,
		)), relay.Options{Dialect: messages.Dialect{}, KeepAlive: 10 * time.Second})
		ping := string(messages.Dialect{}.Ping())
		want := []string{ping, ping, start, ping, ping, delta[:20], delta[20:], final}
		at := []int{10, 20, 25, 35, 45, 50, 85, 94}
		if len(w.writes) != len(want) {
			t.Fatalf("%d writes at %v: %q", len(w.writes), w.at, w.writes)
		}
		for i := range want {
			if w.writes[i] != want[i] || w.at[i] != time.Duration(at[i])*time.Second {
				t.Errorf("write %d: %q at %v", i, w.writes[i], w.at[i])
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newTimed()
		relay.Relay(w, eventStream(upstreamOf(t, start, time.Hour, final)), relay.Options{Dialect: messages.Dialect{}})
		if w.Body.String() != start+final {
			t.Errorf("keep-alive off: %q", w.Body)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newTimed()
		a := eventStream(upstreamOf(t, start, time.Hour, final))
		a.Header.Set("Content-Encoding", "gzip")
		relay.Relay(w, a, relay.Options{Dialect: messages.Dialect{}, KeepAlive: time.Second, Hold: true, Model: "m"})
		if w.Body.String() != start+final || w.Header().Get("X-Accel-Buffering") != "no" {
			t.Errorf("compressed: %q", w.Body)
		}
	})
}

// RTE-3: the model goes back to what the client asked for, and nothing else changes.
func TestModelIsRestored(t *testing.T) {
	const model = `claude-x[1m]`
	whole := `{"id":"m", "content":[{"model":"inner"}],"model" : "claude-x","usage":{"input_tokens":3,"output_tokens":4}}`
	for name, body := range map[string]io.Reader{"whole": strings.NewReader(whole), "byte by byte": &drip{text: whole}} {
		w := newTimed()
		a := jsonResponse(whole)
		a.Body = closable(body)
		result := relay.Relay(w, a, relay.Options{Dialect: messages.Dialect{}, Model: model})
		want := strings.Replace(whole, `"claude-x"`, `"`+model+`"`, 1)
		if w.Body.String() != want {
			t.Errorf("%s: %s", name, w.Body)
		}
		if w.Header().Get("Content-Length") != strconv.Itoa(len(want)) {
			t.Errorf("%s: content-length %s of %d", name, w.Header().Get("Content-Length"), len(want))
		}
		if result.Usage != (dialect.Usage{Input: 3, Output: 4, Known: true}) {
			t.Errorf("%s: usage %+v", name, result.Usage)
		}
	}

	w := newTimed()
	relay.Relay(w, eventStream(upstreamOf(t, start[:30], start[30:]+delta, final)), relay.Options{Dialect: messages.Dialect{}, Model: model})
	if want := strings.Replace(start, "claude-x", model, 1) + delta + final; w.Body.String() != want {
		t.Errorf("stream: %s", w.Body)
	}

	for name, a := range map[string]relay.Response{
		"no model":   jsonResponse(`{"type":"message"}`),
		"far away":   jsonResponse(`{"pad":"` + strings.Repeat("x", relay.HeadLimit) + `","model":"claude-x"}`),
		"not 200":    {Status: 400, Header: http.Header{"Content-Type": {"application/json"}}, Body: closable(strings.NewReader(`{"model":"claude-x"}`)), Length: 20},
		"compressed": {Status: 200, Header: http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"br"}}, Body: closable(strings.NewReader(`{"model":"claude-x"}`)), Length: 20},
	} {
		var sent bytes.Buffer
		a.Body = closable(io.TeeReader(a.Body, &sent))
		w := newTimed()
		relay.Relay(w, a, relay.Options{Dialect: messages.Dialect{}, Model: model})
		if w.Body.String() != sent.String() || w.Header().Get("Content-Length") != strconv.Itoa(sent.Len()) {
			t.Errorf("%s: changed", name)
		}
	}
}

// RTE-3, WIRE-12: if the first event is late, the response begins without it: pings go to the client as they come, and shunt's
// fill silences, but an event that is not whole waits until its model can be put back.
func TestModelOfALateStart(t *testing.T) {
	const model = "claude-x[1m]"
	const theirs = "event: ping\ndata: {}\n\n"
	const refusal = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}\n\n"
	restored := strings.Replace(start, "claude-x", model, 1)
	ping := string(messages.Dialect{}.Ping())
	for _, c := range []struct {
		name      string
		keepAlive int // seconds
		script    []any
		want      map[int]string // by second
	}{
		{"nothing at first", 10, []any{25 * time.Second, start, time.Second, final}, map[int]string{10: ping, 20: ping, 25: restored, 26: final}},
		{"pings at first", 10, []any{theirs, 15 * time.Second, theirs, 15 * time.Second, start, final}, map[int]string{10: theirs + ping, 15: theirs, 25: ping, 30: restored + final}},
		{"in pieces", 10, []any{start[:40], 21 * time.Second, start[40:50], 14 * time.Second, start[50:] + final}, map[int]string{10: ping, 20: ping, 31: ping, 35: restored + final}},
		{"a refusal, too late", 10, []any{11 * time.Second, refusal}, map[int]string{10: ping, 11: refusal}},
		{"without pings", 0, []any{theirs, 100 * time.Second, start[:40], time.Second, start[40:], final}, map[int]string{10: theirs, 101: restored + final}},
		{"pings before a piece", 10, []any{theirs + start[:40], 12 * time.Second, start[40:], final}, map[int]string{10: theirs + ping, 12: restored + final}},
		{"pings with a piece", 10, []any{11 * time.Second, theirs + ": hi\r\n\r\n" + start[:40], time.Second, start[40:], final}, map[int]string{10: ping, 11: theirs + ": hi\r\n\r\n", 12: restored + final}},
		{"half a line end", 10, []any{": hi\r\n\r", 12 * time.Second, "\n" + start, final}, map[int]string{10: ping, 12: ": hi\r\n\r\n" + restored + final}},
		{"it never comes whole", 10, []any{start[:40], 11 * time.Second}, map[int]string{10: ping, 11: start[:40]}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newTimed()
			result := relay.Relay(w, eventStream(upstreamOf(t, c.script...)), relay.Options{
				Dialect:   messages.Dialect{},
				KeepAlive: time.Duration(c.keepAlive) * time.Second, Hold: true, Model: model,
			})
			if result.Refusal != nil {
				t.Fatalf("%s: refused after it had begun", c.name)
			}
			got := map[int]string{}
			for i, text := range w.writes {
				got[int(w.at[i].Seconds())] += text
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.name, diff)
			}
		})
	}
}

type drip struct{ text string }

func (d *drip) Read(p []byte) (int, error) {
	if d.text == "" {
		return 0, io.EOF
	}
	n := copy(p, d.text[:1])
	d.text = d.text[n:]
	return n, nil
}

// FO-9: a response that ends early is relayed as far as it came, and is reported as truncated.
func TestTruncatedResponses(t *testing.T) {
	broken := errors.New("connection reset")
	for _, c := range []struct {
		name               string
		response           relay.Response
		truncated, aborted bool
	}{
		{"stream broken", eventStream(upstreamOf(t, start, broken)), true, true},
		{"stream broken while held", eventStream(upstreamOf(t, start[:5], broken)), true, true},
		{"stream ended early", eventStream(upstreamOf(t, start, delta)), true, false},
		{"stream whole", eventStream(upstreamOf(t, start, final)), false, false},
		{"JSON broken", relay.Response{Status: 200, Header: http.Header{}, Body: closable(upstreamOf(t, "{", broken)), Length: 9}, true, true},
		{"JSON whole", jsonResponse("{}"), false, false},
	} {
		result := relay.Relay(newTimed(), c.response, relay.Options{Dialect: messages.Dialect{}, Hold: true})
		if result.Truncated != c.truncated || result.Aborted != c.aborted {
			t.Errorf("%s: %+v", c.name, result)
		}
	}
}

// FO-5: a client that cannot be written to ends the relay.
func TestClientGone(t *testing.T) {
	for _, a := range []relay.Response{eventStream(upstreamOf(t, start, delta, delta)), {Status: 200, Header: http.Header{}, Body: closable(upstreamOf(t, "a", "b")), Length: -1}} {
		result := relay.Relay(deaf{httptest.NewRecorder()}, a, relay.Options{Dialect: messages.Dialect{}})
		if result.ClientErr == nil || result.Aborted {
			t.Errorf("%+v", result)
		}
	}
}

type deaf struct{ *httptest.ResponseRecorder }

func (deaf) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// WIRE-10: a content type that the upstream did not send is not made up.
func TestNoInventedContentType(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		relay.Relay(w, relay.Response{Status: 200, Header: http.Header{}, Body: closable(strings.NewReader("<html>")), Length: 6}, relay.Options{Dialect: messages.Dialect{}})
	}))
	defer server.Close()
	defer server.Client().CloseIdleConnections()
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if got, ok := response.Header["Content-Type"]; ok {
		t.Errorf("content-type %q", got)
	}
}

// WIRE-13: the upstream is read no faster than the client takes.
func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &counter{chunk: []byte(delta)}
		r, w := io.Pipe()
		client := &pipeWriter{httptest.NewRecorder(), w}
		done := make(chan struct{})
		go func() {
			relay.Relay(client, eventStream(source), relay.Options{Dialect: messages.Dialect{}, KeepAlive: time.Second})
			close(done)
		}()
		synctest.Wait()
		if source.read > 2 {
			t.Errorf("%d chunks read for a client that takes nothing", source.read)
		}
		r.Close()
		<-done
	})
}

type counter struct {
	chunk []byte
	read  int
}

func (c *counter) Read(p []byte) (int, error) { c.read++; return copy(p, c.chunk), nil }

type pipeWriter struct {
	*httptest.ResponseRecorder
	to io.Writer
}

func (w *pipeWriter) Write(p []byte) (int, error) { return w.to.Write(p) }

// WIRE-10, WIRE-11: the head of a compressed stream goes out before its bytes come, and no content type is made up where the
// response's own ends at this hop.
func TestHeadOfACompressedStream(t *testing.T) {
	w := newTimed()
	reads := 0
	a := eventStream(readerFunc(func(p []byte) (int, error) {
		if reads++; reads > 1 {
			return 0, io.EOF
		}
		if named, there := w.Header()["Content-Type"]; !w.Flushed || !there || named != nil {
			t.Errorf("flushed %v, content-type %q", w.Flushed, named)
		}
		return copy(p, "bytes"), nil
	}))
	a.Header.Set("Content-Encoding", "gzip")
	if relay.Relay(w, a, relay.Options{Dialect: messages.Dialect{}}); w.Body.String() != "bytes" || reads != 2 {
		t.Errorf("%q after %d reads", w.Body, reads)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
