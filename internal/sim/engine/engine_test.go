package engine_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shunt/internal/sim/engine"
	"shunt/internal/sim/enginetest"
	"shunt/internal/sim/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is the smallest provider: its only endpoint streams three events to the account that the path names.
type echo struct{ *engine.Base }

func (e echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := e.Begin(w, r)
	defer x.Finish()
	x.Account, x.Model, x.Inference = strings.TrimPrefix(x.Path, "/"), r.URL.Query().Get("model"), true
	switch {
	case x.InjectFault(true):
	case x.BodyError != nil:
		x.JSON(http.StatusBadRequest, engine.Object{"error": x.BodyError.Error()})
	default:
		x.Events([]engine.Event{
			engine.Named("first", engine.Object{}), engine.Data(engine.Object{"n": 2}).AsDelta(1), engine.Data(engine.Object{"n": 3}).AsDelta(1),
		})
	}
}

func bubble(t *testing.T, config engine.Config, test func(c *enginetest.Client, e echo)) {
	t.Helper()
	var e echo
	enginetest.Run(t, func() http.Handler {
		e = echo{engine.New(config)}
		return e
	}, func(c *enginetest.Client) { test(c, e) })
}

const stream = "event: first\ndata: {}\n\ndata: {\"n\":2}\n\ndata: {\"n\":3}\n\n"

func TestCodings(t *testing.T) {
	config := engine.Config{Encodings: []string{"zstd", "gzip", "br"}, Pace: engine.Pace{Chunk: 7, Delta: time.Second}}
	bubble(t, config, func(c *enginetest.Client, e echo) {
		for accept, want := range map[string]string{
			"": "", "gzip, br": "gzip", "*": "zstd", "zstd;q=0, br;q=0.5": "br", "identity": "",
		} {
			start := time.Now()
			reply := c.Do("/a", "", "Accept-Encoding", accept)
			if got := reply.Header.Get("Content-Encoding"); got != want {
				t.Errorf("accept-encoding %q got %q", accept, got)
			}
			d, err := engine.Decoder(want, strings.NewReader(reply.Body))
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(d)
			d.Close()
			if err != nil || string(data) != stream || time.Since(start) != 2*time.Second {
				t.Errorf("got %q after %v (%v)", data, time.Since(start), err)
			}
		}
		e.Inject("", engine.Encoded("br").Times(1))
		if got := c.Do("/a", "").Header.Get("Content-Encoding"); got != "br" {
			t.Errorf("content-encoding is %q", got)
		}
		for _, coding := range []string{"gzip", "br", "zstd"} {
			c.Do("/a", string(engine.Encode(coding, []byte("body"))), "Content-Encoding", coding).Want(c, 200)
			if last := e.Requests()[len(e.Requests())-1]; !bytes.Equal(last.Body, []byte("body")) {
				t.Errorf("%s: body is %q", coding, last.Body)
			}
		}
		c.Do("/a", "body", "Content-Encoding", "lzma").Want(c, 400, "unknown content coding")
	})
}

// The oldest fault that matches applies; those for any account come first.
func TestFaultOrder(t *testing.T) {
	bubble(t, engine.Config{}, func(c *enginetest.Client, e echo) {
		status := func(n int) engine.Fault { return engine.Status(n, engine.Object{}) }
		e.Inject("a", status(501).Times(2))
		e.Inject("a", status(502))
		e.Inject("b", status(503).ForModel("big"))
		e.Inject("b", status(504).On("/other"))
		e.Inject("", status(505).Times(1).Later(time.Minute))
		var got []int
		start := time.Now()
		for _, path := range []string{"/a", "/a", "/a", "/a", "/b", "/b?model=big-1", "/b"} {
			got = append(got, c.Do(path, "").Status)
		}
		if want := []int{505, 501, 501, 502, 200, 503, 200}; !slices.Equal(got, want) || time.Since(start) != time.Minute {
			t.Errorf("got %v after %v, want %v", got, time.Since(start), want)
		}
		e.Clear("a")
		c.Do("/a", "").Want(c, 200)
		e.Inject("a", status(429).RetryAfter("5"))
		if got := c.Do("/a", "").Header.Get("Retry-After"); got != "5" {
			t.Errorf("retry-after is %q", got)
		}
	})
}

// Only the most recent requests are kept, with how they ended.
func TestRecord(t *testing.T) {
	bubble(t, engine.Config{Record: 2}, func(c *enginetest.Client, e echo) {
		e.Inject("c", engine.Truncate(1))
		for _, path := range []string{"/a", "/b", "/c?model=m"} {
			c.Do(path, "")
		}
		got := e.Requests()
		if len(got) != 2 || got[0].Account != "b" || got[0].Outcome != engine.Complete || got[1].Model != "m" || got[1].Outcome != engine.Aborted || got[1].Fault != "truncated" {
			t.Errorf("got %+v", got)
		}
		if len(e.RequestsTo("/b")) != 1 {
			t.Errorf("got %+v", e.RequestsTo("/b"))
		}
	})
}

func TestPlay(t *testing.T) {
	bubble(t, engine.Config{Output: engine.Range{Min: 3, Max: 3}}, func(_ *enginetest.Client, e echo) {
		e.Script(script.Reasoning("thought", "text"))
		if got := e.Play(script.Prompt{}); got.Text != "text" || got.Reasoning != "" || e.Unplayed() != 0 {
			t.Errorf("got %+v", got)
		}
		if got := e.Play(script.Prompt{Digest: "d"}); script.Tokens(got.Text) != 3 || script.Verify(got.Text, "text", "d") != nil {
			t.Errorf("got %+v", got)
		}
	})
}

func TestWindow(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC)
	w := engine.WindowAt(start, time.Hour, 100, 1.5, time.Minute)
	if !w.Full() || w.Utilization() != 1.5 || w.Resets != start.Truncate(time.Second).Add(time.Minute+time.Second) {
		t.Errorf("got %+v", w)
	}
	w.Expire(w.Resets.Add(-1))
	if !w.Full() {
		t.Error("the window has reset early")
	}
	first := w.Resets
	w.Expire(first.Add(3 * time.Hour))
	if w.Full() || w.Resets != first.Add(4*time.Hour) {
		t.Errorf("got %+v", w)
	}
	cache := engine.NewPromptCache()
	got := []int64{cache.Use("k", 10, start), cache.Use("k", 20, start.Add(time.Minute)), cache.Use("k", 5, start.Add(2*time.Minute)), cache.Use("k", 5, start.Add(time.Hour))}
	if want := []int64{0, 10, 5, 0}; !slices.Equal(got, want) {
		t.Errorf("cached %v, want %v", got, want)
	}
}
