package pool_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/identity"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

// The scopes and windows of family "two".
const (
	big  quota.Scope = "big"
	fast quota.Scope = "fast"

	day, bigDay, fastHour = 0, 1, 2
)

// accountsOf are accounts of a family, of the same priority.
func accountsOf(family string, names ...string) []pool.Account {
	var all []pool.Account
	for _, name := range names {
		all = append(all, pool.Account{Name: name, Key: identity.OfAccount(family, name, ""), Soft: quota.Soft(quota.DefaultHard)})
	}
	return all
}

func rejection(scope quota.Scope, window int) pool.Outcome {
	o := pool.Outcome{Sent: time.Now(), Scope: scope, Event: pool.ScopeRejected, RejectedScope: scope, Cooldown: 30 * time.Minute}
	o.Signal.Windows[window].Status = "rejected"
	return o
}

// SEL-8, FO-2, FO-12: each scope has a cooldown of its own. What ends one leaves the others.
func TestCooldownsOfScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		soft := quota.Uniform(0.8)
		now := time.Now
		left := func(h pool.Health) (minutes [3]int) {
			for i, scope := range []quota.Scope{"", big, fast} {
				if until, _ := h.CooledUntil(scope, now()); !until.IsZero() {
					minutes[i] = int(until.Sub(now()) / time.Minute)
				}
			}
			return minutes
		}
		observe := func(h pool.Health, o pool.Outcome) pool.Health {
			time.Sleep(time.Minute)
			o.Sent = now()
			time.Sleep(time.Nanosecond)
			return pool.Observe(h, o, soft, now())
		}
		expect := func(what string, h pool.Health, want [3]int) {
			t.Helper()
			if got := left(h); got != want {
				t.Errorf("%s: minutes left are %v, want %v", what, got, want)
			}
		}
		h := pool.NewHealth(pool.Tables["two"])
		h = observe(h, rejection(big, bigDay))
		expect("one scope rejects", h, [3]int{0, 30, 0})
		if _, cause := h.CooledUntil(big, now()); cause.String() != "big_rejected" {
			t.Errorf("cause %q", cause)
		}
		h = observe(h, rejection(fast, fastHour))
		expect("the other rejects as well", h, [3]int{0, 28, 30})

		success := pool.Outcome{Event: pool.Success}
		expect("a request of neither succeeds", observe(h, success), [3]int{0, 27, 28})
		success.Scope = fast
		expect("a request of the second succeeds", observe(h, success), [3]int{0, 26, 0})

		low := pool.Outcome{}
		low.Signal.Windows[bigDay] = quota.WindowSignal{Utilization: 0.1, HasUtilization: true}
		expect("a newer reading of the first", observe(h, low), [3]int{0, 0, 26})

		whole := observe(h, pool.Outcome{Event: pool.Throttled, Cooldown: 10 * time.Minute})
		expect("the account is throttled", whole, [3]int{10, 24, 25})

		unknown := observe(h, pool.Outcome{Event: pool.ScopeRejected, RejectedScope: "slow", Cooldown: 40 * time.Minute})
		expect("a scope without windows rejects", unknown, [3]int{40, 40, 40})
		if _, cause := unknown.CooledUntil("", now()); cause != (pool.Cause{Event: pool.Rejected}) {
			t.Errorf("cause %v", cause)
		}
	})
}

// SEL-5, SEL-30: a session's requests of one scope move independently of the others.
func TestSessionOfThreeKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pool.NewTestRegistry().Pool("two")
		p.Configure(accountsOf("two", "a", "b", "c"), pool.Policy{})
		serve := func(scope quota.Scope) string {
			time.Sleep(time.Second)
			s := p.Begin(pool.Criteria{Session: 7, Scope: scope})
			c := next(t, s)
			s.Observe(c, pool.Outcome{Sent: time.Now(), Scope: scope, Event: pool.Success})
			s.Served(c, false)
			s.Release()
			return c.Name
		}
		key := func(name string) identity.Key { return identity.OfAccount("two", name, "") }
		home := serve("")
		p.Observe(key(home), rejection(big, bigDay))
		ofBig := serve(big)
		if ofBig == home {
			t.Fatalf("%s serves a scope that it rejects", home)
		}
		p.Observe(key(home), rejection(fast, fastHour))
		p.Observe(key(ofBig), rejection(fast, fastHour))
		ofFast := serve(fast)
		if ofFast == home || ofFast == ofBig {
			t.Fatalf("%s serves a scope that it rejects", ofFast)
		}
		want := []string{home, ofBig, ofFast, home, ofBig}
		if got := []string{serve(""), serve(big), serve(fast), serve(""), serve(big)}; !slices.Equal(got, want) {
			t.Errorf("then %v served, want %v", got, want)
		}
	})
}

// SEL-4b: a request of one scope whose tools may use the other goes first to accounts that are free in both.
func TestToolsOfAnotherScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accounts := accountsOf("two", "a", "b", "c")
		p := pool.NewTestRegistry().Pool("two")
		p.Configure(accounts, pool.Policy{})
		p.Observe(accounts[0].Key, rejection(fast, fastHour))
		p.Observe(accounts[1].Key, rejection(big, bigDay))
		for _, req := range []pool.Criteria{{Scope: fast, ToolScope: big}, {Scope: big, ToolScope: fast}} {
			if c := next(t, p.Begin(req)); c.Name != "c" || c.Group != pool.Free {
				t.Errorf("%+v: %s was chosen (%v)", req, c.Name, c.Group)
			}
		}
		s := p.Begin(pool.Criteria{Scope: fast, ToolScope: fast, Session: 1})
		next(t, s)
		if c := next(t, s); c.Detour {
			t.Errorf("%s is a detour, though the tools use nothing else", c.Name)
		}
	})
}

// A snapshot shows each scope of the account's family, and those only.
func TestSnapshotOfScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accounts := slices.Concat(accountsOf("two", "a"), accountsOf("plain", "b"), accountsOf("unknown", "c"))
		accounts[0].Caps = quota.Caps{At: quota.Uniform(0.5), Set: quota.Of(fastHour)}
		p := pool.NewTestRegistry().Pool("mixed")
		p.Configure(accounts, pool.Policy{})
		o := rejection(big, bigDay)
		o.Signal.Windows[fastHour] = quota.WindowSignal{Utilization: 0.6, HasUtilization: true, Reset: time.Now().Add(20 * time.Minute)}
		p.Observe(accounts[0].Key, o)
		all := p.Snapshot()
		want := []pool.ScopeStatus{
			{Scope: big, Group: pool.CoolingDown, Cooldown: 30 * time.Minute, Cause: pool.Cause{Event: pool.ScopeRejected, Scope: big}},
			{Scope: fast, Group: pool.Out, CappedUntil: time.Now().Add(20 * time.Minute)},
		}
		if a := all[0]; !slices.Equal(a.Scopes, want) || a.In(fast) != want[1] || a.Group != pool.Free || !a.Available {
			t.Errorf("a: %v %+v", a.Group, a.Scopes)
		}
		for _, s := range all[1:] {
			if len(s.Scopes) > 0 || s.In(big) != s.ScopeStatus || s.Group != pool.Free {
				t.Errorf("%s: %v %+v", s.Name, s.Group, s.Scopes)
			}
		}
	})
}

// SEL-10: without [server.pool] the longest window's reset orders free accounts, wherever it is in the table.
func TestOrderByTheLongestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const month, hours = 0, 1
		accounts := accountsOf("plain", "a", "b", "c")
		p := pool.NewTestRegistry().Pool("plain")
		p.Configure(accounts, pool.Policy{})
		for i, days := range []time.Duration{20, 5} {
			var o pool.Outcome
			o.Signal.Windows[month].Reset = time.Now().Add(days * 24 * time.Hour)
			o.Signal.Windows[hours].Reset = time.Now().Add(time.Duration(i+1) * time.Hour)
			p.Observe(accounts[i].Key, o)
		}
		var got []string
		for _, place := range p.Explain(pool.Criteria{Session: 1}).Places[1:] {
			got = append(got, place.Name)
		}
		want := slices.DeleteFunc([]string{"c", "b", "a"}, func(name string) bool { return !slices.Contains(got, name) })
		if !slices.Equal(got, want) {
			t.Errorf("after the home: %v, want %v", got, want)
		}
	})
}
