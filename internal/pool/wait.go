package pool

import (
	"container/list"
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// rampWait is how long a request waits for a slot at most, before it goes over an account's allowance (RMP-2).
const rampWait = 10 * time.Second

// leastWait is the shortest wait that the jitter leaves of it.
const leastWait = rampWait - rampWait/5

// jittered returns a wait shortened by up to a fifth, so that requests that began to wait together do not all go on together.
func jittered(d time.Duration) time.Duration { return d - rand.N(d/5) }

// waiter is a request that waits for an account. An account that changes is given to the first waiter that can use it, so no
// wake-up is lost and requests are served in the order in which they began to wait. Its fields are guarded by the registry's
// lock.
type waiter struct {
	*Selection
	forSlot bool // it waits for a slot of an available account (RMP-2), else for an account to become available (FO-6)

	wake  chan struct{} // of capacity 1: has the waiter check what has become of it
	place *list.Element // in the queue; nil once settled or given up
	Candidate
	found found
}

// try settles the waiter if there is something for it now.
func (w *waiter) try(now time.Time) {
	var c Candidate
	var f found
	if w.forSlot {
		c, f = w.choose(Cooling, true, now)
	} else {
		c, f = w.choose(OverHard, false, now)
	}
	if f == someone || w.forSlot && f == nobody {
		w.Candidate, w.found = c, f
		w.leave()
		w.rouse()
	}
}

func (w *waiter) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *waiter) leave() {
	w.pool.registry.waiters.Remove(w.place)
	w.place = nil
}

// offer settles the waiter if an account that has changed, or any account if h is nil, leaves something for it.
func (w *waiter) offer(h *Health, now time.Time) {
	if h == nil {
		w.try(now)
		return
	}
	i := slices.IndexFunc(w.members, func(m Member) bool { return m.Health == h })
	if i < 0 || w.query.tried(&w.members[i]) {
		return
	}
	available := rank(&w.members[i], &w.query, now).Group <= OverHard
	if available && w.forSlot && !h.ramp.admits(w.query.Policy.RampInitial, now) {
		return
	}
	w.try(now)
	if !available && w.place != nil {
		w.rouse() // it may recover sooner than the waiter knows
	}
}

// touched offers an account that has changed, or every account if h is nil, to those that wait. A waiter that is settled gives
// up the slot it held, which is a change as well: the call in progress handles it, so that only one walks the queue.
func (r *Registry) touched(h *Health, now time.Time) {
	if r.waiters.Len() == 0 {
		return
	}
	r.changed = append(r.changed, h)
	if len(r.changed) > 1 {
		return
	}
	for i := 0; i < len(r.changed); i++ {
		for e := r.waiters.Front(); e != nil; {
			w := e.Value.(*waiter)
			e = e.Next()
			w.offer(r.changed[i], now)
		}
	}
	clear(r.changed)
	r.changed = r.changed[:0]
}

// recovered offers all accounts to those that wait when one has recovered by itself: once, for the first of them that notices,
// so that the order of arrival holds.
func (r *Registry) recovered(at, now time.Time) {
	if r.offered.Before(at) {
		r.offered = now
		r.touched(nil, now)
	}
}

// await waits until the waiter is settled, until the given time, or until the context ends. The caller holds the lock, which
// is free during the wait.
func (w *waiter) await(ctx context.Context, until time.Time) {
	r := w.pool.registry
	now := r.clock.Now()
	for {
		if w.place == nil {
			return
		}
		if ctx.Err() != nil || !now.Before(until) {
			w.leave()
			return
		}
		next := w.query.recovery(w.members, now, until)
		r.mu.Unlock()

		timer := time.NewTimer(r.clock.Scale(next.Sub(now)))
		select {
		case <-w.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		r.mu.Lock()
		if now = r.clock.Now(); next.Before(until) && !now.Before(next) {
			r.recovered(next, now)
		}
	}
}

// enqueue puts the request behind those that wait already. The caller holds the lock.
func (s *Selection) enqueue(forSlot bool) *waiter {
	w := &waiter{Selection: s, forSlot: forSlot, wake: make(chan struct{}, 1)}
	w.place = s.pool.registry.waiters.PushBack(w)
	return w
}

// Next returns the best identity, as of now, that this request has not tried yet; not ok if none is left, or only cooled ones
// and it has tried two of these (FO-15). The request then counts as in flight at the identity, until [Selection.Release] or
// the next Next.
//
// If the ramps of all available ones admit no more requests, it waits for a slot on any of them, in the order of arrival
// and for up to ten seconds per request, before the last of them is taken over its allowance (RMP-2). It is not ok if the
// context ends before that.
func (s *Selection) Next(ctx context.Context) (Candidate, bool) {
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	began := r.clock.Now()
	s.release(began)
	c, found := s.choose(Cooling, s.waited < leastWait, began)
	if found != full {
		return c, found == someone
	}
	timeout := jittered(rampWait) - s.waited
	w := s.enqueue(true)
	w.await(ctx, began.Add(timeout))
	now := r.clock.Now()
	s.waited += now.Sub(began)
	switch {
	case ctx.Err() != nil:
		s.release(now)
		return Candidate{}, false
	case w.found == full: // nothing came
		c, found = s.choose(Cooling, false, now)
		return c, found == someone
	}
	return w.Candidate, w.found == someone
}

// Wait waits until a time of the pool's clock for another account that this request has not tried. It returns one as soon
// as it is available, as [Selection.NextAvailable] would, and not ok at that time or when the context ends (FO-6). The
// request keeps its slot unless another account is returned.
func (s *Selection) Wait(ctx context.Context, until time.Time) (c Candidate, ok bool) {
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	w := s.enqueue(false)
	w.try(r.clock.Now())
	w.await(ctx, until)
	return w.Candidate, w.found == someone
}

// Recovery returns when the first selectable identity of the pool becomes available for this request by itself: its cooldowns
// and its caps have ended. That is now if one is available; it is not ok if there is none. Those that need a login do
// not come back by themselves.
func (s *Selection) Recovery() (time.Time, bool) {
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	var first time.Time
	for i := range s.members {
		if at, ok := s.query.availableAt(&s.members[i], now); ok && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first, !first.IsZero()
}

// recovery returns when the first untried identity that is not available now becomes so by itself, at the latest until.
func (q *Query) recovery(members []Member, now, until time.Time) time.Time {
	for i := range members {
		at, ok := q.availableAt(&members[i], now)
		if ok && at.After(now) && at.Before(until) && !q.tried(&members[i]) {
			until = at
		}
	}
	return until
}

// availableAt returns when an identity is available by itself, at the earliest now; not ok if never.
func (q *Query) availableAt(m *Member, now time.Time) (time.Time, bool) {
	if m.Disabled || m.Health.Paused || m.Health.needsLogin() {
		return time.Time{}, false
	}
	at := now
	if cooled, _ := m.Health.CooledUntil(q.Scope, now); cooled.After(at) {
		at = cooled
	}
	if capped := m.cappedUntil(q.Scope, now); capped.After(at) {
		at = capped
	}
	return at, true
}
