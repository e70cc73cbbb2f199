package pool

import (
	"container/list"
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// rampWait is how long a request waits for a slot before it goes over an account's allowance (RMP-2).
const rampWait = 10 * time.Second

// leastWait is the shortest that jitter makes rampWait.
const leastWait = rampWait - rampWait/5

// jittered returns a wait shortened by up to a fifth, so that requests that began to wait together do not all
// continue together.
func jittered(d time.Duration) time.Duration { return d - rand.N(d/5) }

// waiter is a request that waits for an account. An account that changes is given to the first waiter that can use it, so no
// wake-up is lost and requests are served in the order in which they began to wait. The registry's lock guards its fields.
type waiter struct {
	*Selection
	forSlot bool // it waits for a slot of an available account (RMP-2), else for an account to become available (FO-6)

	wake  chan struct{} // of capacity 1: makes the waiter check its state
	place *list.Element // in the queue; nil once it is settled or has given up
	Candidate
	found found
}

// try settles the waiter if there is something for it now.
func (w *waiter) try(now time.Time) {
	var c Candidate
	var f found
	if w.forSlot {
		c, f = w.choose(CoolingDown, true, now)
	} else {
		c, f = w.choose(OverHard, false, now)
	}
	if f == chosen || w.forSlot && f == none {
		w.Candidate, w.found = c, f
		w.leave()
		w.signal()
	}
}

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *waiter) leave() {
	w.pool.registry.waiters.Remove(w.place)
	w.place = nil
}

// offer settles the waiter if it can use an account that has changed, or any account if h is nil.
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
		w.signal() // it may recover sooner than the waiter knows
	}
}

// touched offers an account that has changed, or every account if h is nil, to the waiters. A waiter that is settled gives up
// the slot it held, which is a change as well: the call in progress handles it, so that only one walks the queue.
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

// recovered offers all accounts to the waiters when one has recovered with time. It does so once, for the first waiter that
// notices, so that requests leave in arrival order.
func (r *Registry) recovered(at, now time.Time) {
	if r.offered.Before(at) {
		r.offered = now
		r.touched(nil, now)
	}
}

// await waits until the waiter is settled, until the given time, or until the context ends. The caller holds the lock; await
// releases it during the wait.
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

// enqueue adds the request to the end of the queue. The caller holds the lock.
func (s *Selection) enqueue(forSlot bool) *waiter {
	w := &waiter{Selection: s, forSlot: forSlot, wake: make(chan struct{}, 1)}
	w.place = s.pool.registry.waiters.PushBack(w)
	return w
}

// Next returns the best identity, as of now, that this request has not tried yet; not ok if none is left, or if those that are
// left cool down and it has tried two such ones (FO-15). The request then counts as in flight at the identity, until [Selection.Release] or
// the next Next.
//
// If the ramps of all available ones admit no more requests, it waits for a slot on any of them, in arrival order and for
// up to ten seconds per request, before it takes the last of them over its allowance (RMP-2). It is not ok if the context ends
// before that.
func (s *Selection) Next(ctx context.Context) (Candidate, bool) {
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	began := r.clock.Now()
	s.release(began)
	c, found := s.choose(CoolingDown, s.waited < leastWait, began)
	if found != full {
		return c, found == chosen
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
	case w.found == full: // no slot became free
		c, found = s.choose(CoolingDown, false, now)
		return c, found == chosen
	}
	return w.Candidate, w.found == chosen
}

// Wait waits until a time of the pool's clock for another account that this request has not tried. It returns one as soon
// as it is available, like [Selection.NextAvailable], or not ok at that time or when the context ends (FO-6). The
// request keeps its slot unless another account is returned.
func (s *Selection) Wait(ctx context.Context, until time.Time) (c Candidate, ok bool) {
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	w := s.enqueue(false)
	w.try(r.clock.Now())
	w.await(ctx, until)
	return w.Candidate, w.found == chosen
}

// Recovery returns when the first selectable identity of the pool becomes available for this request without intervention: its
// cooldowns and its caps have ended. That is now if one is available; it is not ok if there is none. Those that need a login do
// not become available with time.
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

// recovery returns when the first untried identity that is not available now becomes available with time, at the latest until.
func (q *Query) recovery(members []Member, now, until time.Time) time.Time {
	for i := range members {
		at, ok := q.availableAt(&members[i], now)
		if ok && at.After(now) && at.Before(until) && !q.tried(&members[i]) {
			until = at
		}
	}
	return until
}

// availableAt returns when an identity becomes available with time, now at the earliest; not ok if it does not.
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
