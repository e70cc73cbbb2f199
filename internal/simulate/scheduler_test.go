package simulate

import (
	"testing"
	"time"

	"shunt/internal/family/claude"
	"shunt/internal/quota"
)

// play has a policy serve turns of one session by accounts that refuse as given, and returns those it tried.
func tries(s scheduler, at time.Duration, fableTurn bool, refuse map[int]quota.Set, resets [claude.WindowCount]time.Duration) (tried []int) {
	t := turn{at: at, fable: fableTurn}
	s.begin(&t, at)
	for {
		account, ok := s.next()
		if !ok {
			return append(tried, -1)
		}
		tried = append(tried, account)
		a := response{full: refuse[account], served: refuse[account] == 0, resets: resets}
		s.observe(account, &a)
		if a.served {
			return tried
		}
	}
}

// SIM-1: the choices of the simple policies. -1 is a 429 for the client.
func TestSimplePolicies(t *testing.T) {
	full, fableFull := quota.Of(five), quota.Of(fable)
	type step struct {
		at     time.Duration
		fable  bool
		refuse map[int]quota.Set
		want   []int
	}
	resets := [claude.WindowCount]time.Duration{2 * hour, 20 * hour, 10 * hour}
	for name, test := range map[string]struct {
		policy scheduler
		steps  []step
	}{
		FillFirst: {&fillFirst{newCooldowns(3)}, []step{
			{0, false, nil, []int{0}},
			{0, false, map[int]quota.Set{0: full}, []int{0, 1}},
			{hour, false, nil, []int{1}},
			{hour, true, map[int]quota.Set{1: fableFull}, []int{1, 2}},
			{hour, false, nil, []int{1}}, // Fable's cooldown is Fable's
			{2 * hour, false, nil, []int{0}},
			{2 * hour, true, map[int]quota.Set{0: full | fableFull, 2: full}, []int{0, 2, -1}},
			{3 * hour, true, nil, []int{2}},
			{10 * hour, true, nil, []int{0}},
		}},
		RoundRobin: {&roundRobin{cooldowns: newCooldowns(3)}, []step{
			{0, false, nil, []int{0}},
			{0, false, nil, []int{1}},
			{0, false, map[int]quota.Set{2: full}, []int{2, 0}},
			{hour, false, nil, []int{1}},
			{hour, false, nil, []int{0}}, // 2 cools down
			{2 * hour, false, nil, []int{1}},
			{2 * hour, false, nil, []int{2}},
			{3 * hour, false, map[int]quota.Set{0: full, 1: full, 2: full}, []int{0, 1, 2, -1}},
		}},
		StickyOnly: {&stickyOnly{homes: []int{1}, accounts: 3}, []step{
			{0, false, nil, []int{1}},
			{0, false, map[int]quota.Set{1: full}, []int{1, -1}},
			{0, false, nil, []int{1}},
		}},
		Random: {&anywhere{newCooldowns(3), random(1, 1)}, []step{
			{0, false, map[int]quota.Set{0: full, 1: full}, nil},
			{hour, false, nil, []int{2}},
			{hour, false, nil, []int{2}},
		}},
	} {
		for i, s := range test.steps {
			got := tries(test.policy, s.at, s.fable, s.refuse, resets)
			if s.want != nil && !equal(got, s.want) {
				t.Errorf("%s, step %d: tried %v, want %v", name, i, got, s.want)
			}
			if s.want == nil && got[len(got)-1] != 2 {
				t.Errorf("%s, step %d: tried %v", name, i, got)
			}
		}
	}
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// SEL-1, FO-12: the real scheduler is used as the gateway uses it: a session stays at the home of sticky-only, leaves it when
// it refuses, and returns when its window has reset.
func TestShuntPolicy(t *testing.T) {
	w := synthesize(small())
	s := newShunt(w, 0, planned(small()))
	p := newProvider(w.start, w.accounts)
	at := func(now time.Duration) int {
		p.advance(now)
		turn := turn{at: now, session: 3}
		s.begin(&turn, now)
		for {
			account, ok := s.next()
			if !ok {
				return -1
			}
			a := p.send(account, false, now)
			s.observe(account, &a)
			if a.served {
				return account
			}
		}
	}
	home := homes(w)[3]
	if got := at(0); got != home {
		t.Fatalf("served by %d, home is %d", got, home)
	}
	reset := p.accounts[home].windows[five].reset
	p.accounts[home].charge(p.accounts[home].windows[five].size, false)
	away := at(time.Minute)
	if away == home || away < 0 {
		t.Fatalf("served by %d, which is full", away)
	}
	if got := at(reset - time.Second); got != away {
		t.Errorf("served by %d before the reset, was with %d", got, away)
	}
	if got := at(reset); got != home {
		t.Errorf("served by %d after the reset, home is %d", got, home)
	}
	for i := range p.accounts {
		p.accounts[i].charge(1e12, true)
	}
	if got := at(reset + time.Second); got != -1 {
		t.Errorf("served by %d, although all are full", got)
	}
}

// SIM-1: a log may have requests without a session, and fewer or more sessions than there are accounts. Such requests take the
// accounts in turn.
func TestStickyOnlyWithoutSessions(t *testing.T) {
	for _, homes := range [][]int{nil, {0, 1, 0, 1, 0}} {
		s := &stickyOnly{homes: homes, accounts: 2}
		for i, want := range []int{1, 0, 1} {
			s.begin(&turn{session: -1}, 0)
			if got, ok := s.next(); !ok || got != want {
				t.Errorf("%d sessions, request %d: account %d, %v; want %d", len(homes), i, got, ok, want)
			}
		}
	}
}
