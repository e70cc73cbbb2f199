package app_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

// The rows of the long throttle, where accounts fail otherwise before the detour, on it and after it. The session's
// account is first in the order of calls.
func TestDetours(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults []sim.Fault // one a call, whoever is asked
		calls  int
		status int
		by     int // which of the accounts in the order they were first asked; -1: nobody
		waited time.Duration
		moved  bool
	}{
		{"plain", faults(sim.Throttled("30")), 2, 200, 1, 0, false},
		{"529 on it", faults(sim.Throttled("30"), sim.Overloaded()), 3, 200, 2, 0, false},
		{"reset on it", faults(sim.Throttled("30"), sim.ResetConnection(), sim.ResetConnection()), 4, 200, 2, 0, false},
		{"401 on it, refreshed", faults(sim.Throttled("30"), sim.Unauthorized()), 3, 200, 1, 0, false},
		{"quota on it", faults(sim.Throttled("30"), sim.Rejected(messages.FiveHour)), 3, 200, 2, 0, false},
		{"error stream on it", faults(sim.Throttled("30"), sim.ErrorStream(messages.TypeOverloaded)), 3, 200, 2, 0, false},
		{"400 on it", faults(sim.Throttled("30"), sim.Failure(400, messages.TypeInvalidRequest, "no")), 2, 400, 1, 0, false},
		{"throttle on it", faults(sim.Throttled("30"), sim.Throttled("2")), 2, 429, 1, 0, false},
		{"529, then throttle on it", faults(sim.Throttled("30"), sim.Overloaded(), sim.Throttled("9")), 3, 429, 2, 0, false},
		{"all others fail, home responds", faults(sim.Throttled("30"), sim.Overloaded(), sim.Rejected(messages.FiveHour)), 4, 200, 0, 30 * time.Second, false},
		{"all others fail, home does too", faults(sim.Throttled("30"), sim.Overloaded(), sim.Rejected(messages.FiveHour), sim.Overloaded()), 4, 429, -1, 30 * time.Second, false},
		{"all others fail, home throttles again", faults(sim.Throttled("30"), sim.Overloaded(), sim.Rejected(messages.FiveHour), sim.Throttled("8")), 4, 429, 0, 30 * time.Second, false},
		{"all others fail, home needs a refresh", faults(sim.Throttled("30"), sim.Overloaded(), sim.Rejected(messages.FiveHour), sim.Unauthorized()), 5, 200, 0, 30 * time.Second, false},
		{"all others fail, the wait is too long", faults(sim.Throttled("61"), sim.Overloaded(), sim.Rejected(messages.FiveHour)), 3, 429, 0, 0, false},
		{"529 before it", faults(sim.Overloaded(), sim.Throttled("30")), 3, 200, 2, 0, false},
		{"reset before it", faults(sim.ResetConnection(), sim.ResetConnection(), sim.Throttled("30")), 4, 200, 2, 0, false},
		{"529 before it, quota on it", faults(sim.Overloaded(), sim.Throttled("30"), sim.Rejected(messages.FiveHour)), 4, 200, 1, 30 * time.Second, true},
		{"529 before it and on it", faults(sim.Overloaded(), sim.Throttled("30"), sim.ServerError(500)), 3, 429, -1, 0, false}, // FO-0a: two accounts
		{"reset once before it", faults(sim.ResetConnection(), sim.Throttled("30")), 3, 200, 1, 0, false},
		{"reset once before it, short", faults(sim.ResetConnection(), sim.Throttled("2")), 3, 200, 1, 0, false},
		{"reset once before it, all others fail", faults(sim.ResetConnection(), sim.Throttled("30"), sim.Overloaded(), sim.Overloaded()), 4, 429, -1, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(3)}, poolOf(""), func(w *world) {
				home := w.mustServe("s", plainModel)
				before := w.seen()
				for _, f := range c.faults {
					w.provider.Inject("", f.Times(1))
				}
				r := w.ask("s", plainModel, true)
				calls := w.calls(before)
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
				if r.status != c.status || r.account != by || !waited(r.took, c.waited) || len(calls) != c.calls || order[0] != home {
					w.Errorf("%d by %q after %v, calls %v", r.status, r.account, r.took, calls)
				}
				if moved := w.last().Move != nil; moved != c.moved {
					w.Errorf("moved: %+v", w.last().Move)
				}
				time.Sleep(6 * time.Minute)
				if got := w.mustServe("s", plainModel); got != home {
					w.Errorf("afterwards served by %s, home is %s", got, home)
				}
			})
		})
	}
}

// The last row of the long throttle: accounts that rest are no way out of it.
func TestNoDetourToARestingAccount(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
		home := w.mustServe("s", plainModel)
		for w.state("a").Cooldown+w.state("b").Cooldown == 0 {
			for _, name := range []string{"a", "b"} {
				if name != home {
					w.provider.Inject(name, sim.ServerError(500).Times(1))
				}
			}
			w.ask("", plainModel, true)
		}
		w.provider.Clear("a")
		w.provider.Clear("b")
		before := w.seen()
		w.provider.Inject(home, sim.Throttled("20").Times(1))
		r := w.ask("s", plainModel, true)
		if calls := w.calls(before); r.status != 200 || r.account != home || !waited(r.took, 20*time.Second) || len(calls) != 2 {
			w.Errorf("%d by %s after %v, calls %v", r.status, r.account, r.took, calls)
		}
	})
}

// FO-0b, the rows of the long throttle: no wait for an account whose host has turned out to be down.
func TestNoWaitForAHostThatIsDown(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(3)}, poolOf(""), func(w *world) {
		w.provider.Inject("", sim.Throttled("30").Times(1))
		w.provider.Inject("", sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
			w.upstream.Close()
			panic(http.ErrAbortHandler)
		}).Times(1))
		r := w.ask("s", plainModel, true)
		if r.status != 429 || r.took != 0 {
			w.Errorf("%d after %v: %s", r.status, r.took, r.body)
		}
	})
}
