package app_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// report sends requests until the account has reported that this fraction of its five-hour window is used.
func (w *world) report(account string, used float64) {
	w.Helper()
	w.Provider.Fill(account, messages.FiveHour, used)
	for range 2 * len(w.Provider.Accounts()) {
		if w.MustServe("", simtest.PlainModel) == account {
			return
		}
	}
	w.Fatalf("nothing is served by %s", account)
}

// CAP-4: the response when every account is at its cap.
func TestEveryAccountIsAtItsCap(t *testing.T) {
	for _, c := range []struct {
		name    string
		resetIn time.Duration // of the account that comes back first, when the request is sent
		back    string
		final   bool
	}{
		{"within a minute", 42 * time.Second, "42 s", false},
		{"in a minute", 60 * time.Second, "1 min", false},
		{"in more than a minute", 61 * time.Second, "2 min", true},
	} {
		accounts := simtest.Accounts(2)
		accounts[0].FiveHour.ResetIn = time.Hour
		accounts[1].FiveHour.ResetIn = c.resetIn + 30*time.Second
		inWorld(t, sim.Config{Accounts: accounts}, apptest.Planned("default_max_utilization = 0.5", ""), func(w *world) {
			w.report("a", 0.6)
			w.report("b", 0.6)
			time.Sleep(time.Until(w.resetOf("b")) - c.resetIn)
			before := w.Seen()
			r := w.Request("s", simtest.PlainModel, true)
			message := "all selectable accounts for provider 'anthropic' are at their max_utilization cap for this request, the first is back in " + c.back
			if r.Status != http.StatusTooManyRequests || !strings.Contains(r.Body, `"rate_limit_error"`) || !strings.Contains(r.Body, message) {
				w.Errorf("%s: %d: %s", c.name, r.Status, r.Body)
			}
			w.Want(c.name+": retry-after", r.Header.Get("Retry-After"), strconv.Itoa(int(c.resetIn/time.Second)))
			w.Want(c.name+": final", r.Header.Get("X-Should-Retry") == "false", c.final)
			w.Want(c.name+": calls", w.Seen(), before)
			for key := range r.Header {
				if strings.HasPrefix(strings.ToLower(key), "anthropic-ratelimit") {
					w.Errorf("%s: quota headers in a response of shunt's own: %v", c.name, r.Header)
				}
			}
			w.Want(c.name+": record", w.Last().Error, message)

			// A fraction of a second is rounded up, and a wait is at least one.
			time.Sleep(c.resetIn - 1500*time.Millisecond)
			w.Want(c.name+": retry-after, 1.5 s before", w.Request("s", simtest.PlainModel, true).Header.Get("Retry-After"), "2")
			time.Sleep(1400 * time.Millisecond)
			w.Want(c.name+": retry-after, 0.1 s before", w.Request("s", simtest.PlainModel, true).Header.Get("Retry-After"), "1")
			time.Sleep(100 * time.Millisecond)
			w.Want(c.name+": served when it is back", w.MustServe("s", simtest.PlainModel), "b")
		})
	}
}

// resetOf is when the account's five-hour window resets, as far as shunt knows.
func (w *world) resetOf(account string) time.Time {
	w.Helper()
	s := w.State(account)
	reset, ok := s.Quota.Reset(0)
	if !ok {
		w.Fatalf("no reset of %s is known", account)
	}
	return reset
}

// CAP-1, CAP-2: an account's own cap needs no table; a session at a capped account moves, and goes home when a reload
// raises the cap.
func TestCapMovesASession(t *testing.T) {
	caps := func(limit string) string {
		var all string
		for _, name := range []string{"a", "b", "c"} {
			all += apptest.Listed(name, "max_utilization_5h = "+limit)
		}
		return apptest.PoolOf(all)
	}
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, caps("0.5"), func(w *world) {
		home := w.MustServe("s", simtest.PlainModel)
		w.Provider.Fill(home, messages.FiveHour, 0.55)
		w.Want("overshoots once", w.MustServe("s", simtest.PlainModel), home)
		other := w.MustServe("s", simtest.PlainModel)
		if other == home {
			w.Fatalf("still served by %s", home)
		}
		w.Want("moves", strings.Join(w.Moves(), ", "), home+">"+other+" capped")
		w.Want("in the record", w.Last().Why, "capped")
		w.Reload(caps("0.8"))
		w.Want("after the reload", w.MustServe("s", simtest.PlainModel), home)
		w.Want("moves", strings.Join(w.Moves(), ", "), home+">"+other+" capped, "+other+">"+home+" returned")
	})
}

// CAP-2, CAP-4: accounts that failed are no matter of caps, though all others are capped: the client sees the failure.
func TestCapIsNoExcuseForAFailure(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.Planned("default_max_utilization = 0.5", ""), func(w *world) {
		w.report("a", 0.6)
		w.Provider.Inject("b", sim.Overloaded().Times(1))
		w.Want("status", w.Request("", simtest.PlainModel, true).Status, 529)
	})
}
