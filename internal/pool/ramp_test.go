package pool_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/pool"
	"shunt/internal/quota"
)

// gate is a pool whose accounts have priorities in the order of their names, and whose ramps begin with a number of requests.
type gate struct {
	*testing.T
	pool     *pool.Pool
	accounts []pool.Account
}

func inGate(t *testing.T, initial int, names string, test func(g *gate)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := &gate{T: t, pool: pool.NewTestRegistry().Pool("claude")}
		for i, name := range strings.Fields(names) {
			a := account(name)
			a.Priority = i
			g.accounts = append(g.accounts, a)
		}
		g.pool.Configure(g.accounts, pool.Policy{RampInitial: initial})
		test(g)
	})
}

// held is a request in flight.
type held struct {
	*pool.Selection
	pool.Candidate
	sent time.Time
}

// begin starts a request. The accounts are all near their quota, so their order is that of the names.
func (g *gate) begin() *held {
	h := &held{Selection: g.pool.Begin(pool.Criteria{Session: 1}), sent: time.Now()}
	h.next()
	return h
}

// next tries the next account; an empty name means that there is none.
func (h *held) next() string {
	h.Candidate, _ = h.Next(context.Background())
	return h.Name
}

func (g *gate) succeed(h *held) {
	g.pool.Observe(h.Key, pool.Outcome{Sent: h.sent, Event: pool.Success})
}

func (g *gate) status(name string) pool.Status {
	g.Helper()
	for _, s := range g.pool.Snapshot() {
		if s.Name == name {
			return s
		}
	}
	g.Fatalf("no account %s", name)
	return pool.Status{}
}

func (g *gate) expect(what, name string, inFlight, allowance int) {
	g.Helper()
	if s := g.status(name); s.InFlight != inFlight || s.Allowance != allowance {
		g.Errorf("%s: %s has %d in flight of %d, want %d of %d", what, name, s.InFlight, s.Allowance, inFlight, allowance)
	}
}

// nearAll makes every account near its quota, so that priority alone orders them.
func (g *gate) nearAll() {
	for _, a := range g.accounts {
		g.pool.Observe(a.Key, pool.Outcome{Sent: time.Now(), Signal: usedUp()})
	}
}

// RMP-1: n requests at first, twice as many after each success, from when its headers arrive.
func TestRampDoubles(t *testing.T) {
	inGate(t, 2, "a b", func(g *gate) {
		g.nearAll()
		first, second := g.begin(), g.begin()
		if third := g.begin(); first.Name != "a" || second.Name != "a" || third.Name != "b" {
			t.Fatalf("served by %s %s %s, want a a b", first.Name, second.Name, third.Name)
		}
		g.expect("two in flight", "a", 2, 2)
		g.succeed(first)
		g.expect("one success", "a", 2, 4)
		g.succeed(second)
		g.expect("two successes", "a", 2, 8)
		for range 6 {
			if h := g.begin(); h.Name != "a" {
				t.Fatalf("served by %s", h.Name)
			}
		}
		if h := g.begin(); h.Name != "b" {
			t.Errorf("the ninth is served by %s", h.Name)
		}
		for range 100 {
			g.succeed(first)
		}
		if s := g.status("a"); s.Allowance < 1_000_000 {
			t.Errorf("after a hundred successes: %d", s.Allowance)
		}
	})
}

// RMP-1: a cooldown restarts the ramp, and so does a minute without traffic; a response that takes longer is traffic.
func TestRampRestarts(t *testing.T) {
	inGate(t, 1, "a", func(g *gate) {
		h := g.begin()
		g.succeed(h)
		g.succeed(h)
		time.Sleep(10 * time.Minute)
		g.expect("a long response", "a", 1, 4)
		h.Release()
		time.Sleep(59 * time.Second)
		g.expect("just not idle", "a", 0, 4)
		time.Sleep(time.Second)
		g.expect("idle", "a", 0, 1)
		h = g.begin()
		g.expect("in use again", "a", 1, 1)
		g.succeed(h)
		g.expect("and it grows again", "a", 1, 2)
		for e := pool.Success + 1; e <= pool.Unresolved; e++ {
			g.pool.Observe(h.Key, pool.Outcome{Sent: time.Now(), Event: e, Cooldown: time.Second})
			g.expect(e.String(), "a", 1, 1)
			time.Sleep(2 * time.Second)
			g.pool.Observe(h.Key, pool.Outcome{Sent: time.Now(), Event: pool.Success})
			g.expect("a success after "+e.String(), "a", 1, 2)
		}
		g.pool.Observe(h.Key, pool.Outcome{Sent: time.Now(), Event: pool.None, Cooldown: time.Second})
		g.expect("a response that is not about the account", "a", 1, 2)
		g.pool.Observe(h.Key, pool.Outcome{Sent: time.Now(), Event: pool.Throttled})
		g.expect("a throttle without a cooldown", "a", 1, 2)
	})
}

// RMP-1: when the ramp restarts during a storm, the success of a request that was sent before does not open it at once.
func TestRampIgnoresOldSuccesses(t *testing.T) {
	inGate(t, 1, "a", func(g *gate) {
		var storm []*held
		for range 20 {
			storm = append(storm, g.begin())
		}
		time.Sleep(time.Second)
		g.pool.Observe(storm[0].Key, pool.Outcome{Sent: storm[0].sent, Event: pool.Overloaded, Cooldown: 5 * time.Second})
		for _, h := range storm[1:] {
			g.succeed(h)
			h.Release()
		}
		g.expect("after the storm", "a", 1, 1)
	})
}

// RMP-2: a denied account is passed over without a cooldown. The last available one is taken anyway, before any that cools down,
// and the denied ones are tried when the others have failed.
func TestRampDenies(t *testing.T) {
	inGate(t, 1, "a b c d", func(g *gate) {
		g.nearAll()
		g.pool.Observe(account("d").Key, pool.Outcome{Event: pool.ServerError, Cooldown: time.Hour})
		var names []string
		for range 5 {
			names = append(names, g.begin().Name)
		}
		if got := fmt.Sprint(names); got != "[a b c c c]" {
			t.Fatalf("served by %v, want a b c, and c over its allowance", got)
		}
		for _, name := range []string{"a", "b", "c"} {
			if s := g.status(name); s.Cooldown != 0 {
				t.Errorf("%s is cooled for %v", name, s.Cooldown)
			}
		}
		g.expect("over its allowance", "c", 3, 1)

		h := g.begin() // takes c, and fails everywhere
		tried := []string{h.Name}
		for h.next() != "" {
			tried = append(tried, h.Name)
		}
		if got := fmt.Sprint(tried); got != "[c b a d]" {
			t.Errorf("tried %v, want c b a d", got)
		}
		for _, name := range []string{"a", "b"} {
			g.expect("after the one that failed", name, 1, 1)
		}
	})
}

// RMP-2: a denied account whose ramp has opened since is no longer the last.
func TestRampRevisits(t *testing.T) {
	inGate(t, 1, "a b c", func(g *gate) {
		g.nearAll()
		onA, onB := g.begin(), g.begin()
		h := g.begin()
		if h.Name != "c" || h.Why != pool.Ramp || !h.Detour {
			t.Fatalf("served by %s for %q", h.Name, h.Why)
		}
		onA.Release()
		onB.Release()
		if h.next() != "a" || h.Detour {
			t.Errorf("then by %s, a detour: %v", h.Name, h.Detour)
		}
		if h.next() != "b" {
			t.Errorf("then by %s", h.Name)
		}
	})
}

// RMP-2: denied accounts come after all that were not tried yet, even if their ramps have opened.
func TestRampRevisitsLast(t *testing.T) {
	inGate(t, 1, "a b c", func(g *gate) {
		g.nearAll()
		onA := g.begin()
		h := g.begin()
		if h.Name != "b" {
			t.Fatalf("served by %s", h.Name)
		}
		onA.Release()
		if first, second, third := h.next(), h.next(), h.next(); first != "c" || second != "a" || third != "" {
			t.Errorf("then by %q %q %q", first, second, third)
		}
	})
}

// RMP-2: aliases share one gate, and so do pools.
func TestRampBelongsToTheIdentity(t *testing.T) {
	r := pool.NewTestRegistry()
	for _, provider := range []string{"one", "two"} {
		r.Pool(provider).Configure(accounts("a", "b"), pool.Policy{RampInitial: 1})
	}
	home := func(provider string) string {
		c, _ := r.Pool(provider).Begin(pool.Criteria{Session: 1}).Next(context.Background())
		return c.Name
	}
	if first, second := home("one"), home("two"); first == second {
		t.Errorf("both served by %s", first)
	}
}

// RMP-3: a slot is released once: by Release, by a move to another account, or if there is none.
func TestSlots(t *testing.T) {
	inGate(t, 1, "a b", func(g *gate) {
		g.nearAll()
		h := g.begin()
		g.expect("begun", "a", 1, 1)
		h.next()
		g.expect("went on", "a", 0, 1)
		g.expect("went on", "b", 1, 1)
		h.Release()
		h.Release()
		g.expect("released twice", "b", 0, 1)
		h = g.begin()
		h.next()
		if h.next() != "" {
			t.Fatal("a third account")
		}
		g.expect("found none", "b", 0, 1)
		h = g.begin()
		first := h.Candidate
		if _, ok := h.NextAvailable(); !ok {
			t.Fatal("no second account")
		}
		h.Resume(first)
		g.expect("resumed", "a", 1, 1)
		g.expect("resumed", "b", 0, 1)
		h.Release()
		g.expect("released", "a", 0, 1)
	})
}

// RMP-1: without a ramp there is no limit; a reload that sets one has counted the requests in flight.
func TestRampIsOff(t *testing.T) {
	inGate(t, 0, "a b", func(g *gate) {
		g.nearAll()
		for range 50 {
			if h := g.begin(); h.Name != "a" || h.Detour {
				t.Fatalf("served by %s", h.Name)
			}
		}
		g.expect("no ramp", "a", 50, 0)
		g.pool.Configure(g.accounts, pool.Policy{RampInitial: 3})
		g.expect("a ramp", "a", 50, 3)
		if h := g.begin(); h.Name != "b" {
			t.Errorf("served by %s", h.Name)
		}
	})
}

// SEL-30: a request that another account serves because of a ramp is a detour: the session stays where it was.
func TestRampDetour(t *testing.T) {
	inGate(t, 1, "a b", func(g *gate) {
		g.nearAll()
		h := g.begin()
		h.Served(h.Candidate, false)
		second := g.begin()
		if move, moved := second.Served(second.Candidate, false); moved || second.Name != "b" {
			t.Errorf("served by %s, moved: %+v", second.Name, move)
		}
		h.Release()
		third := g.begin()
		if move, moved := third.Served(third.Candidate, false); moved || third.Name != "a" {
			t.Errorf("then served by %s, moved: %+v", third.Name, move)
		}
	})
}

func usedUp() (sig quota.Signal) {
	sig.Windows[pool.FiveHour] = quota.WindowSignal{Utilization: 1, HasUtilization: true}
	return sig
}
