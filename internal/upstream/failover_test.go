package upstream_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/family/claude"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// garbage responds with something other than HTTP, and keeps the connection.
func garbage(w http.ResponseWriter, _ *http.Request) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n")
	}
}

// TestFailoverTable goes through the table of responses: a session's account fails in each way. The client must be served by the
// account and at the time in the table, and the account must cool down for the time in the table.
func TestFailoverTable(t *testing.T) {
	const (
		same  = "same account"
		other = "another account"
	)
	for _, c := range []struct {
		name     string
		model    string
		faults   []sim.Fault // of the session's account, one for each request
		by       string      // who serves the client; empty: the status is relayed
		status   int
		cooldown time.Duration // the account-wide cooldown afterwards
		fable    time.Duration // the cooldown for Fable requests, where it differs
		waited   time.Duration
	}{
		{name: "2xx", by: same},
		{name: "Fable week, Fable request", model: simtest.FableModel, faults: simtest.Faults(sim.Rejected(messages.Fable).RetryAfter("90")), by: other, fable: 90 * time.Second},
		{name: "Fable week, other request", faults: simtest.Faults(sim.Rejected(messages.Fable).RetryAfter("90")), by: other, cooldown: 90 * time.Second},
		{name: "5h", faults: simtest.Faults(sim.Rejected(messages.FiveHour).RetryAfter("90")), by: other, cooldown: 90 * time.Second},
		{name: "7d, no retry-after", faults: simtest.Faults(sim.Rejected(messages.SevenDay).RetryAfter("")), by: other, cooldown: 60 * time.Second},
		{name: "7d, an hour at the most", faults: simtest.Faults(sim.Rejected(messages.SevenDay).RetryAfter("86400")), by: other, cooldown: time.Hour},
		{name: "aggregate alone", faults: simtest.Faults(sim.RejectedAggregate().RetryAfter("90")), by: other, cooldown: 90 * time.Second},
		{name: "throttle, no retry-after", faults: simtest.Faults(sim.Throttled("")), by: same, waited: time.Second},
		{name: "throttle, short", faults: simtest.Faults(sim.Throttled("5")), by: same, waited: 5 * time.Second},
		{name: "throttle twice, second relayed", faults: simtest.Faults(sim.Throttled("2"), sim.Throttled("7")), status: 429, waited: 2 * time.Second, cooldown: 7 * time.Second},
		{name: "throttle twice, second without retry-after", faults: simtest.Faults(sim.Throttled("2"), sim.Throttled("")), status: 429, waited: 2 * time.Second},
		{name: "throttle, then quota", faults: simtest.Faults(sim.Throttled("2"), sim.Rejected(messages.FiveHour).RetryAfter("90")), by: other, waited: 2 * time.Second, cooldown: 90 * time.Second},
		{name: "throttle, long", faults: simtest.Faults(sim.Throttled("6")), by: other, cooldown: 6 * time.Second},
		{name: "throttle, very long", faults: simtest.Faults(sim.Throttled("9999")), by: other, cooldown: 300 * time.Second},
		{name: "401 once", faults: simtest.Faults(sim.Unauthorized()), by: same},
		{name: "401 twice", faults: simtest.Faults(sim.Unauthorized(), sim.Unauthorized()), by: other, cooldown: 300 * time.Second},
		{name: "401, then throttle", faults: simtest.Faults(sim.Unauthorized(), sim.Throttled("2")), by: other, cooldown: 2 * time.Second},
		{name: "529", faults: simtest.Faults(sim.Overloaded()), by: other, cooldown: 5 * time.Second},
		{name: "500", faults: simtest.Faults(sim.ServerError(500)), by: other, cooldown: 30 * time.Second},
		{name: "503", faults: simtest.Faults(sim.ServerError(503)), by: other, cooldown: 30 * time.Second},
		{name: "403 of the credential", faults: simtest.Faults(sim.CredentialForbidden()), by: other, cooldown: 300 * time.Second},
		{name: "403 of the credential, compressed", faults: simtest.Faults(sim.CredentialForbidden().Encoded("zstd")), by: other, cooldown: 300 * time.Second},
		{name: "403 of the model", faults: simtest.Faults(sim.ModelForbidden()), status: 403},
		{name: "reset once", faults: simtest.Faults(sim.ResetConnection()), by: same},
		{name: "reset twice", faults: simtest.Faults(sim.ResetConnection(), sim.ResetConnection()), by: other, cooldown: 30 * time.Second},
		{name: "not HTTP", faults: simtest.Faults(sim.Respond(garbage)), by: other, cooldown: 30 * time.Second},
		{name: "401, then reset", faults: simtest.Faults(sim.Unauthorized(), sim.ResetConnection()), by: other, cooldown: 30 * time.Second},
		{name: "throttle, then reset", faults: simtest.Faults(sim.Throttled("2"), sim.ResetConnection()), by: other, waited: 2 * time.Second, cooldown: 30 * time.Second},
		{name: "no headers in time", faults: simtest.Faults(sim.Hang()), status: 504, waited: 120 * time.Second},
		{name: "redirect", faults: simtest.Faults(sim.Redirect("http://127.0.0.1:9/")), status: 307},
		{name: "400", faults: simtest.Faults(sim.Failure(400, messages.TypeInvalidRequest, "prompt is too long")), status: 400},
		{name: "404", faults: simtest.Faults(sim.Failure(404, messages.TypeNotFound, "model: x")), status: 404},
		{name: "413", faults: simtest.Faults(sim.Failure(413, messages.TypeTooLarge, "too large")), status: 413},
		{name: "422", faults: simtest.Faults(sim.Failure(422, messages.TypeInvalidRequest, "no")), status: 422},
		{name: "FO-11: overloaded stream", faults: simtest.Faults(sim.ErrorStream(messages.TypeOverloaded)), by: other, cooldown: 5 * time.Second},
		{name: "FO-11: api error stream", faults: simtest.Faults(sim.ErrorStream(messages.TypeAPI)), by: other, cooldown: 30 * time.Second},
		{name: "FO-11: rate limit stream", faults: simtest.Faults(sim.ErrorStream(messages.TypeRateLimit)), by: same, waited: time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, poolOf(), func(w *world) {
				model := c.model
				if model == "" {
					model = simtest.PlainModel
				}
				home := w.MustServe("s", model)
				for _, f := range c.faults {
					w.Provider.Inject(home, f.Times(1))
				}
				before := w.Seen()
				r := w.Request("s", model, true)
				calls := w.Calls(before)

				switch c.by {
				case "":
					by := home
					if c.status == http.StatusGatewayTimeout { // shunt's own
						by = ""
					}
					if r.Status != c.status || r.Account != by {
						t.Errorf("status %d by %q, want %d by %q", r.Status, r.Account, c.status, by)
					}
				case same:
					if r.Status != 200 || r.Err != nil || r.Account != home {
						t.Errorf("status %d by %q (%v), want 200 by %q", r.Status, r.Account, r.Err, home)
					}
				case other:
					if r.Status != 200 || r.Err != nil || r.Account == home {
						t.Errorf("status %d by %q (%v), want 200 by another than %q", r.Status, r.Account, r.Err, home)
					}
				}
				want := slices.Repeat([]string{home}, len(c.faults))
				if c.by != "" {
					want = append(want, r.Account)
				}
				if !slices.Equal(calls, want) {
					t.Errorf("calls %v, want %v", calls, want)
				}
				if !simtest.Waited(r.Took, c.waited) {
					t.Errorf("took %v, want %v", r.Took, c.waited)
				}
				s := w.State(home)
				if s.Cooldown != c.cooldown {
					t.Errorf("cools down for %v, want %v", s.Cooldown, c.cooldown)
				}
				if want := max(c.fable, c.cooldown); s.In(claude.FableScope).Cooldown != want {
					t.Errorf("cools down for %v for Fable, want %v", s.In(claude.FableScope).Cooldown, want)
				}
			})
		})
	}
}

// FO-8: when every account has failed, the client gets the last real response, without the name of an account.
func TestExhaustedPoolRelaysTheLastResponse(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, poolOf(), func(w *world) {
		w.Provider.Inject("", sim.ServerError(500))
		before := w.Seen()
		r := w.Request("s", simtest.PlainModel, true)
		if r.Status != 500 || r.Account != "" || !strings.Contains(r.Body, "Internal server error") {
			t.Errorf("%d by %q: %s", r.Status, r.Account, r.Body)
		}
		if calls := w.Calls(before); len(calls) != 2 { // FO-0a
			t.Errorf("calls %v", calls)
		}
		if got := w.Last(); len(got.Rotations) != 2 || got.Attempts != 2 || got.Status != 500 {
			t.Errorf("record %+v", got)
		}
		// SEL-11: cooled accounts are still tried.
		w.Provider.Clear("")
		w.MustServe("s", simtest.PlainModel)
	})
}

// FO-8: without any response, the failure is shunt's own and contains the number of accounts tried.
func TestExhaustedPoolWithoutAResponse(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, poolOf(), func(w *world) {
		w.Provider.Inject("", sim.ResetConnection())
		r := w.Request("", simtest.PlainModel, false)
		if r.Status != http.StatusBadGateway || !strings.Contains(r.Body, `"api_error"`) || !strings.Contains(r.Body, "2 tried") {
			t.Errorf("%d: %s", r.Status, r.Body)
		}
	})
}

// FO-11: when every stream begins with a refusal, the last one is relayed unchanged.
func TestExhaustedPoolOfErrorStreams(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
		w.Provider.Inject("", sim.ErrorStream(messages.TypeOverloaded))
		r := w.Request("s", simtest.PlainModel, true)
		if r.Status != 200 || r.Account != "" || !strings.Contains(r.Body, "overloaded_error") || r.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" && r.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%d by %q, %v: %q", r.Status, r.Account, r.Header, r.Body)
		}
	})
}

// FO-0b: a host that cannot be reached is not every account's fault: a request tries only two.
func TestHostDown(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(5)}, poolOf(), func(w *world) {
		w.MustServe("s", simtest.PlainModel)
		w.Upstream.Close()
		dials := w.Upstream.Dials()
		// The kept connection is still alive; take it away first.
		w.Provider.Inject("", sim.ResetConnection())
		r := w.Request("s", simtest.PlainModel, true)
		if r.Status != http.StatusBadGateway || !strings.Contains(r.Body, "cannot be reached") {
			t.Errorf("%d: %s", r.Status, r.Body)
		}
		if got := w.Upstream.Dials() - dials; got > 4 {
			t.Errorf("%d dials", got)
		}
		cooled := 0
		for _, s := range w.Tested.Pool("anthropic") {
			if s.Cooldown > 0 {
				cooled++
				if s.Cooldown > 5*time.Second {
					t.Errorf("%s cools down for %v", s.Name, s.Cooldown)
				}
			}
		}
		if cooled != 2 {
			t.Errorf("%d accounts cool down", cooled)
		}
	})
}

// FO-0: the resend after a failed connection uses a new one.
func TestResendDialsAnew(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		w.MustServe("s", simtest.PlainModel)
		w.Provider.Inject("a", sim.ResetConnection().Times(1))
		before := w.Seen()
		w.MustServe("s", simtest.PlainModel)
		r := w.Provider.Requests()[before:]
		if len(r) != 2 || r[0].Conn == r[1].Conn {
			t.Errorf("%d requests", len(r))
		}
		if r[0].BodyHash != r[1].BodyHash {
			t.Error("the bodies differ") // FO-7
		}
	})
}

// The table, last row of the throttles: after a long throttle, one request takes a detour and no session moves.
func TestLongThrottleIsADetour(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
		home := w.MustServe("s", simtest.PlainModel)
		w.Provider.Inject(home, sim.Throttled("30").Times(1))
		if r := w.Request("s", simtest.PlainModel, true); r.Account == home || r.Status != 200 {
			t.Fatalf("%d by %s", r.Status, r.Account)
		}
		if w.Last().Move != nil {
			t.Errorf("a detour moved the session: %+v", w.Last().Move)
		}
		time.Sleep(31 * time.Second)
		if got := w.MustServe("s", simtest.PlainModel); got != home {
			t.Errorf("served by %s, home is %s", got, home)
		}
		if w.Last().Move != nil {
			t.Errorf("the way back from a detour is a move: %+v", w.Last().Move)
		}
	})
}

// The same: a throttle on the detour is relayed. If no other account is available, the request waits unless that is too long,
// in which case the throttle is relayed at once.
func TestLongThrottleWithoutAWayOut(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
		home := w.MustServe("s", simtest.PlainModel)
		w.Provider.Inject("", sim.Throttled("30").Times(2))
		r := w.Request("s", simtest.PlainModel, true)
		if r.Status != 429 || r.Account == home || r.Account == "" || r.Took != 0 {
			t.Errorf("%d by %q after %v", r.Status, r.Account, r.Took)
		}
		for _, s := range w.Tested.Pool("anthropic") {
			if s.Cooldown != 30*time.Second {
				t.Errorf("%s cools down for %v", s.Name, s.Cooldown)
			}
		}
	})
	for wait, want := range map[string]struct {
		status int
		took   time.Duration
	}{"60": {200, 60 * time.Second}, "61": {429, 0}} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
			w.Provider.Inject("a", sim.Throttled(wait).Times(1))
			r := w.Request("s", simtest.PlainModel, true)
			if r.Status != want.status || !simtest.Waited(r.Took, want.took) || r.Account != "a" {
				t.Errorf("retry-after %s: %d by %q after %v", wait, r.Status, r.Account, r.Took)
			}
		})
	}
}

// An account that cannot be refreshed cools down after its first 401.
func TestUnauthorizedSetupToken(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
		for _, name := range []string{"a", "b"} {
			w.Put(name, []byte(`{"claudeAiOauth":{"accessToken":"`+w.Provider.SetupToken(name)+`","expiresAt":4102444800000,"shuntCredentialKind":"setup_token"},"shuntAccountUuid":"`+w.Provider.UUID(name)+`"}`))
		}
		time.Sleep(3 * time.Second)
		home := w.MustServe("s", simtest.PlainModel)
		w.Provider.Inject(home, sim.Unauthorized().Times(1))
		before := w.Seen()
		r := w.Request("s", simtest.PlainModel, true)
		if r.Status != 200 || r.Account == home || len(w.Calls(before)) != 2 || w.State(home).Cooldown != 300*time.Second {
			t.Errorf("%d by %q, calls %v, cools down for %v", r.Status, r.Account, w.Calls(before), w.State(home).Cooldown)
		}
	}, watchStore)
}
