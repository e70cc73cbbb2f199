package pool_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"shunt/internal/identity"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func account(name string) pool.Account {
	return pool.Account{Name: name, Key: identity.OfAccount("claude", name, ""), Soft: quota.Soft(quota.DefaultHard)}
}

func accounts(names ...string) []pool.Account {
	var all []pool.Account
	for _, name := range names {
		all = append(all, account(name))
	}
	return all
}

func poolOf(accounts ...pool.Account) *pool.Pool {
	p := pool.NewTestRegistry().Pool("claude")
	p.Configure(accounts, pool.Policy{})
	return p
}

// next fails the test if no candidate is left.
func next(t *testing.T, s *pool.Selection) pool.Candidate {
	t.Helper()
	c, ok := s.Next(context.Background())
	if !ok {
		t.Fatal("no candidate")
	}
	return c
}

var failure = pool.Outcome{Event: pool.ServerError, Cooldown: time.Minute}

// ID-2: aliases are one candidate; which one represents them, and where.
func TestRepresentative(t *testing.T) {
	alias := func(name string, priority int, disabled bool) pool.Account {
		return pool.Account{Name: name, Key: identity.OfAccount("claude", "same", ""), Priority: priority, Disabled: disabled}
	}
	tests := []struct {
		name string
		list []pool.Account
		want []string
	}{
		{"the first listed", []pool.Account{alias("x", 0, false), account("a"), alias("y", 0, false)}, []string{"x", "a"}},
		{"the lowest priority", []pool.Account{alias("x", 2, false), account("a"), alias("y", 1, false), alias("z", 2, false)}, []string{"y", "a"}},
		{"an enabled one", []pool.Account{alias("x", 0, true), account("a"), alias("y", 9, false)}, []string{"y", "a"}},
		{"enabled stays before disabled", []pool.Account{alias("x", 9, false), alias("y", 0, true)}, []string{"x"}},
		{"all disabled", []pool.Account{alias("x", 1, true), alias("y", 0, true)}, []string{"y"}},
	}
	for _, tt := range tests {
		var got []string
		for _, s := range poolOf(tt.list...).Snapshot() {
			got = append(got, s.Name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// ID-2b: the representative has all names of its identity, and each of them finds it.
func TestAliases(t *testing.T) {
	alias := func(name string, priority int) pool.Account {
		return pool.Account{Name: name, Key: identity.OfAccount("claude", "same", ""), Priority: priority}
	}
	p := poolOf(alias("x", 2), account("a"), alias("y", 1))
	shown := map[string][]string{}
	for _, s := range p.Snapshot() {
		shown[s.Name] = s.Aliases
	}
	if diff := cmp.Diff(map[string][]string{"y": {"x", "y"}, "a": nil}, shown); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"x": "same", "y": "same", "a": "a"} {
		if key, ok := p.Identity(name); !ok || key != identity.OfAccount("claude", want, "") {
			t.Errorf("%s is %v, %v", name, key, ok)
		}
	}
	if key, ok := p.Identity("z"); ok {
		t.Errorf("z is %v", key)
	}
	p.Configure(accounts("a"), pool.Policy{})
	if _, ok := p.Identity("x"); ok {
		t.Error("a name that has left the pool is still known")
	}
}

// ID-1: two pools that list one identity share its state, and their own round robin and sessions.
func TestPoolsShareIdentities(t *testing.T) {
	r := pool.NewTestRegistry()
	one, two := r.Pool("one"), r.Pool("two")
	one.Configure(accounts("a", "b"), pool.Policy{})
	two.Configure(accounts("a", "c"), pool.Policy{})
	one.Observe(account("a").Key, failure)
	if c := next(t, two.Begin(pool.Criteria{})); c.Name != "c" || c.Why != pool.Cooled {
		t.Errorf("the other pool chose %s (%s)", c.Name, c.Why)
	}
	if c := next(t, one.Begin(pool.Criteria{})); c.Name != "b" {
		t.Errorf("the first turn went to %s", c.Name)
	}
	r.CredentialChanged(account("unheard of").Key)
	if r.Pool("one") != one || r.Pool("two") == one {
		t.Error("a name is not one pool")
	}
}

// CFG-50: a request that begins on an older roster uses its accounts and its policy; turns and live state are the pool's.
func TestRoster(t *testing.T) {
	p := pool.NewTestRegistry().Pool("claude")
	old := p.Configure(accounts("a", "b"), pool.Policy{})
	p.Configure(accounts("c"), pool.Policy{})
	if c := next(t, old.Begin(pool.Criteria{})); c.Name != "a" {
		t.Errorf("the first turn of the old roster went to %s", c.Name)
	}
	if c := next(t, p.Begin(pool.Criteria{})); c.Name != "c" {
		t.Errorf("the pool chose %s", c.Name)
	}
	old.Observe(account("a").Key, pool.Outcome{Event: pool.ServerError, Cooldown: time.Minute})
	s := old.Begin(pool.Criteria{})
	if c := next(t, s); c.Name != "b" {
		t.Errorf("the third turn went to %s", c.Name)
	}
	if c := next(t, s); c.Name != "a" || c.Group != pool.CoolingDown {
		t.Errorf("then %s (%v)", c.Name, c.Group)
	}
}

// TOK-7: a changed credential counts for every pool of the registry.
func TestCredentialChanged(t *testing.T) {
	r := pool.NewTestRegistry()
	p := r.Pool("claude")
	p.Configure(accounts("a"), pool.Policy{})
	p.Observe(account("a").Key, pool.Outcome{Event: pool.Unresolved, Cooldown: time.Minute})
	if p.Snapshot()[0].Available {
		t.Fatal("not cooled to begin with")
	}
	r.CredentialChanged(account("a").Key)
	if !p.Snapshot()[0].Available {
		t.Error("still cooled")
	}
}

// ACC-5: an empty pool and one whose accounts are all disabled have different verdicts.
func TestVerdict(t *testing.T) {
	off := account("b")
	off.Disabled = true
	for _, tt := range []struct {
		accounts []pool.Account
		verdict  pool.Verdict
		any      bool
	}{
		{nil, pool.Verdict{}, false},
		{[]pool.Account{off}, pool.Verdict{Disabled: 1}, false},
		{[]pool.Account{account("a"), off, account("a")}, pool.Verdict{}, true},
	} {
		p := poolOf(tt.accounts...)
		s := p.Begin(pool.Criteria{})
		_, any := s.Next(context.Background())
		if any != tt.any || s.Verdict() != tt.verdict {
			t.Errorf("%v: candidate %v, %+v", tt.accounts, any, s.Verdict())
		}
		for _, s := range p.Snapshot() {
			if s.Available == s.Disabled {
				t.Errorf("%v: disabled %v, available %v", s.Name, s.Disabled, s.Available)
			}
		}
		if _, any = p.Begin(pool.Criteria{Session: 1}).Next(context.Background()); any != tt.any {
			t.Errorf("%v: candidate %v with one", tt.accounts, any)
		}
	}
}

// 5-failover: a detour goes to an available account only, and the search for one marks none as tried.
func TestNextAvailable(t *testing.T) {
	p := poolOf(accounts("a", "b", "c")...)
	p.Observe(account("b").Key, failure)
	near := pool.Outcome{Event: pool.Success}
	near.Signal.Windows[pool.FiveHour] = quota.WindowSignal{Utilization: 1, HasUtilization: true}
	p.Observe(account("c").Key, near)
	s := p.Begin(pool.Criteria{})
	if c := next(t, s); c.Name != "a" {
		t.Fatalf("chose %s", c.Name)
	}
	if c, ok := s.NextAvailable(); !ok || c.Name != "c" || c.Group != pool.OverHard {
		t.Errorf("chose %+v, %v", c, ok)
	}
	if c, ok := s.NextAvailable(); ok {
		t.Errorf("%s is cooled", c.Name)
	}
	if c := next(t, s); c.Name != "b" || c.Group != pool.CoolingDown {
		t.Errorf("then chose %+v", c)
	}
}

// SEL-12: counters belong to the identity: a request counts when it is chosen, a rotation when the request continues elsewhere.
func TestSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := poolOf(accounts("a", "b", "c")...)
		s := p.Begin(pool.Criteria{})
		first := next(t, s)
		rejected := pool.Outcome{Sent: start, Event: pool.ScopeRejected, RejectedScope: pool.Fable, Cooldown: time.Hour, Scope: pool.Fable}
		rejected.Signal.Windows[pool.FableWeek] = quota.WindowSignal{Status: "rejected"}
		rejected.Signal.Windows[pool.FiveHour] = quota.WindowSignal{Utilization: 0.98, HasUtilization: true, Reset: start.Add(time.Hour)}
		p.Observe(first.Key, rejected)
		p.Observe(first.Key, failure)
		time.Sleep(10 * time.Second)
		next(t, s)
		p.Configure(accounts("a", "b", "c"), pool.Policy{})

		type line struct {
			Name                string
			Requests, Rotations uint64
			LastUsed            time.Duration
			Available, Near     bool
			Left, FableLeft     time.Duration
			Cause, FableCause   string
			Unseen              bool
		}
		var got []line
		for _, s := range p.Snapshot() {
			l := line{
				Name: s.Name, Requests: s.Requests, Rotations: s.Rotations, Available: s.Available, Near: s.NearQuota,
				Left: s.Cooldown, Cause: s.Cause.String(), FableLeft: s.In(pool.Fable).Cooldown, FableCause: s.In(pool.Fable).Cause.String(),
				Unseen: s.Quota.Unseen(),
			}
			if !s.LastUsed.IsZero() {
				l.LastUsed = s.LastUsed.Sub(start) + 1
			}
			got = append(got, l)
		}
		want := []line{
			{
				Name: "a", Requests: 1, Rotations: 1, LastUsed: 1, Near: true,
				Left: 50 * time.Second, Cause: "server_error", FableLeft: time.Hour - 10*time.Second, FableCause: "fable_rejected",
			},
			{Name: "b", Requests: 1, LastUsed: 10*time.Second + 1, Available: true, Unseen: true},
			{Name: "c", Available: true, Unseen: true},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		time.Sleep(time.Hour)
		if s := p.Snapshot()[0]; s.NearQuota || !s.Available {
			t.Errorf("QUO-14: the snapshot shows what has expired: %+v", s)
		}
	})
}

// SEL-30: concurrent requests of one session report one move, and one that fails reports none.
func TestMoveIsReportedOnce(t *testing.T) {
	p := poolOf(accounts("a", "b")...)
	req := pool.Criteria{Session: pool.SessionOf("a conversation")}
	s := p.Begin(req)
	home := next(t, s)
	if move, moved := s.Served(home, false); moved {
		t.Errorf("a new session moved: %+v", move)
	}
	p.Observe(home.Key, failure)
	left, right := p.Begin(req), p.Begin(req)
	away, same := next(t, left), next(t, right)
	move, moved := left.Served(away, false)
	if want := (pool.Move{From: home.Name, To: away.Name, Reason: pool.Cooled}); !moved || move != want {
		t.Errorf("got %+v, %v, want %+v", move, moved, want)
	}
	if move, moved := right.Served(same, false); moved {
		t.Errorf("the same move again: %+v", move)
	}
	if c := next(t, p.Begin(req)); c.Why != pool.LastServed {
		t.Errorf("then %s was chosen (%s)", c.Name, c.Why)
	}
}

// SEL-30: the reason for a move is that at the time of the choice, not of the response.
func TestReasonIsFromTheChoice(t *testing.T) {
	p := poolOf(accounts("a", "b")...)
	req := pool.Criteria{Session: pool.SessionOf("a conversation")}
	s := p.Begin(req)
	home := next(t, s)
	s.Served(home, false)
	p.Observe(home.Key, failure)
	s = p.Begin(req)
	away := next(t, s)
	p.Observe(home.Key, pool.Outcome{Sent: time.Now().Add(time.Second), Event: pool.Success})
	if move, moved := s.Served(away, false); !moved || move.Reason != pool.Cooled {
		t.Errorf("got %+v, %v", move, moved)
	}
}

// SEL-30: the memory of sessions is bounded; the least recently used is dropped first.
func TestSessionMemoryIsBounded(t *testing.T) {
	const limit = 100_000
	p := poolOf(accounts("a", "b")...)
	serve := func(session int) (pool.Move, bool) {
		s := p.Begin(pool.Criteria{Session: pool.Session(session)})
		return s.Served(next(t, s), false)
	}
	for i := range limit {
		serve(i + 1)
	}
	serve(1) // which makes it recently used
	serve(limit + 1)
	p.Configure(accounts("c"), pool.Policy{}) // so that every remembered session moves
	if _, moved := serve(1); !moved {
		t.Error("a session in use was forgotten")
	}
	if _, moved := serve(2); moved {
		t.Error("the least recently used session is still remembered")
	}
}

// Concurrent requests, reloads and snapshots, for the race detector.
func TestConcurrentUse(t *testing.T) {
	r := pool.NewTestRegistry()
	names := []string{"a", "b", "c", "d"}
	r.Pool("claude").Configure(accounts(names...), pool.Policy{})
	const workers, rounds = 8, 200
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				p := r.Pool("claude")
				s := p.Begin(pool.Criteria{Session: pool.SessionOf(fmt.Sprint(i % 7)), Scope: pool.FableIf(w%2 == 0)})
				c, ok := s.Next(context.Background())
				if !ok {
					t.Error("no candidate")
					return
				}
				p.Observe(c.Key, pool.Outcome{Sent: time.Now(), Event: pool.Event(i % 13), Cooldown: time.Millisecond})
				s.Served(c, i%5 == 0)
				switch i % 50 {
				case 0:
					p.Configure(accounts(names[w%3:]...), pool.Policy{})
				case 1:
					p.Snapshot()
					r.CredentialChanged(c.Key)
				}
			}
		})
	}
	wg.Wait()
	r.Pool("claude").Configure(accounts(names...), pool.Policy{})
	var requests uint64
	for _, s := range r.Pool("claude").Snapshot() {
		requests += s.Requests
	}
	if requests != workers*rounds {
		t.Errorf("%d requests counted of %d", requests, workers*rounds)
	}
}

// PAU-1, FO-13: an operation on an account that the pool does not have does nothing.
func TestControlOfAnUnknownAccount(t *testing.T) {
	r := pool.NewTestRegistry()
	p, other := r.Pool("claude"), r.Pool("other")
	p.Configure(accounts("a"), pool.Policy{})
	other.Configure(accounts("a", "b"), pool.Policy{})
	b := account("b").Key
	p.Observe(b, failure)
	if p.Pause(b, true) || p.ClearCooldown(b) {
		t.Error("it was found")
	}
	if s := other.Snapshot()[1]; s.Paused || s.Cooldown == 0 {
		t.Errorf("paused %v, cooled for %v", s.Paused, s.Cooldown)
	}
	if !p.Pause(account("a").Key, true) || !other.Snapshot()[0].Paused {
		t.Error("a pause belongs to the identity, in every pool")
	}
}

// SEL-31: there is one warning about a session that has moved, and none about one that has not.
func TestWarnMoved(t *testing.T) {
	p := poolOf(accounts("a", "b")...)
	req := pool.Criteria{Session: 1}
	serve := func() *pool.Selection {
		s := p.Begin(req)
		s.Served(next(t, s), false)
		return s
	}
	if s := serve(); s.Moved() || s.WarnMoved() {
		t.Error("a new session has not moved")
	}
	home := next(t, p.Begin(req))
	p.Observe(home.Key, failure)
	s := p.Begin(req)
	if away := next(t, s); s.Moved() {
		t.Errorf("moved before %s served it", away.Name)
	} else {
		s.Served(away, false)
	}
	if s = serve(); !s.Moved() || !s.WarnMoved() {
		t.Error("it has moved, with a request before")
	}
	if s.Moved() || s.WarnMoved() {
		t.Error("warned twice")
	}
	p.ClearCooldown(home.Key)
	if s := serve(); s.Moved() || s.WarnMoved() {
		t.Error("warned again when it went home")
	}
	if none := p.Begin(pool.Criteria{}); none.Moved() || none.WarnMoved() {
		t.Error("no session moves")
	}
}

// CAP-3, SEL-22: a snapshot has the end of an account's caps, by scope, and counts an account that is over its pace as near.
func TestSnapshotOfLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := poolOf()
		a := account("a")
		a.Caps = quota.Caps{At: quota.Thresholds{0.5, 0, 0.3}, Set: quota.Of(pool.FiveHour, pool.FableWeek)}
		b := account("b")
		p.Configure([]pool.Account{a, b}, pool.Policy{AvoidBurnRate: true})
		used := reading(0.6, time.Hour)
		used.Signal.Windows[pool.FableWeek] = quota.WindowSignal{Utilization: 0.4, HasUtilization: true, Reset: time.Now().Add(2 * time.Hour)}
		p.Observe(a.Key, used)
		p.Observe(b.Key, reading(0.6, 4*time.Hour))
		s := p.Snapshot()
		capped := s[0]
		if fable := capped.In(pool.Fable); capped.Group != pool.Out || fable.Group != pool.Out || capped.Available ||
			time.Until(capped.CappedUntil) != time.Hour || time.Until(fable.CappedUntil) != 2*time.Hour {
			t.Errorf("a: %v until %v, Fable %v until %v", capped.Group, capped.CappedUntil, fable.Group, fable.CappedUntil)
		}
		if near := s[1]; !near.NearQuota || near.Group != pool.Near || !near.Available || !near.CappedUntil.IsZero() || near.Headroom >= 0 {
			t.Errorf("b: near %v, %v, headroom %v", near.NearQuota, near.Group, near.Headroom)
		}
	})
}
