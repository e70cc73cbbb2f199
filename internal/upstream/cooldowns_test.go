package upstream_test

import (
	"net/http"
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
