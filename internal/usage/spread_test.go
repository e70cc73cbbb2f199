package usage_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"shunt/internal/account"
	"shunt/internal/family/claude"
	"shunt/internal/sim"
)

// pollTimes are the times of all polls after the poller began, whole milliseconds, in order.
func (w *world) pollTimes() (times []time.Duration) {
	for _, r := range w.Provider.Requests() {
		if r.Path == "/proxy"+sim.UsagePath {
			times = append(times, r.Received.Sub(w.began).Truncate(time.Millisecond))
		}
	}
	return times
}

// distances are the distances between neighbors, which lie in the order of the polls.
func distances(times []time.Duration) (gaps []time.Duration) {
	for i := 1; i < len(times); i++ {
		gaps = append(gaps, times[i]-times[i-1])
	}
	return gaps
}

// evenly fails unless each distance is the wanted one, give or take a millisecond.
func (w *world) evenly(what string, times []time.Duration, want time.Duration) {
	w.Helper()
	for i, gap := range distances(times) {
		if (gap - want).Abs() > time.Millisecond {
			w.Errorf("%s: %v between polls %d and %d, want %v: %v", what, gap, i, i+1, want, times)
			return
		}
	}
}

// onceAnInterval fails if an account was polled twice in an interval (QUO-21).
func (w *world) onceAnInterval(every time.Duration) {
	w.Helper()
	for _, name := range w.Provider.Accounts() {
		calls := w.polls(name)
		for i := 1; i < len(calls); i++ {
			if gap := calls[i].Received.Sub(calls[i-1].Received); gap < every-time.Millisecond {
				w.Errorf("%s was polled again after %v", name, gap)
			}
		}
	}
}

// specsOf lists accounts of the store.
func specsOf(names ...string) map[string][]account.Spec {
	var specs []account.Spec
	for _, name := range names {
		specs = append(specs, account.Spec{Name: name})
	}
	return map[string][]account.Spec{"claude": specs}
}

// QUO-20, QUO-24: the first polls of N accounts take 30 s or N times 0.5 s, whichever is longer; after those, two polls are
// always interval / N apart, and each account is polled once an interval.
func TestSpread(t *testing.T) {
	for _, c := range []struct {
		accounts int
		every    time.Duration
		first    time.Duration // between the first polls
	}{
		{1, time.Minute, 30 * time.Second},
		{2, time.Minute, 15 * time.Second},
		{2, 2 * time.Hour, 15 * time.Second},
		{10, time.Minute, 3 * time.Second},
		{10, 5 * time.Minute, 3 * time.Second},
		{100, time.Minute, 500 * time.Millisecond},
		{100, 5 * time.Minute, 500 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%d every %v", c.accounts, c.every), func(t *testing.T) {
			inWorld(t, setting{accounts: c.accounts, interval: c.every}, func(w *world) {
				w.runs(6*c.every - time.Millisecond)
				all := w.pollTimes()
				if len(all) < c.accounts || all[0] != 0 {
					t.Fatalf("polls %v", all)
				}
				first, rest := all[:c.accounts], all[c.accounts:]
				w.evenly("the first round", first, c.first)
				w.evenly("the following rounds", rest, c.every/time.Duration(c.accounts))
				if rest[0] != c.every || len(rest) != 5*c.accounts {
					t.Errorf("%d further polls, the first after %v", len(rest), rest[0])
				}
				w.onceAnInterval(c.every)
			})
		})
	}
}

// QUO-24: with more accounts than an interval has room for, all are polled, and no two at once.
func TestSpreadOfVeryMany(t *testing.T) {
	inWorld(t, setting{accounts: 200, interval: time.Minute}, func(w *world) {
		w.runs(5 * time.Minute)
		for _, name := range w.Provider.Accounts() {
			if calls := w.polls(name); len(calls) < 3 {
				t.Errorf("%s was polled at %v", name, w.times(calls))
			}
		}
		if gap := slices.Min(distances(w.pollTimes())); gap < 299*time.Millisecond {
			t.Errorf("%v between two polls", gap)
		}
		w.onceAnInterval(time.Minute)
	})
}

// QUO-24: a reload moves no slot. A new account is polled at once, and from then on the polls are as evenly spread as if it had
// always been there; so they are after accounts were removed.
func TestSpreadAfterChanges(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
	inWorld(t, setting{accounts: 12, specs: specsOf(names[:10]...)["claude"]}, func(w *world) {
		w.runs(2*interval - time.Second)
		for range 100 { // within the round from 600 s on
			w.follow(specsOf(names[:10]...))
			w.runs(time.Second)
		}
		w.runs(interval - 100*time.Second)
		w.evenly("ten accounts, with reloads", w.pollTimes()[10:], interval/10)

		before := len(w.pollTimes())
		w.follow(specsOf(names[:11]...))
		w.runs(time.Second)
		if calls := w.polls("k"); len(calls) != 1 {
			t.Errorf("the new account was polled %d times", len(calls))
		}
		w.runs(3 * interval)
		w.evenly("eleven accounts", w.pollTimes()[before+1:], interval/11)

		w.follow(specsOf(names...)) // and another, in the middle of a round
		w.runs(20 * interval)
		all := w.pollTimes()
		w.evenly("twelve accounts", all[len(all)-200:], interval/12)

		w.follow(specsOf("a", "b", "g")) // neighbors stay, and one that is far from them
		before = len(w.pollTimes())
		w.runs(5 * interval)
		w.evenly("three accounts", w.pollTimes()[before:], interval/3)
		w.onceAnInterval(interval)
		if gap := slices.Min(distances(w.pollTimes())); gap < 499*time.Millisecond {
			t.Errorf("%v between two polls", gap)
		}
	})
}

// QUO-24: accounts that come and go with every reload do not keep others from being polled.
func TestSpreadWithRestlessAccounts(t *testing.T) {
	inWorld(t, setting{accounts: 3, interval: time.Minute}, func(w *world) {
		for range 200 {
			w.follow(specsOf("a", "b"))
			w.runs(3 * time.Second)
			w.follow(specsOf("a", "b", "c"))
			w.runs(3 * time.Second)
		}
		for _, name := range w.Provider.Accounts() {
			if n := len(w.polls(name)); n < 14 || n > 20 {
				t.Errorf("%s was polled %d times in 20 minutes", name, n)
			}
		}
		w.onceAnInterval(time.Minute)
	})
}

// QUO-24: a failed poll moves no other one. An account that has to wait is polled in its own slot again, even if accounts were
// added or removed meanwhile. A 429 of the usage endpoint does not affect routing.
func TestSpreadWithFailures(t *testing.T) {
	inWorld(t, setting{accounts: 10}, func(w *world) {
		w.runs(interval - time.Second)
		w.Provider.Inject("c", usageFault(sim.Throttled("1000")).Times(1))
		w.Provider.Inject("d", usageFault(sim.ServerError(500)).Times(1))
		w.Provider.Inject("e", usageFault(sim.Rejected(0, 1, 2).RetryAfter("3600")).Times(1))
		w.runs(interval)
		for _, s := range w.registry.Pool("claude").Snapshot() {
			if !s.Available || s.Cooldown != 0 || s.In(claude.FableScope).Cooldown != 0 || s.NearQuota {
				t.Errorf("%s: available %v, cooldown %v, near quota %v", s.Name, s.Available, s.Cooldown, s.NearQuota)
			}
		}
		w.runs(4*interval + 2*time.Second) // at 1801 s
		w.expect("a", 0, 300, 600, 900, 1200, 1500, 1800)
		w.expect("b", 3, 330, 630, 930, 1230, 1530)
		w.expect("c", 6, 360, 1560)
		w.expect("d", 9, 390, 990, 1290, 1590)
		w.expect("e", 12, 420)
		names := w.Provider.Accounts()
		w.follow(specsOf(names[:9]...)) // j is removed
		w.runs(10 * interval)
		if calls := w.times(w.polls("e")); len(calls) < 3 || calls[2] < 420+3600 || calls[2] > 420+3600+300 {
			t.Errorf("e was polled at %v", calls)
		}
		all := w.pollTimes()
		w.evenly("afterwards", all[len(all)-9:], interval/9)
	})
}
