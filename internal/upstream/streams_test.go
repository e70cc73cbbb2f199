package upstream_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/observe"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// WIRE-11: a stream arrives byte for byte, in whatever chunks the provider sends it, and each event when it was sent.
func TestStreamsArriveAsTheyAreSent(t *testing.T) {
	for _, chunk := range []int{0, 1, 7, 1000, 1 << 20} {
		config := sim.Config{Accounts: simtest.Accounts(1), Output: sim.Range{Min: 40, Max: 40}}
		config.Pace.Chunk = chunk
		inWorld(t, config, poolOf(), func(w *world) {
			got := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, true))
			direct := w.Direct(sim.MessagesPath, simtest.With(simtest.Minimal, "Anthropic-Beta", "oauth-2025-04-20"), simtest.Body(simtest.PlainModel, true))
			if got.Body != direct.Body || got.Err != nil || got.Header.Get("X-Accel-Buffering") != "no" || got.Header["Content-Length"] != nil {
				w.Errorf("chunks of %d: %v, %d bytes of %d, %v", chunk, got.Err, len(got.Body), len(direct.Body), got.Header)
			}
		})
	}
	config := sim.Config{Accounts: simtest.Accounts(1), Output: sim.Range{Min: 40, Max: 40}, Pace: sim.Pace{FirstByte: 3 * time.Second, Delta: 2 * time.Second}}
	inWorld(t, config, poolOf(), func(w *world) {
		began := time.Now()
		response := w.Stream(simtest.PlainModel)
		defer response.Body.Close()
		var at []time.Duration
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "event: content_block_delta") {
				at = append(at, time.Since(began))
			}
		}
		for i, got := range at {
			if want := time.Duration(3+2*(i+1)) * time.Second; got != want {
				w.Errorf("delta %d came after %v, want %v", i, got, want)
			}
		}
		if len(at) < 10 {
			w.Errorf("%d deltas", len(at))
		}
	})
}

// WIRE-11, WIRE-12: odd streams pass unchanged; pings are sent between events only; FO-11: an error after the first event,
// or after the hold, is relayed.
func TestOddStreams(t *testing.T) {
	const half, rest = "event: content_block_delta\ndata: {\"type\":", "\"content_block_delta\"}\n\n"
	silence := 16 * time.Second
	for _, c := range []struct {
		name  string
		steps []any
		want  string // where it differs from the steps
		end   observe.End
	}{
		{"CRLF", []any{strings.ReplaceAll(simtest.StartEvent+simtest.StopEvent, "\n", "\r\n")}, "", ""},
		{"a byte order mark, comments, unknown events", []any{"\xef\xbb\xbf: hello\n\nevent: new\ndata: 1\nid: 7\nretry: 5\n\n", simtest.StartEvent, simtest.StopEvent}, "", ""},
		{"trailing bytes", []any{simtest.StartEvent, simtest.StopEvent, ": bye\n\ndata: [DONE]\n\nleft over"}, "", ""},
		{"not an event at all", []any{"plain text\xff\x00"}, "", observe.Truncated},
		{"nothing", nil, "", observe.Truncated},
		{"silence before the first event", []any{silence, simtest.StartEvent, simtest.StopEvent}, simtest.PingEvent + simtest.StartEvent + simtest.StopEvent, ""},
		{"silence between events", []any{simtest.StartEvent, 2 * silence, simtest.StopEvent}, simtest.StartEvent + simtest.PingEvent + simtest.PingEvent + simtest.StopEvent, ""},
		{"silence inside an event", []any{simtest.StartEvent, half, 3 * silence, rest, simtest.StopEvent}, simtest.StartEvent + half + rest + simtest.StopEvent, ""},
		{"silence inside the first event", []any{half, 3 * silence, rest, simtest.StopEvent}, half + rest + simtest.StopEvent, ""},
		{"silence after the end", []any{simtest.StartEvent, simtest.StopEvent, 3 * silence}, "", ""},
		{"silence after half a line end", []any{simtest.StartEvent[:len(simtest.StartEvent)-1], 2 * silence, "\n", simtest.StopEvent}, simtest.StartEvent + simtest.StopEvent, ""},
		{"an error in the middle", []any{simtest.StartEvent, simtest.ErrorEvent}, "", observe.Failed},
		{"an error after a long silence", []any{simtest.PingEvent, silence, simtest.ErrorEvent}, simtest.PingEvent + simtest.PingEvent + simtest.ErrorEvent, observe.Failed},
		{"a large first event", []any{"event: message_start\ndata: {\"type\":\"message_start\",\"x\":\"" + strings.Repeat("y", 200_000) + "\"}\n\n", simtest.StopEvent}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
				want := c.want
				if want == "" {
					for _, step := range c.steps {
						if text, ok := step.(string); ok {
							want += text
						}
					}
				}
				w.Provider.Inject("", simtest.Script(c.steps...))
				got := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, true))
				if got.Status != 200 || got.Err != nil || got.Body != want {
					w.Errorf("%d, %v: got  %.400q\nwant %.400q", got.Status, got.Err, got.Body, want)
				}
				if r := w.Last(); r.End != c.end || r.Account == "" || len(w.Calls(0)) != 1 {
					w.Errorf("record %+v, calls %v", r, w.Calls(0))
				}
			})
		})
	}
}

// WIRE-12: no pings when they are off, none in a compressed stream, and none in a response that is not a stream.
func TestNoPings(t *testing.T) {
	body := simtest.StartEvent + simtest.StopEvent
	silent := func(kind, coding string) sim.Fault {
		return sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", kind)
			if coding != "" {
				rw.Header().Set("Content-Encoding", coding)
			}
			rw.WriteHeader(200)
			http.NewResponseController(rw).Flush()
			time.Sleep(4 * time.Minute)
			io.WriteString(rw, body)
		}).Times(1)
	}
	for _, c := range []struct {
		keepAlive    time.Duration
		kind, coding string
	}{
		{0, "text/event-stream", ""},
		{15 * time.Second, "text/event-stream", "gzip"}, // only the header matters
		{15 * time.Second, "application/json", ""},
	} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf().keepAlive(c.keepAlive), func(w *world) {
			w.Provider.Inject("", silent(c.kind, c.coding))
			if got := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, true)); got.Status != 200 || got.Err != nil || got.Body != body {
				w.Errorf("%+v: %d %v %q", c, got.Status, got.Err, got.Body)
			}
		})
	}
}

// WIRE-12: a stream with a content-length has none for the client.
func TestStreamOfKnownLength(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		w.Provider.Inject("", sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(rw, simtest.StartEvent+simtest.StopEvent) // short enough that net/http sends its length
		}))
		got := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, true))
		if got.Header["Content-Length"] != nil || got.Header.Get("X-Accel-Buffering") != "no" || got.Body != simtest.StartEvent+simtest.StopEvent {
			w.Errorf("%v %q", got.Header, got.Body)
		}
	})
}

// WIRE-10, WIRE-14: a response without a body has none for the client, and keeps its content-length.
func TestResponsesWithoutABody(t *testing.T) {
	for status, length := range map[int]string{200: "0", 204: "", 304: "", 404: "0"} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
			w.Provider.Inject("", sim.Respond(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(status) }))
			for _, model := range []string{simtest.PlainModel, simtest.PlainModel + "[1m]"} {
				got := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(model, false))
				if got.Status != status || got.Body != "" || got.Err != nil || got.Header.Get("Content-Length") != length || got.Header["Content-Type"] != nil || got.Header.Get("X-Shunt-Account") != "a" {
					w.Errorf("%d became %d, %v: %q, %v", status, got.Status, got.Err, got.Body, got.Header)
				}
			}
		})
	}
}

// WIRE-13: while a client does not read, the provider cannot write; the bytes between them are bounded.
func TestBackPressure(t *testing.T) {
	const bound = 64 << 10
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		var written atomic.Int64
		delta := "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" + strings.Repeat("x", 900) + "\"}}\n\n"
		const deltas = 5000
		w.Provider.Inject("", sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/event-stream")
			for i := range deltas {
				if i == 0 {
					io.WriteString(rw, simtest.StartEvent)
				}
				if _, err := io.WriteString(rw, delta); err != nil {
					return
				}
				written.Add(int64(len(delta)))
			}
			io.WriteString(rw, simtest.StopEvent)
		}))
		response := w.Stream(simtest.PlainModel)
		defer response.Body.Close()
		read := int64(0)
		for _, step := range []int64{0, 100_000, 1_000_000} {
			n, err := io.CopyN(io.Discard, response.Body, step)
			if err != nil {
				w.Fatal(err)
			}
			read += n
			time.Sleep(2 * time.Second) // in all shorter than the hold, whose end would wait for a lock and stop the bubble's clock
			synctest.Wait()
			if ahead := written.Load() - read; ahead > bound {
				w.Errorf("the provider is %d bytes ahead", ahead)
			}
		}
		left, err := io.ReadAll(response.Body)
		if want := int64(len(simtest.StartEvent) + deltas*len(delta) + len(simtest.StopEvent)); err != nil || read+int64(len(left)) != want || !bytes.HasSuffix(left, []byte(simtest.StopEvent)) {
			w.Errorf("%v, %d bytes of %d", err, read+int64(len(left)), want)
		}
	})
}

// FO-9: a truncated response is truncated for the client, is not sent again, does not affect the account and is recorded and
// logged as truncated.
func TestTruncatedResponses(t *testing.T) {
	for _, c := range []struct {
		name    string
		fault   sim.Fault
		stream  bool
		aborted bool // the client's connection is
	}{
		{"in an event", sim.Abort(5), true, true},
		{"in the first event", sim.Abort(0), true, true},
		{"in a compressed stream", sim.Abort(5).Encoded("gzip"), true, true},
		{"cleanly", sim.Truncate(5), true, false},
		{"cleanly, before any event", sim.Truncate(0), true, false},
		{"not a stream", sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			rw.Header().Set("Content-Length", "100000")
			io.WriteString(rw, `{"type":"message","content":"`+strings.Repeat("x", 50_000))
		}), false, true},
		{"not a stream, of unknown length", sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			io.WriteString(rw, `{"type":"message","content":"`+strings.Repeat("x", 50_000))
			http.NewResponseController(rw).Flush()
			panic(http.ErrAbortHandler)
		}), false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
				home := w.MustServe("s", simtest.PlainModel)
				before := w.Seen()
				w.Provider.Inject("", c.fault.Times(1))
				header := simtest.Session("s")
				got := w.Send(sim.MessagesPath, header, simtest.Body(simtest.PlainModel, c.stream))
				if got.Status != 200 || c.aborted != errors.Is(got.Err, io.ErrUnexpectedEOF) {
					w.Errorf("%d, %v, %d bytes", got.Status, got.Err, len(got.Body))
				}
				if r := w.Last(); r.End != observe.Truncated || r.Account != home || r.Status != 200 {
					w.Errorf("record %+v", r)
				}
				if calls := w.Calls(before); len(calls) != 1 || w.State(home).Cooldown != 0 {
					w.Errorf("calls %v, cools down for %v", calls, w.State(home).Cooldown)
				}
				if !strings.Contains(w.Log.String(), "end=cut") {
					w.Error("the log does not contain it")
				}
				if got := w.MustServe("s", simtest.PlainModel); got != home {
					w.Errorf("the next turn is served by %s", got)
				}
			})
		})
	}
}

// FO-11, WIRE-12: the head of a silent stream is held until the first ping, for 10 s at most. Then the client gets the headers
// and, unless pings are off, a ping.
func TestHoldEnds(t *testing.T) {
	for _, c := range []struct {
		keepAlive time.Duration
		headers   time.Duration
		pings     int // the provider sends one more
	}{{15 * time.Second, 10 * time.Second, 2}, {7 * time.Second, 7 * time.Second, 5}, {300 * time.Second, 10 * time.Second, 0}, {0, 10 * time.Second, 0}} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf().keepAlive(c.keepAlive), func(w *world) {
			w.Provider.Inject("", sim.SlowFirstEvent(40*time.Second).Times(1))
			began := time.Now()
			response := w.Stream(simtest.PlainModel)
			defer response.Body.Close()
			if took := time.Since(began); took != c.headers {
				w.Errorf("keep-alive %v: headers after %v", c.keepAlive, took)
			}
			read, err := sim.ReadResponse(response)
			if err != nil || read.Pings != c.pings+1 {
				w.Errorf("keep-alive %v: %v, %d pings", c.keepAlive, err, read.Pings)
			}
		})
	}
}

// FO-11: a refusal in place of the first event is detected even if it arrives in pieces, after pings and comments.
func TestRefusalInPieces(t *testing.T) {
	var pieces []any
	for _, b := range []byte(": comment\n\n" + simtest.PingEvent + simtest.ErrorEvent) {
		pieces = append(pieces, string(b))
	}
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
		home := w.MustServe("s", simtest.PlainModel)
		w.Provider.Inject(home, simtest.Script(pieces...))
		if r := w.Request("s", simtest.PlainModel, true); r.Status != 200 || r.Err != nil || r.Account == home || w.State(home).Cooldown != 5*time.Second {
			w.Errorf("%d by %s, %v, %s cools down for %v", r.Status, r.Account, r.Err, home, w.State(home).Cooldown)
		}
	})
}

// OBS-1: the tokens that a stream reports are in its record, streamed or not.
func TestTokensAreCounted(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		for _, stream := range []bool{true, false} {
			r := w.Request("s", simtest.PlainModel, stream)
			got, want := w.Last().Tokens, r.Response.Usage
			if got == nil || *got != (observe.Tokens{Input: want.Input, Output: want.Output, CacheRead: want.CacheRead, CacheCreation: want.CacheCreation}) {
				w.Errorf("stream %v: %+v, want %+v", stream, got, want)
			}
		}
		w.Provider.Inject("", sim.Failure(400, messages.TypeInvalidRequest, "no").Times(1))
		w.Request("s", simtest.PlainModel, false)
		if got := w.Last(); got.Tokens != nil || got.BytesOut == 0 || !slices.Equal([]int{got.Status, got.Attempts}, []int{400, 1}) {
			w.Errorf("record %+v", got)
		}
	})
}
