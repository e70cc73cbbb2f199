package sim_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

// gateway sits between sessions and a provider, as shunt does: it adds a token, and can change requests and responses.
type gateway struct {
	*rig
	account  func(n int) string // the account of the nth request; nil: account a
	request  func(body []byte) []byte
	response func(h http.Header, body []byte) []byte
	seen     int
}

func (g *gateway) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body.Close()
	if g.request != nil {
		body = g.request(body)
	}
	account := "a"
	if g.account != nil {
		account = g.account(g.seen)
	}
	g.seen++
	out := req.Clone(req.Context())
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out.Header.Set("Authorization", "Bearer "+g.Token(account))
	out.Header.Add("Anthropic-Beta", "oauth-2025-04-20")
	resp, err := g.client.Transport.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	resp.Header.Set("X-Shunt-Account", account)
	if g.response != nil {
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(g.response(resp.Header, data)))
	}
	return resp, nil
}

// session returns a small session through the gateway.
func (g *gateway) session() sim.Session {
	return sim.Session{
		BaseURL: "http://provider.test", Client: &http.Client{Transport: g}, Name: "c",
		Turns: 6, Context: 4 << 10, Growth: sim.Range{Min: 100, Max: 200},
	}
}

// A session grows, mixes models and plain requests as configured, is the same in every run, and verifies every response.
func TestSession(t *testing.T) {
	config := sim.Config{Accounts: []sim.Account{{Name: "a"}, {Name: "b"}}, Encodings: []string{"zstd"}, RecordBodies: true}
	var reports []sim.Report
	for range 2 {
		bubble(t, config, func(r *rig) {
			g := &gateway{rig: r, account: func(n int) string { return []string{"a", "b"}[n/20%2] }}
			s := g.session()
			s.Turns, s.FableShare, s.PlainShare, s.AccountUUID = 60, 0.3, 0.2, "u-1"
			report := s.Run(r.Context())
			reports = append(reports, report)
			if report.Turns != 60 || report.Completed != 60 || report.Moves != 2 || report.Accounts["b"] != 20 || len(report.Errors) != 0 {
				r.Errorf("%+v", report)
			}
			if report.Tokens.CacheRead == 0 || report.Tokens.Output == 0 || report.Total.Count != 60 {
				r.Errorf("%+v", report)
			}
			fable, plain := 0, 0
			last := 0
			for _, q := range r.Requests() {
				if q.Session() != s.ID() || q.AccountUUID != "u-1" || q.Path != "/v1/messages?beta=true" {
					r.Errorf("received %+v", q)
				}
				if q.Model == "claude-fable-5" {
					fable++
				}
				if !q.Stream {
					plain++
				}
				if q.BodyLength <= last-len(`,"stream":true`)-len("sonnet-4-5") {
					r.Errorf("the conversation shrinks from %d to %d", last, q.BodyLength)
				}
				last = q.BodyLength
			}
			if fable < 8 || fable > 28 || plain < 4 || plain > 22 {
				r.Errorf("%d Fable turns and %d plain ones of 60", fable, plain)
			}
		})
	}
	if a, b := reports[0], reports[1]; a.Tokens != b.Tokens || a.Moves != b.Moves {
		t.Errorf("two runs of one session differ: %+v and %+v", a, b)
	}
}

// Responses to concurrent sessions are never mixed up and depend on the prompts alone.
func TestSessionsSideBySide(t *testing.T) {
	config := sim.Config{
		Accounts: []sim.Account{{Name: "a"}},
		Pace:     sim.Pace{Delta: time.Second, Chunk: 50},
	}
	bubble(t, config, func(r *rig) {
		reports := make([]sim.Report, 8)
		var wg sync.WaitGroup
		for i := range reports {
			wg.Go(func() {
				s := (&gateway{rig: r}).session()
				s.Name, s.Seed = "twins", uint64(i/2)
				reports[i] = s.Run(r.Context())
			})
		}
		wg.Wait()
		var output int64
		for i, report := range reports {
			output += report.Tokens.Output
			if report.Completed != 6 {
				r.Errorf("%+v", report)
			}
			if twin := reports[i^1]; report.Tokens.Output != twin.Tokens.Output {
				r.Errorf("the same session got %d and %d tokens", report.Tokens.Output, twin.Tokens.Output)
			}
		}
		if got := r.Counters("a"); got.Requests != 48 || got.Tokens.Output != output {
			r.Errorf("counted %+v, the sessions %d tokens", got, output)
		}
	})
}

// A body is about as large as Claude Code's, and a conversation does not grow without limit.
func TestSessionSize(t *testing.T) {
	bubble(t, sim.Config{Accounts: []sim.Account{{Name: "a", FiveHour: sim.Window{Off: true}}}}, func(r *rig) {
		g := &gateway{rig: r}
		s := g.session()
		s.Context, s.Growth, s.Turns = 0, sim.Range{Min: 100 << 10, Max: 100 << 10}, 12
		if got := s.Run(r.Context()); got.Completed != 12 {
			r.Errorf("%+v", got)
		}
		requests := r.Requests()
		if first := requests[0].BodyLength - 100<<10; first < 90<<10 || first > 130<<10 {
			r.Errorf("the first body is %d bytes larger than its message", first)
		}
		shrunk := false
		for i, q := range requests {
			if q.BodyLength > 800<<10 {
				r.Errorf("a body of %d bytes", q.BodyLength)
			}
			shrunk = shrunk || i > 0 && q.BodyLength < requests[i-1].BodyLength
		}
		if !shrunk {
			r.Error("the conversation was never compacted")
		}
	})
}

// Turns of a burst are one gap apart, and bursts one think time, on the session's clock.
func TestThinkTimes(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		g := &gateway{rig: r}
		s := g.session()
		s.Burst, s.Gap, s.Think, s.Turns = sim.Range{Min: 3, Max: 3}, time.Second, sim.Pause{Min: time.Minute, Max: 2 * time.Minute}, 9
		s.Run(r.Context())
		requests := r.Requests()
		for i := range requests[1:] {
			pause := requests[i+1].Received.Sub(requests[i].Received)
			if i%3 == 2 && (pause < time.Minute || pause > 2*time.Minute) || i%3 != 2 && pause != time.Second {
				r.Errorf("%v between turns %d and %d", pause, i+1, i+2)
			}
		}
	})
}

// The end of the context stops a session at once, in a pause or a turn, and the interrupted turn is not a failure.
func TestSessionEnds(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		g := &gateway{rig: r}
		s := g.session()
		s.Turns, s.Think = 0, sim.Pause{Min: time.Minute, Max: time.Minute}
		for _, hang := range []bool{false, true} {
			if hang {
				r.Inject("a", sim.Hang())
			}
			ctx, cancel := context.WithTimeout(r.Context(), 90*time.Second)
			start := time.Now()
			report := s.Run(ctx)
			cancel()
			if got := time.Since(start); got != 90*time.Second {
				r.Errorf("ended after %v", got)
			}
			if want := map[bool]int{false: 2, true: 0}[hang]; report.Turns != want || report.Completed != want {
				r.Errorf("hang %v: %+v", hang, report)
			}
		}
		synctest.Wait() // until the provider has recorded it
		if got := r.Counters("a").Canceled; got != 1 {
			r.Errorf("%d requests were canceled", got)
		}
	})
}

// Each kind of failure is counted under its own name, and the session continues.
func TestSessionSurvives(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault sim.Fault
		check func(r sim.Report) bool
	}{
		{"limit", sim.Rejected(messages.FiveHour), func(r sim.Report) bool { return r.Failed[429] == 1 && r.Limited == 1 }},
		{"throttle", sim.Throttled("1"), func(r sim.Report) bool { return r.Failed[429] == 1 && r.Limited == 0 }},
		{"overload", sim.Overloaded(), func(r sim.Report) bool { return r.Failed[529] == 1 }},
		{"error stream", sim.ErrorStream(messages.TypeOverloaded), func(r sim.Report) bool { return r.Failed[200] == 1 }},
		{"redirect", sim.Redirect("http://elsewhere.test/"), func(r sim.Report) bool { return r.Failed[307] == 1 }},
		{"reset", sim.ResetConnection(), func(r sim.Report) bool { return r.Unreachable == 1 }},
		{"aborted", sim.Abort(5), func(r sim.Report) bool { return r.Resent == 1 && r.Completed == 6 }},
		{"truncated", sim.Truncate(5), func(r sim.Report) bool { return r.Resent == 1 && r.Completed == 6 }},
		{"aborted in gzip", sim.Abort(5).Encoded("gzip"), func(r sim.Report) bool { return r.Resent == 1 && r.Completed == 6 }},
		{"truncated in br", sim.Truncate(5).Encoded("br"), func(r sim.Report) bool { return r.Resent == 1 && r.Completed == 6 }},
	} {
		bubble(t, oneAccount, func(r *rig) {
			r.Inject("a", c.fault.Times(1))
			session := (&gateway{rig: r}).session()
			session.Client.CheckRedirect = r.client.CheckRedirect
			report := session.Run(r.Context())
			if !c.check(report) || report.Turns != 6 || report.Completed < 5 {
				r.Errorf("%s: %+v", c.name, report)
			}
		})
	}
}

// A failed turn is left out of the conversation that the next turn sends.
func TestFailedTurnIsForgotten(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		session := (&gateway{rig: r}).session()
		session.Turns, session.Growth = 2, sim.Range{Min: 10 << 10, Max: 10 << 10}
		r.Inject("a", sim.Throttled("1").Times(1))
		session.Run(r.Context())
		got := r.Requests()
		if grown := got[1].BodyLength - got[0].BodyLength; grown > 5<<10 {
			r.Errorf("the turn after a failure is %d bytes larger", grown)
		}
	})
}

// A turn is lost if its stream is truncated and the plain response after it too.
func TestSessionTruncatedTwice(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		g := &gateway{rig: r, response: func(_ http.Header, body []byte) []byte { return body[:len(body)/2] }}
		session := g.session()
		session.Turns = 1
		if got := session.Run(r.Context()); got.Resent != 1 || got.Completed != 0 || got.Turns != 1 {
			r.Errorf("%+v", got)
		}
	})
}

// A session pauses after each failure to connect, so that it does not hammer a gateway that is down.
func TestUnreachableGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := sim.Listen("unreachable.test:80")
		l.Close()
		session := sim.Session{BaseURL: "http://unreachable.test", Client: &http.Client{Transport: &http.Transport{DialContext: l.Dial}}, Context: 1}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Millisecond)
		defer cancel()
		if got := session.Run(ctx); got.Unreachable != 61 || got.Turns != 61 || len(got.Errors) == 0 || len(got.Errors) > 10 {
			t.Errorf("%+v", got)
		}
	})
}

// A session without a client creates its own and leaves no goroutine behind (goleak).
func TestOwnClient(t *testing.T) {
	p := sim.New(sim.Config{Accounts: []sim.Account{{Name: "key", APIKey: "sk-paid"}}})
	server, err := sim.Start(p)
	if err != nil {
		t.Fatal(err)
	}
	got := sim.Session{BaseURL: server.URL, Token: "sk-paid", Turns: 2}.Run(t.Context())
	if got.Completed != 2 || got.FirstByte.Quantile(0.5) > got.Total.Max {
		t.Errorf("%+v", got)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}

// A provider aborts the response even if it cannot hijack the connection.
func TestResetWithoutConnection(t *testing.T) {
	p := sim.New(oneAccount)
	p.Inject("", sim.ResetConnection())
	defer func() {
		if recover() != http.ErrAbortHandler {
			t.Error("the response was not aborted")
		}
	}()
	p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, sim.MessagesPath, strings.NewReader(plainBody)))
}
