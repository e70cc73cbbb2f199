package pool_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/pool"
	"shunt/internal/quota"
)

// queue starts requests that may have to wait, and records the order in which they continue.
type queue struct {
	*gate
	ctx    context.Context
	mu     sync.Mutex
	served []string // "3 a": the third request, by a
	held   []*held
}

func (q *queue) start() {
	h := &held{Selection: q.pool.Begin(pool.Criteria{Session: 1}), sent: time.Now()}
	q.held = append(q.held, h)
	n := len(q.held)
	go func() {
		c, ok := h.Next(q.ctx)
		q.mu.Lock()
		defer q.mu.Unlock()
		h.Candidate = c
		name := c.Name
		if !ok {
			name = "none"
		}
		q.served = append(q.served, fmt.Sprint(n, " ", name))
	}()
	synctest.Wait()
}

func (q *queue) expectServed(what, want string) {
	q.Helper()
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	if got := strings.Join(q.served, ", "); got != want {
		q.Errorf("%s: served %q, want %q", what, got, want)
	}
}

// RMP-2: requests wait for a slot in arrival order, on any account; a doubled allowance is a slot as well.
func TestRampQueue(t *testing.T) {
	inGate(t, 1, "a b", func(g *gate) {
		g.nearAll()
		q := &queue{gate: g, ctx: g.Context()}
		for range 7 {
			q.start()
		}
		q.expectServed("two accounts of one", "1 a, 2 b")
		q.held[1].Release()
		q.expectServed("b is free", "1 a, 2 b, 3 b")
		q.held[0].Release()
		q.expectServed("a is free", "1 a, 2 b, 3 b, 4 a")
		g.succeed(q.held[3])
		q.expectServed("a takes two", "1 a, 2 b, 3 b, 4 a, 5 a")
		g.expect("within its allowance", "a", 2, 2)
		g.pool.Observe(account("b").Key, pool.Outcome{Sent: time.Now(), Event: pool.Success})
		q.expectServed("b takes two", "1 a, 2 b, 3 b, 4 a, 5 a, 6 b")
		q.start()
		q.held[4].Release()
		q.expectServed("the last of those that came first", "1 a, 2 b, 3 b, 4 a, 5 a, 6 b, 7 a")
		q.held[5].Release()
		q.expectServed("and the one that came after them", "1 a, 2 b, 3 b, 4 a, 5 a, 6 b, 7 a, 8 b")
	})
}

// RMP-2: after at most ten seconds the last account is taken over its allowance; not all at the same moment.
func TestRampQueueEnds(t *testing.T) {
	inGate(t, 1, "a", func(g *gate) {
		q := &queue{gate: g, ctx: g.Context()}
		for range 20 {
			q.start()
		}
		time.Sleep(8*time.Second - 1)
		q.expectServed("before", "1 a")
		time.Sleep(time.Second)
		synctest.Wait()
		q.mu.Lock()
		n := len(q.served)
		q.mu.Unlock()
		if n < 2 || n > 19 {
			t.Errorf("%d go on at once", n)
		}
		time.Sleep(time.Second + 1)
		synctest.Wait()
		g.expect("after ten seconds", "a", 20, 1)
	})
}

// RMP-2: a request waits ten seconds in total, for any number of accounts that it tries.
func TestRampQueueOncePerRequest(t *testing.T) {
	inGate(t, 1, "a b c", func(g *gate) {
		g.nearAll()
		for range 3 {
			g.begin()
		}
		began := time.Now()
		h := g.begin()
		for h.next() != "" {
		}
		if waited := time.Since(began); waited < 8*time.Second || waited > 10*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

// RMP-2: a client that disconnects gives up its place and its slot.
func TestRampQueueGivesUp(t *testing.T) {
	inGate(t, 1, "a", func(g *gate) {
		ctx, leave := context.WithCancel(g.Context())
		q := &queue{gate: g, ctx: ctx}
		q.start()
		q.start()
		leave()
		q.expectServed("left", "1 a, 2 none")
		q.ctx = g.Context()
		q.start()
		q.held[0].Release()
		q.expectServed("the next in line", "1 a, 2 none, 3 a")
		g.expect("one in flight", "a", 1, 1)
	})
}

// RMP-2: a request does not wait for an account that cools down, but does for one that recovers.
func TestRampQueueFollowsTheAccounts(t *testing.T) {
	inGate(t, 1, "a b", func(g *gate) {
		g.nearAll()
		q := &queue{gate: g, ctx: g.Context()}
		b := account("b").Key
		g.pool.Observe(b, pool.Outcome{Event: pool.Overloaded, Cooldown: 5 * time.Second})
		for range 3 {
			q.start()
		}
		time.Sleep(5*time.Second - time.Nanosecond)
		q.expectServed("b is cooled", "1 a")
		time.Sleep(time.Nanosecond)
		q.expectServed("b has recovered", "1 a, 2 b")
		g.pool.Observe(b, pool.Outcome{Sent: time.Now(), Event: pool.Overloaded, Cooldown: time.Hour})
		q.expectServed("a is still worth waiting for", "1 a, 2 b")
		g.pool.Observe(account("a").Key, pool.Outcome{Sent: time.Now(), Event: pool.Throttled, Cooldown: time.Minute})
		q.expectServed("none is", "1 a, 2 b, 3 a")
	})
}

// RMP-2: fifty concurrent requests for one account do not all land on it: each success admits more of them.
func TestFiftyAtOnce(t *testing.T) {
	inGate(t, 2, "a", func(g *gate) {
		var most atomic.Int64
		for range 50 {
			go func() {
				h := g.begin()
				s := g.status("a")
				if s.InFlight > s.Allowance {
					t.Errorf("%d in flight of %d", s.InFlight, s.Allowance)
				}
				for old := most.Load(); int64(s.InFlight) > old && !most.CompareAndSwap(old, int64(s.InFlight)); old = most.Load() {
				}
				time.Sleep(time.Second)
				g.succeed(h)
				h.Release()
			}()
		}
		synctest.Wait()
		g.expect("at first", "a", 2, 2)
		time.Sleep(7 * time.Second)
		if s := g.status("a"); s.Requests != 50 || s.InFlight != 0 || most.Load() < 8 {
			t.Errorf("%d served, %d in flight, at most %d at once", s.Requests, s.InFlight, most.Load())
		}
	})
}

// FO-6: a wait ends as soon as another account is available, for any reason, or at its time if none is.
func TestWait(t *testing.T) {
	const wait = 40 * time.Second
	b, c := account("b").Key, account("c").Key
	cooled := pool.Outcome{Event: pool.Throttled, Cooldown: time.Hour}
	rejected := pool.Outcome{Event: pool.Rejected, Cooldown: time.Hour, Signal: reading(1, 2*time.Hour).Signal}
	rejected.Signal.Windows[pool.FiveHour].Status = "rejected"
	for name, tt := range map[string]struct {
		before func(p *pool.Pool)
		after  func(r *pool.Registry, p *pool.Pool) // ten seconds
		want   string
		waited time.Duration
	}{
		"nothing happens":        {want: "", waited: wait},
		"one is available":       {before: func(p *pool.Pool) { p.ClearCooldown(b) }, want: "b"},
		"a cooldown that ends":   {before: func(p *pool.Pool) { p.ClearCooldown(b); p.Observe(b, failure30) }, want: "b", waited: 30 * time.Second},
		"one that ends too late": {before: func(p *pool.Pool) { p.ClearCooldown(b); p.Observe(b, failure) }, waited: wait},
		"a success": {after: func(_ *pool.Registry, p *pool.Pool) {
			p.Observe(c, pool.Outcome{Sent: time.Now(), Event: pool.Success})
		}, want: "c", waited: 10 * time.Second},
		"a reading": {
			before: func(p *pool.Pool) { p.ClearCooldown(b); p.Observe(b, rejected) },
			after:  func(_ *pool.Registry, p *pool.Pool) { p.Observe(b, reading(0.1, time.Hour)) },
			want:   "b", waited: 10 * time.Second,
		},
		"a poll": {
			before: func(p *pool.Pool) { p.ClearCooldown(b); p.Observe(b, rejected) },
			after: func(_ *pool.Registry, p *pool.Pool) {
				var u quota.Usage
				u.Windows[pool.FiveHour] = quota.WindowUsage{Utilization: 0.1, Has: true}
				p.ObserveUsage(b, u, time.Now())
			},
			want: "b", waited: 10 * time.Second,
		},
		"an operator's clear": {after: func(_ *pool.Registry, p *pool.Pool) { p.ClearCooldown(c) }, want: "c", waited: 10 * time.Second},
		"a resume": {
			before: func(p *pool.Pool) { p.ClearCooldown(b); p.Pause(b, true) },
			after:  func(_ *pool.Registry, p *pool.Pool) { p.Pause(b, false) },
			want:   "b", waited: 10 * time.Second,
		},
		"a new credential": {
			before: func(p *pool.Pool) {
				p.ClearCooldown(b)
				p.Observe(b, pool.Outcome{Event: pool.LoginNeeded, Cooldown: 5 * time.Second})
			},
			after: func(r *pool.Registry, _ *pool.Pool) { r.CredentialChanged(b) },
			want:  "b", waited: 10 * time.Second,
		},
		"a login that is needed": {
			before: func(p *pool.Pool) {
				p.ClearCooldown(b)
				p.Observe(b, pool.Outcome{Event: pool.LoginNeeded, Cooldown: 5 * time.Second})
			},
			waited: wait,
		},
		"the one that was tried": {after: func(_ *pool.Registry, p *pool.Pool) { p.ClearCooldown(account("a").Key) }, waited: wait},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := pool.NewTestRegistry()
				p := r.Pool("claude")
				p.Configure(accounts("a", "b", "c"), pool.Policy{})
				s := p.Begin(pool.Criteria{})
				first := next(t, s)
				for _, key := range []string{"a", "b", "c"} {
					p.Observe(account(key).Key, cooled)
				}
				if tt.before != nil {
					tt.before(p)
				}
				if tt.after != nil {
					go func() {
						time.Sleep(10 * time.Second)
						tt.after(r, p)
					}()
				}
				began := time.Now()
				c, ok := s.Wait(t.Context(), began.Add(wait))
				if got := time.Since(began); c.Name != tt.want || ok != (tt.want != "") || got != tt.waited {
					t.Errorf("%q, %v after %v; want %q after %v", c.Name, ok, got, tt.want, tt.waited)
				}
				inFlight := map[string]int{}
				for _, status := range p.Snapshot() {
					inFlight[status.Name] = status.InFlight
				}
				holds := c.Name
				if !ok {
					holds = first.Name
				}
				if inFlight[holds] != 1 || inFlight["a"]+inFlight["b"]+inFlight["c"] != 1 {
					t.Errorf("in flight: %v", inFlight)
				}
				if ok && c.Group > pool.OverHard {
					t.Errorf("chose one that is %v", c.Group)
				}
			})
		})
	}
}

var failure30 = pool.Outcome{Event: pool.ServerError, Cooldown: 30 * time.Second}

// FO-6: the wait ends with the client.
func TestWaitGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := poolOf(accounts("a")...)
		s := p.Begin(pool.Criteria{})
		next(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if c, ok := s.Wait(ctx, began.Add(time.Hour)); ok || time.Since(began) != time.Second {
			t.Errorf("%q, %v after %v", c.Name, ok, time.Since(began))
		}
		p.ClearCooldown(account("a").Key) // reaches no waiter that has left
	})
}

// FO-8c: when the first account is available for this request again.
func TestRecovery(t *testing.T) {
	const minute = time.Minute
	throttle := func(d time.Duration) pool.Outcome { return pool.Outcome{Event: pool.Throttled, Cooldown: d} }
	fable := pool.Outcome{Event: pool.ScopeRejected, RejectedScope: pool.Fable, Cooldown: 50 * minute, Scope: pool.Fable}
	for name, tt := range map[string]struct {
		prepare func(p *pool.Pool)
		fable   bool
		want    any
	}{
		"one is available":  {func(p *pool.Pool) { p.Observe(account("a").Key, throttle(minute)) }, false, time.Duration(0)},
		"the first of them": {both(throttle(42*minute), throttle(50*minute)), false, 42 * minute},
		"a paused one does not come back": {func(p *pool.Pool) {
			both(throttle(minute), throttle(50*minute))(p)
			p.Pause(account("a").Key, true)
		}, false, 50 * minute},
		"nor does one that needs a login": {both(pool.Outcome{Event: pool.LoginNeeded, Cooldown: minute}, throttle(9*minute)), false, 9 * minute},
		"nor does any": {func(p *pool.Pool) {
			p.Pause(account("a").Key, true)
			p.Pause(account("b").Key, true)
		}, false, nil},
		"of its kind":  {both(fable, fable), true, 50 * minute},
		"of the other": {both(fable, fable), false, time.Duration(0)},
		"a cap's end": {func(p *pool.Pool) {
			both(throttle(90*minute), reading(0.6, 30*minute))(p)
			limited := account("b")
			limited.Caps = quota.Caps{At: quota.Thresholds{0.5}, Set: quota.Of(pool.FiveHour)}
			p.Configure([]pool.Account{account("a"), limited}, pool.Policy{})
		}, false, 30 * minute},
		"a cap and a cooldown": {func(p *pool.Pool) {
			both(throttle(90*minute), reading(0.6, 30*minute))(p)
			p.Observe(account("b").Key, throttle(40*minute))
			limited := account("b")
			limited.Caps = quota.Caps{At: quota.Thresholds{0.5}, Set: quota.Of(pool.FiveHour)}
			p.Configure([]pool.Account{account("a"), limited}, pool.Policy{})
		}, false, 40 * minute},
		"an empty pool": {func(p *pool.Pool) { p.Configure(nil, pool.Policy{}) }, false, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := poolOf(accounts("a", "b")...)
			tt.prepare(p)
			var got any
			if at, ok := p.Begin(pool.Criteria{Scope: pool.FableIf(tt.fable)}).Recovery(); ok {
				got = time.Until(at)
			}
			if got != tt.want {
				t.Errorf("%s: %v, want %v", name, got, tt.want)
			}
		})
	}
}

func both(a, b pool.Outcome) func(*pool.Pool) {
	return func(p *pool.Pool) {
		p.Observe(account("a").Key, a)
		p.Observe(account("b").Key, b)
	}
}

// RTE-4: a request without an outcome, such as one that counts tokens, ends with a release only.
func TestReleaseAloneIsEnough(t *testing.T) {
	p := poolOf()
	p.Configure(accounts("a", "b"), pool.Policy{RampInitial: 1})
	req := pool.Criteria{Session: 1}
	before := p.Explain(req)
	s := p.Begin(req)
	c := next(t, s)
	s.Release()
	after := p.Explain(req)
	if !slices.Equal(lines(before), lines(after)) || after.Last != "" {
		t.Errorf("%v became %v, last %q", lines(before), lines(after), after.Last)
	}
	for _, status := range p.Snapshot() {
		if status.InFlight != 0 || status.Allowance != 1 {
			t.Errorf("%s after %s: %d in flight of %d", status.Name, c.Name, status.InFlight, status.Allowance)
		}
	}
}
