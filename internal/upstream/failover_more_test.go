package upstream_test

import (
	"errors"
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

// FO-1: retry-after may be a date; a value that is not valid counts as absent.
func TestRetryAfterForms(t *testing.T) {
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for _, c := range []struct {
		name     string
		value    func() string
		waited   time.Duration // by a throttle
		cooldown time.Duration // after a rejection
	}{
		{"a date", func() string { return in(4 * time.Second) }, 4 * time.Second, 4 * time.Second},
		{"a date that has passed", func() string { return in(-time.Hour) }, 0, time.Second},
		{"zero", func() string { return "0" }, 0, time.Second},
		{"negative", func() string { return "-3" }, time.Second, time.Minute},
		{"a fraction", func() string { return "2.5" }, time.Second, time.Minute},
		{"words", func() string { return "soon" }, time.Second, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
				home := w.MustServe("s", simtest.PlainModel)
				w.Provider.Inject(home, sim.Throttled(c.value()).Times(1))
				if r := w.Request("s", simtest.PlainModel, true); r.Status != 200 || r.Account != home || !simtest.Waited(r.Took, c.waited) {
					w.Errorf("throttle: %d by %s after %v", r.Status, r.Account, r.Took)
				}
				time.Sleep(time.Second - time.Duration(time.Now().Nanosecond())) // a date has whole seconds
				w.Provider.Inject(home, sim.Rejected(messages.FiveHour).RetryAfter(c.value()).Times(1))
				if r := w.Request("s", simtest.PlainModel, true); r.Status != 200 || r.Account == home || w.State(home).Cooldown != c.cooldown {
					w.Errorf("rejection: %d by %s, cools down for %v", r.Status, r.Account, w.State(home).Cooldown)
				}
			})
		})
	}
}

// FO-2: a success clears the cooldowns that were set before its request was sent, and none that was set later.
func TestSuccessClearsWhatCameBefore(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		w.Provider.Inject("a", sim.SlowHeaders(30*time.Second).Times(1))
		slow := w.Begin(w.Context(), "s", simtest.PlainModel)
		time.Sleep(10 * time.Second)
		w.Provider.Inject("a", sim.Rejected(messages.FiveHour).RetryAfter("600").Times(1))
		if r := w.Request("s", simtest.PlainModel, true); r.Status != 429 {
			w.Fatalf("%d", r.Status)
		}
		if r := <-slow; r.Status != 200 || r.Err != nil {
			w.Fatalf("%d %v", r.Status, r.Err)
		}
		if got := w.State("a").Cooldown; got != 580*time.Second {
			w.Errorf("after a slow success it cools down for %v", got)
		}
		w.MustServe("s", simtest.PlainModel)
		if got := w.State("a").Cooldown; got != 0 {
			w.Errorf("after a success of a later request it cools down for %v", got)
		}
	})
}

// FO-2: only a Fable request's success clears the cooldown of the Fable week.
func TestSuccessAndTheFableWeek(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		w.Provider.Fill("a", messages.Fable, 1)
		if r := w.Request("s", simtest.FableModel, true); r.Status != 429 {
			w.Fatalf("%d", r.Status)
		}
		time.Sleep(time.Second)
		w.MustServe("s", simtest.PlainModel)
		if s := w.State("a"); s.Cooldown != 0 || s.In(claude.FableScope).Cooldown == 0 {
			w.Errorf("after another model's success: cools down for %v, for Fable for %v", s.Cooldown, s.In(claude.FableScope).Cooldown)
		}
		w.Provider.Fill("a", messages.Fable, 0.99)
		w.MustServe("s", simtest.FableModel)
		if s := w.State("a"); s.In(claude.FableScope).Cooldown != 0 {
			w.Errorf("after Fable's success it cools down for %v", s.In(claude.FableScope).Cooldown)
		}
	})
}

// FO-3, FO-4: a short cooldown does not shorten a long one, and a response about the request changes none.
func TestCooldownsNeverShorten(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		w.Provider.Inject("a", sim.Rejected(messages.SevenDay).RetryAfter("600").Times(1))
		w.Request("s", simtest.PlainModel, true)
		for _, f := range []sim.Fault{sim.Overloaded(), sim.ServerError(500), sim.Failure(400, messages.TypeInvalidRequest, "no"), sim.ModelForbidden()} {
			w.Provider.Inject("a", f.Times(1))
			w.Request("s", simtest.PlainModel, true)
			if got := w.State("a").Cooldown; got != 600*time.Second {
				w.Errorf("cools down for %v", got)
			}
		}
	})
}

// FO-12: a quota cooldown ends with the window that caused it, and as soon as the provider reports that the window is free.
func TestQuotaCooldownsEndWithTheirWindow(t *testing.T) {
	soon := sim.Window{ResetIn: 100 * time.Second}
	inWorld(t, sim.Config{Accounts: []sim.Account{{Name: "a", FiveHour: soon}, {Name: "b"}}}, poolOf(), func(w *world) {
		w.Provider.Inject("a", sim.Rejected(messages.FiveHour).RetryAfter("3600").Times(1))
		for w.State("a").Cooldown == 0 {
			w.Request("", simtest.PlainModel, true)
		}
		if got := w.State("a").Cooldown; got != 100*time.Second {
			w.Errorf("cools down for %v beyond the window", got)
		}
		time.Sleep(100 * time.Second)
		if s := w.State("a"); s.Cooldown != 0 || s.NearQuota {
			w.Errorf("after the reset: cools down for %v, near %v", s.Cooldown, s.NearQuota)
		}
	})
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		reading := func(utilization float64) {
			w.Provider.Inject("a", sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
				var l messages.RateLimit
				l.Windows[messages.FiveHour] = messages.WindowLimit{Utilization: utilization, HasUtilization: true}
				l.WriteTo(rw.Header())
				rw.WriteHeader(400)
			}).Times(1))
			time.Sleep(time.Second)
			w.Request("s", simtest.PlainModel, true)
		}
		w.Provider.Inject("a", sim.Rejected(messages.FiveHour).RetryAfter("600").Times(1))
		w.Request("s", simtest.PlainModel, true)
		reading(0.99)
		if s := w.State("a"); s.Cooldown != 599*time.Second || !s.NearQuota {
			w.Errorf("still full: cools down for %v, near %v", s.Cooldown, s.NearQuota)
		}
		reading(0.2)
		if s := w.State("a"); s.Cooldown != 0 || s.NearQuota {
			w.Errorf("free again: cools down for %v, near %v", s.Cooldown, s.NearQuota)
		}
	})
}

// FO-0, CHN-3b: the resend uses a new connection even if others are idle: they fail together.
func TestResendTrustsNoIdleConnection(t *testing.T) {
	resend := func(w *world) {
		w.Provider.Inject("", sim.SlowHeaders(time.Second).Times(4))
		var side []<-chan simtest.Reply
		for range 4 {
			side = append(side, w.Begin(w.Context(), "s", simtest.PlainModel))
		}
		for _, c := range side {
			<-c
		}
		before := w.Seen()
		w.Provider.Inject("", sim.ResetConnection().Times(1))
		w.MustServe("s", simtest.PlainModel)
		old := map[string]bool{}
		for _, r := range w.Provider.Requests()[:before] {
			old[r.Conn] = true
		}
		if again := w.Provider.Requests()[before:]; len(old) != 4 || len(again) != 2 || !old[again[0].Conn] || old[again[1].Conn] {
			w.Errorf("%d connections, then %d requests", len(old), len(again))
		}
		w.MustServe("s", simtest.PlainModel)
		if r := w.Received(); old[r.Conn] {
			w.Error("an idle connection lived on")
		}
	}
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), resend)
	inWorld(t, paid, singleOf(apiKey), resend)
}

// FO-8: the last real response is relayed, even if failures without one follow it, with its headers.
func TestLastRealResponse(t *testing.T) {
	t.Run("before failures without a response", func(t *testing.T) {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, poolOf(), func(w *world) {
			for _, f := range simtest.Faults(sim.Overloaded(), sim.ResetConnection(), sim.ResetConnection()) {
				w.Provider.Inject("", f.Times(1))
			}
			r := w.Request("s", simtest.PlainModel, true)
			if r.Status != 529 || r.Account != "" || r.Header.Get("Retry-After") != "3600" || r.Header.Get("X-Gateway-Upstream") != "anthropic" || !strings.Contains(r.Body, "Overloaded") {
				w.Errorf("%d by %q, %v: %s", r.Status, r.Account, r.Header, r.Body)
			}
			var reasons []string
			for _, rotation := range w.Last().Rotations {
				reasons = append(reasons, rotation.Reason)
			}
			if !slices.Equal(reasons, []string{"overloaded", "unreachable"}) || w.Last().Attempts != 3 {
				w.Errorf("record %+v", w.Last())
			}
		})
	})
	t.Run("compressed", func(t *testing.T) {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
			w.Provider.Inject("", sim.ServerError(503).Encoded("br").RetryAfter("9"))
			r := w.Request("s", simtest.PlainModel, false)
			var apiErr *sim.APIError
			if r.Status != 503 || r.Header.Get("Content-Encoding") != "br" || r.Header.Get("Retry-After") != "9" || !errors.As(r.Err, &apiErr) || apiErr.Message != "Internal server error" {
				w.Errorf("%d %v: %v", r.Status, r.Header, r.Err)
			}
		})
	})
	t.Run("large", func(t *testing.T) {
		const mebibyte = 1 << 20
		inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
			w.Provider.Inject("", sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("X-Sent", "yes")
				rw.Header().Set("X-Shunt-Account", "forged")
				rw.WriteHeader(500)
				io.WriteString(rw, "{"+strings.Repeat("0123456789abcdef", 3*mebibyte/16))
			}))
			got := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, false))
			if got.Status != 500 || got.Err != nil || len(got.Body) != mebibyte || got.Header.Get("X-Sent") != "yes" || got.Header["X-Shunt-Account"] != nil {
				w.Errorf("%d, %v, %d bytes, %v", got.Status, got.Err, len(got.Body), got.Header)
			}
		})
	})
}

// FO-10: a pool of one follows the same table.
func TestPoolOfOne(t *testing.T) {
	for _, c := range []struct {
		name     string
		faults   []sim.Fault
		status   int
		by       string
		calls    int
		cooldown time.Duration
		waited   time.Duration
	}{
		{"quota", simtest.Faults(sim.Rejected(messages.FiveHour).RetryAfter("90")), 429, "", 1, 90 * time.Second, 0},
		{"throttle, short", simtest.Faults(sim.Throttled("5")), 200, "a", 2, 0, 5 * time.Second},
		{"throttle twice", simtest.Faults(sim.Throttled("2"), sim.Throttled("7")), 429, "a", 2, 7 * time.Second, 2 * time.Second},
		{"throttle, long", simtest.Faults(sim.Throttled("60")), 200, "a", 2, 0, time.Minute},
		{"throttle, long, twice", simtest.Faults(sim.Throttled("30"), sim.Throttled("30")), 429, "a", 2, 30 * time.Second, 30 * time.Second},
		{"throttle, too long", simtest.Faults(sim.Throttled("61")), 429, "a", 1, 61 * time.Second, 0},
		{"401 once", simtest.Faults(sim.Unauthorized()), 200, "a", 2, 0, 0},
		{"401 twice", simtest.Faults(sim.Unauthorized(), sim.Unauthorized()), 502, "", 2, 300 * time.Second, 0},
		{"401, then throttle", simtest.Faults(sim.Unauthorized(), sim.Throttled("2")), 429, "", 2, 2 * time.Second, 0}, // FO-4: there is no account to rotate to
		{"529", simtest.Faults(sim.Overloaded()), 529, "", 1, 5 * time.Second, 0},
		{"500", simtest.Faults(sim.ServerError(502)), 502, "", 1, 2 * time.Second, 0}, // FO-0c: no other account served it
		{"403 of the credential", simtest.Faults(sim.CredentialForbidden()), 502, "", 1, 300 * time.Second, 0},
		{"reset once", simtest.Faults(sim.ResetConnection()), 200, "a", 2, 0, 0},
		{"reset twice", simtest.Faults(sim.ResetConnection(), sim.ResetConnection()), 502, "", 2, 2 * time.Second, 0},
		{"reset, then 401", simtest.Faults(sim.ResetConnection(), sim.Unauthorized()), 200, "a", 3, 0, 0},
		{"FO-11: overloaded stream", simtest.Faults(sim.ErrorStream(messages.TypeOverloaded)), 200, "", 1, 5 * time.Second, 0},
		{"400", simtest.Faults(sim.Failure(400, messages.TypeInvalidRequest, "no")), 400, "a", 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
				for _, f := range c.faults {
					w.Provider.Inject("a", f.Times(1))
				}
				r := w.Request("s", simtest.PlainModel, true)
				if r.Status != c.status || r.Account != c.by || len(w.Calls(0)) != c.calls || !simtest.Waited(r.Took, c.waited) {
					w.Errorf("%d by %q, %d calls, after %v", r.Status, r.Account, len(w.Calls(0)), r.Took)
				}
				if got := w.State("a").Cooldown; got != c.cooldown {
					w.Errorf("cools down for %v", got)
				}
				// SEL-11: it is tried again, whatever happened.
				w.MustServe("s", simtest.PlainModel)
			})
		})
	}
}

// The table: the Fable week of an account affects Fable requests only, until it resets.
func TestFableCooldown(t *testing.T) {
	week := sim.Window{ResetIn: 90 * time.Minute}
	inWorld(t, sim.Config{Accounts: []sim.Account{{Name: "a", Fable: week}, {Name: "b", Fable: week}}}, poolOf(), func(w *world) {
		home := w.MustServe("s", simtest.FableModel)
		w.Provider.Fill(home, messages.Fable, 1)
		other := w.MustServe("s", simtest.FableModel)
		before := w.Seen()
		if got := w.MustServe("s", simtest.PlainModel); other == home || got != home {
			w.Errorf("Fable by %s, another model by %s, home is %s", other, got, home)
		}
		if got := w.MustServe("s", "claude-FABLE-9"); got != other {
			w.Errorf("Fable in capitals by %s", got)
		}
		if calls := w.Calls(before); len(calls) != 2 {
			w.Errorf("calls %v", calls) // none failed
		}
		// The window's own status has the same effect when the cooldown is over.
		time.Sleep(70 * time.Minute)
		if got, s := w.MustServe("s", simtest.FableModel), w.State(home); got != other || s.In(claude.FableScope).Cooldown != 0 {
			w.Errorf("after the cooldown Fable by %s, %s cools down for %v", got, home, s.In(claude.FableScope).Cooldown)
		}
		time.Sleep(25 * time.Minute)
		if got := w.MustServe("s", simtest.FableModel); got != home {
			w.Errorf("after the week Fable by %s, home is %s", got, home)
		}
	})
}

// ACC-5: the failure of a pool without an account to try names the pool and what to do, and is final.
func TestEmptyPools(t *testing.T) {
	for _, c := range []struct {
		name     string
		setup    setup
		accounts int
		words    []string
	}{
		{"no account", poolOf(), 0, []string{"'anthropic'", "no account", "`shunt login claude --name NAME`"}},
		{"all disabled", poolOf(disabled("a"), disabled("b")), 2, []string{"'anthropic'", "disabled = true", "configuration"}},
	} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(c.accounts)}, c.setup, func(w *world) {
			for _, path := range []string{sim.MessagesPath, sim.CountTokensPath} {
				got := w.Send(path, simtest.Minimal, simtest.Body(simtest.PlainModel, true))
				kind, message, _ := messages.ParseError([]byte(got.Body))
				if got.Status != 503 || kind != messages.TypeAPI || got.Header.Get("X-Should-Retry") != "false" {
					w.Errorf("%s: %d %v %s", c.name, got.Status, got.Header, got.Body)
				}
				for _, word := range c.words {
					if !strings.Contains(message, word) {
						w.Errorf("%s: %q does not contain %q", c.name, message, word)
					}
				}
				if got.Header["X-Shunt-Account"] != nil || strings.Contains(message, w.Store) {
					w.Errorf("%s: %v %s", c.name, got.Header, message)
				}
			}
			if w.Seen() != 0 {
				w.Errorf("%s: %d calls", c.name, w.Seen())
			}
		})
	}
}
