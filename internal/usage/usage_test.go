package usage_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/internal/account"
	"shunt/internal/dialect/messages"
	"shunt/internal/family/claude"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/sim"
)

// QUO-21: a poll sends the account's token, the two headers, and nothing that another program would send.
func TestPoll(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.runs(time.Second)
		calls := w.polls("a")
		if len(calls) != 1 {
			t.Fatalf("%d polls", len(calls))
		}
		if c := calls[0]; c.Method != http.MethodGet || c.Path != "/proxy/api/oauth/usage" || c.BodyLength != 0 || c.Host != "127.0.0.1:8001" {
			t.Errorf("%s %s to %s with %d bytes", c.Method, c.Path, c.Host, c.BodyLength)
		}
		want := http.Header{
			"Authorization": {"Bearer " + w.Provider.Token("a")}, "Anthropic-Beta": {"oauth-2025-04-20"}, "Anthropic-Version": {"2023-06-01"},
			"Accept": {"application/json"}, "User-Agent": {"shunt"}, "Accept-Encoding": {"gzip"}, "Connection": {"close"},
		}
		for name, values := range calls[0].Header {
			if !slices.Equal(values, want[name]) {
				t.Errorf("%s: %q, want %q", name, values, want[name])
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Errorf("missing: %v", want)
		}
	})
}

// QUO-22, QUO-23: the windows of the response reach the pool with their resets; no status does.
func TestReading(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.runs(time.Second)
		if got, want := w.used("claude", "a"), [...]float64{0.25, 0.5, 0.75}; got != want {
			t.Errorf("used %v, want %v", got, want)
		}
		s, limits := w.state("claude", "a"), w.Provider.Limits("a")
		for i, window := range limits.Windows {
			if reset, known := s.Reset(i); !known || reset.Unix() != window.Reset {
				t.Errorf("%v resets at %v, want %v", i, reset, window.Reset)
			}
			if status := s.Status(i); status != "" {
				t.Errorf("%v has the status %q", i, status)
			}
		}
		w.Provider.Fill("a", messages.FiveHour, 0.4)
		w.runs(interval * 12 / 10)
		if got := w.used("claude", "a")[claude.FiveHour]; got != 0.4 {
			t.Errorf("then used %v", got)
		}
	})
}

// The demo: intervals are measured on the poller's clock.
func TestIntervalOfAFastClock(t *testing.T) {
	inWorld(t, setting{accounts: 1, speed: 100}, func(w *world) {
		began := time.Now()
		w.runs(interval * 12 / 10)
		w.expect("a", 0, 300)
		if took := time.Since(began); took != interval*12/1000 {
			t.Errorf("that took %v", took)
		}
	})
}

// With many accounts and a short interval, all of them are polled.
func TestManyAccounts(t *testing.T) {
	inWorld(t, setting{accounts: 200, interval: time.Minute}, func(w *world) {
		w.runs(4 * time.Minute)
		for _, name := range w.Provider.Accounts() {
			if calls := w.polls(name); len(calls) < 3 {
				t.Errorf("%s was polled at %v", name, w.times(calls))
			}
		}
	})
}

// QUO-21: an account whose login can be refreshed is polled, even if it is paused. A setup token is not, in a variable or in a file.
func TestEligible(t *testing.T) {
	specs := []account.Spec{
		{Name: "a"},
		{Name: "env", TokenEnv: "SETUP"},
		{Name: "c"},
		{Name: "none"},
	}
	inWorld(t, setting{accounts: 4, specs: specs, before: func(w *world) {
		w.env["SETUP"] = w.Provider.SetupToken("b")
		w.Put("c", []byte(strings.Replace(string(w.Provider.Credentials("c")), "refreshToken", "other", 1)))
	}}, func(w *world) {
		w.pause("a")
		w.runs(2 * interval)
		w.expect("a", 0, 300)
		for _, name := range []string{"b", "c"} {
			w.expect(name)
		}
		if conditions := w.conditions(); conditions != nil {
			t.Errorf("conditions %q", conditions)
		}
		// A login that can be refreshed takes the place of one that cannot.
		w.Put("c", w.Provider.Credentials("c"))
		w.follow(map[string][]account.Spec{"claude": nil})
		w.runs(30 * time.Second)
		w.expect("c", 610) // the second of the three that are new by then
	})
}

func (w *world) pause(account string) {
	for _, s := range w.registry.Pool("claude").Snapshot() {
		if s.Name == account {
			w.registry.Pool("claude").Pause(s.Key, true)
		}
	}
}

// QUO-21: one poll serves all entries of an identity, in all its pools.
func TestOnePollPerIdentity(t *testing.T) {
	specs := []account.Spec{{Name: "a", UUID: "u-1"}, {Name: "alias", UUID: "u-1"}}
	inWorld(t, setting{accounts: 1, specs: specs, before: func(w *world) {
		w.Put("alias", w.Provider.Credentials("a"))
	}}, func(w *world) {
		w.follow(map[string][]account.Spec{"claude": specs, "other": {{Name: "a", UUID: "u-1"}}})
		w.reject("other", "a")
		w.runs(interval * 12 / 10)
		w.expect("a", 0, 300)
		for _, name := range []string{"claude", "other"} {
			if got := w.used(name, "a")[claude.FiveHour]; got != 0.25 {
				t.Errorf("%s knows %v", name, got)
			}
		}
		if s := w.registry.Pool("other").Snapshot()[0]; s.Cooldown != 0 {
			t.Errorf("FO-12: it still cools down for %v", s.Cooldown)
		}
	})
}

// reject makes a pool see its account rejected now.
func (w *world) reject(name, account string) {
	for _, s := range w.registry.Pool(name).Snapshot() {
		if s.Name == account {
			var signal quota.Signal
			signal.Windows[claude.FiveHour] = quota.WindowSignal{Status: "rejected"}
			w.registry.Pool(name).Observe(s.Key, pool.Outcome{Sent: w.clock.Now(), Event: pool.Rejected, Cooldown: time.Hour, Signal: signal})
		}
	}
}

// QUO-24: in a reload, an account that stays keeps its slot, a new one is polled at once and then in a slot of its own, and one
// that was removed is no longer polled.
func TestFollow(t *testing.T) {
	inWorld(t, setting{accounts: 3, specs: specsOf("a", "b")["claude"]}, func(w *world) {
		w.runs(100 * time.Second)
		w.follow(specsOf("b", "c"))
		w.runs(150 * time.Second)
		for range 50 {
			w.follow(specsOf("b", "c"))
		}
		w.runs(200 * time.Second)
		w.expect("a", 0)
		w.expect("b", 15, 315)
		w.expect("c", 100)
		w.runs(20 * time.Second)
		w.expect("c", 100, 465) // half an interval after b
		w.follow(nil)
		w.runs(2 * interval)
		w.expect("b", 15, 315)
	})
}

// QUO-21, QUO-24: an identity that is removed and returns is polled when it would have been, and not while it is removed.
func TestReturn(t *testing.T) {
	whole := map[string][]account.Spec{"claude": nil}
	inWorld(t, setting{accounts: 2}, func(w *world) {
		w.Provider.Inject("b", sim.Throttled("7200").On(sim.UsagePath).Times(1))
		w.runs(10 * time.Second)
		for range 20 {
			w.follow(nil)
			w.runs(5 * time.Second)
			w.follow(whole)
			w.runs(5 * time.Second)
		}
		w.expect("a", 0)
		w.runs(time.Hour)
		w.expect("b", 15)
		w.follow(nil)
		w.runs(2 * time.Hour)
		w.expect("b", 15)
		before := len(w.polls("a"))
		w.follow(whole)
		w.runs(interval/2 + time.Second)
		if a, b := len(w.polls("a"))-before, len(w.polls("b")); a != 1 || b != 2 {
			t.Errorf("after they returned, a was polled %d times, b %d times in all", a, b)
		}
	})
}

// An identity that is removed during a poll is not a condition, whatever the poll's result.
func TestRemovedDuringPoll(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.Provider.Inject("a", sim.Failure(500, messages.TypeAPI, "no").On(sim.UsagePath).After(5*time.Second))
		w.runs(30 * time.Minute)
		for calls := w.Provider.Requests(); calls[len(calls)-1].Outcome != sim.Running; calls = w.Provider.Requests() {
			w.runs(time.Second)
		}
		w.follow(nil)
		w.runs(time.Minute)
		if log := w.Log.String(); strings.Contains(log, "condition began") {
			t.Errorf("logged %s", log)
		}
	})
}

// The end does not wait for a response.
func TestEndDuringPoll(t *testing.T) {
	inWorld(t, setting{accounts: 2}, func(w *world) {
		w.Provider.Inject("", sim.Hang().On(sim.UsagePath))
		w.runs(time.Second)
		began := time.Now()
		w.stop()
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v", took)
		}
		if log := w.Log.String(); log != "" {
			t.Errorf("logged %s", log)
		}
	})
}
