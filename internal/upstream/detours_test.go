package upstream_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// The rows of the long throttle, with other failures before the detour, on it and after it. The session's account is the
// first to receive the request.
func TestDetours(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults []sim.Fault // one for each request, of any account
		calls  int
		status int
		by     int // which of the accounts, in the order of their first requests; -1: none
		waited time.Duration
		moved  bool
	}{
		{"plain", simtest.Faults(sim.Throttled("30")), 2, 200, 1, 0, false},
		{"529 on it", simtest.Faults(sim.Throttled("30"), sim.Overloaded()), 3, 200, 2, 0, false},
		{"reset on it", simtest.Faults(sim.Throttled("30"), sim.ResetConnection(), sim.ResetConnection()), 4, 200, 2, 0, false},
		{"401 on it, refreshed", simtest.Faults(sim.Throttled("30"), sim.Unauthorized()), 3, 200, 1, 0, false},
		{"quota on it", simtest.Faults(sim.Throttled("30"), sim.Rejected(messages.FiveHour)), 3, 200, 2, 0, false},
		{"error stream on it", simtest.Faults(sim.Throttled("30"), sim.ErrorStream(messages.TypeOverloaded)), 3, 200, 2, 0, false},
		{"400 on it", simtest.Faults(sim.Throttled("30"), sim.Failure(400, messages.TypeInvalidRequest, "no")), 2, 400, 1, 0, false},
		{"throttle on it", simtest.Faults(sim.Throttled("30"), sim.Throttled("2")), 2, 429, 1, 0, false},
		{"529, then throttle on it", simtest.Faults(sim.Throttled("30"), sim.Overloaded(), sim.Throttled("9")), 3, 429, 2, 0, false},
		{"all others fail, home responds", simtest.Faults(sim.Throttled("30"), sim.Overloaded(), sim.Rejected(messages.FiveHour)), 4, 200, 0, 30 * time.Second, false},
		{"all others fail, home does too", simtest.Faults(sim.Throttled("30"), sim.Overloaded(), sim.Rejected(messages.FiveHour), sim.Overloaded()), 4, 429, -1, 30 * time.Second, false},
		{"all others fail, home throttles again", simtest.Faults(sim.Throttled("30"), sim.Overloaded(), sim.Rejected(messages.FiveHour), sim.Throttled("8")), 4, 429, 0, 30 * time.Second, false},
		{"all others fail, home needs a refresh", simtest.Faults(sim.Throttled("30"), sim.Overloaded(), sim.Rejected(messages.FiveHour), sim.Unauthorized()), 5, 200, 0, 30 * time.Second, false},
		{"all others fail, the wait is too long", simtest.Faults(sim.Throttled("61"), sim.Overloaded(), sim.Rejected(messages.FiveHour)), 3, 429, 0, 0, false},
		{"529 before it", simtest.Faults(sim.Overloaded(), sim.Throttled("30")), 3, 200, 2, 0, false},
		{"reset before it", simtest.Faults(sim.ResetConnection(), sim.ResetConnection(), sim.Throttled("30")), 4, 200, 2, 0, false},
		{"529 before it, quota on it", simtest.Faults(sim.Overloaded(), sim.Throttled("30"), sim.Rejected(messages.FiveHour)), 4, 200, 1, 30 * time.Second, true},
		{"529 before it and on it", simtest.Faults(sim.Overloaded(), sim.Throttled("30"), sim.ServerError(500)), 3, 429, -1, 0, false}, // FO-0a: two accounts
		{"reset once before it", simtest.Faults(sim.ResetConnection(), sim.Throttled("30")), 3, 200, 1, 0, false},
		{"reset once before it, short", simtest.Faults(sim.ResetConnection(), sim.Throttled("2")), 3, 200, 1, 0, false},
		{"reset once before it, all others fail", simtest.Faults(sim.ResetConnection(), sim.Throttled("30"), sim.Overloaded(), sim.Overloaded()), 4, 429, -1, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, poolOf(), func(w *world) {
				home := w.MustServe("s", simtest.PlainModel)
				before := w.Seen()
				for _, f := range c.faults {
					w.Provider.Inject("", f.Times(1))
				}
				r := w.Request("s", simtest.PlainModel, true)
				calls := w.Calls(before)
				order := []string{}
				for _, name := range calls {
					if !slices.Contains(order, name) {
						order = append(order, name)
					}
				}
				by := ""
				if c.by >= 0 && c.by < len(order) {
					by = order[c.by]
				}
				if r.Status != c.status || r.Account != by || !simtest.Waited(r.Took, c.waited) || len(calls) != c.calls || order[0] != home {
					w.Errorf("%d by %q after %v, calls %v", r.Status, r.Account, r.Took, calls)
				}
				if moved := w.Last().Move != nil; moved != c.moved {
					w.Errorf("moved: %+v", w.Last().Move)
				}
				time.Sleep(6 * time.Minute)
				if got := w.MustServe("s", simtest.PlainModel); got != home {
					w.Errorf("afterwards served by %s, home is %s", got, home)
				}
			})
		})
	}
}

// The last row of the long throttle: there is no detour to an account that cools down.
func TestNoDetourToAnAccountThatCoolsDown(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
		home := w.MustServe("s", simtest.PlainModel)
		for w.State("a").Cooldown+w.State("b").Cooldown == 0 {
			for _, name := range []string{"a", "b"} {
				if name != home {
					w.Provider.Inject(name, sim.ServerError(500).Times(1))
				}
			}
			w.Request("", simtest.PlainModel, true)
		}
		w.Provider.Clear("a")
		w.Provider.Clear("b")
		before := w.Seen()
		w.Provider.Inject(home, sim.Throttled("20").Times(1))
		r := w.Request("s", simtest.PlainModel, true)
		if calls := w.Calls(before); r.Status != 200 || r.Account != home || !simtest.Waited(r.Took, 20*time.Second) || len(calls) != 2 {
			w.Errorf("%d by %s after %v, calls %v", r.Status, r.Account, r.Took, calls)
		}
	})
}

// FO-0b, the rows of the long throttle: no wait for an account whose host has turned out to be down.
func TestNoWaitForAHostThatIsDown(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, poolOf(), func(w *world) {
		w.Provider.Inject("", sim.Throttled("30").Times(1))
		w.Provider.Inject("", sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
			w.Upstream.Close()
			panic(http.ErrAbortHandler)
		}).Times(1))
		r := w.Request("s", simtest.PlainModel, true)
		if r.Status != 429 || r.Took != 0 {
			w.Errorf("%d after %v: %s", r.Status, r.Took, r.Body)
		}
	})
}
