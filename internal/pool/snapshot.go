package pool

import (
	"time"

	"shunt/internal/quota"
)

// Status is one identity of a pool for display.
type Status struct {
	Account               // its representative
	Aliases   []string    // the names of all its entries in listed order, if it has more than one (ID-2b)
	Quota     quota.State // as of now
	Paused    bool
	Available bool    // for a request that is not a Fable request: selectable and not cooled
	NearQuota bool    // for such a request
	Headroom  float64 // for such a request, in seconds; may be infinite (SEL-21)
	// NeedsLogin is set if its credential was rejected and has not changed since (SEL-8b), whether or not the cooldown
	// that followed is over.
	NeedsLogin bool

	Group, FableGroup             Group     // for a request that is no Fable request, and for one that is
	CappedUntil, FableCappedUntil time.Time // when its caps let it serve again; zero = now (CAP-3)

	Cooldown      time.Duration // what is left of it; zero = not cooled
	Cause         Event
	FableCooldown time.Duration // what is left for Fable requests, never less than Cooldown
	FableCause    Event

	InFlight            int // requests in hand
	Allowance           int // how many at once its ramp admits (RMP-1); 0 = no limit
	Requests, Rotations uint64
	LastUsed            time.Time // zero = never
}

// Snapshot is the pool as it stands, in listed order.
func (p *Pool) Snapshot() []Status {
	r := p.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	all := make([]Status, len(p.members))
	for i := range p.members {
		all[i] = p.members[i].status(p.policy, now)
		all[i].Aliases = p.aliases(p.members[i].Key)
	}
	return all
}

func (m *Member) status(policy Policy, now time.Time) Status {
	h := m.Health
	plain, fable := Query{Policy: policy}, Query{Policy: policy, Request: Request{Fable: true}}
	s := Status{
		Account: m.Account, Quota: h.Quota, Paused: h.Paused, NeedsLogin: h.needsLogin(),
		Group: rank(m, &plain, now).Group, FableGroup: rank(m, &fable, now).Group,
		CappedUntil: m.cappedUntil(false, now), FableCappedUntil: m.cappedUntil(true, now),
		Requests: h.Requests, Rotations: h.Rotations, LastUsed: h.LastUsed,
		InFlight: h.ramp.inFlight, Allowance: h.ramp.allowance(policy.RampInitial, now),
	}
	s.Quota.Expire(now)
	s.Headroom = s.Quota.Headroom(false, m.Soft, now)
	s.NearQuota = s.Quota.Near(false, m.Soft) || plain.avoids(m, &s.Quota, now)
	s.Cooldown, s.Cause = h.left(false, now)
	s.FableCooldown, s.FableCause = h.left(true, now)
	s.Available = s.Group != Out && s.Cooldown == 0
	return s
}

func (h *Health) left(fable bool, now time.Time) (time.Duration, Event) {
	until, cause := h.CooledUntil(fable, now)
	if until.IsZero() {
		return 0, None
	}
	return until.Sub(now), cause
}
