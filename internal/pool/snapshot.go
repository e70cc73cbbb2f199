package pool

import (
	"time"

	"shunt/internal/quota"
)

// Status is one identity of a pool for display.
type Status struct {
	Account               // its representative
	Quota     quota.State // as of now
	Available bool        // for a request that is no Fable request: selectable and not cooled
	NearQuota bool        // for such a request

	Cooldown      time.Duration // what is left of it; zero = not cooled
	Cause         Event
	FableCooldown time.Duration // what is left for Fable requests, never less than Cooldown
	FableCause    Event

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
		all[i] = p.members[i].status(now)
	}
	return all
}

func (m *Member) status(now time.Time) Status {
	h := m.Health
	s := Status{Account: m.Account, Quota: h.Quota, Requests: h.Requests, Rotations: h.Rotations, LastUsed: h.LastUsed}
	s.Quota.Expire(now)
	s.NearQuota = s.Quota.Near(false, m.Soft)
	s.Cooldown, s.Cause = h.left(false, now)
	s.FableCooldown, s.FableCause = h.left(true, now)
	s.Available = m.selectable() && s.Cooldown == 0
	return s
}

func (h *Health) left(fable bool, now time.Time) (time.Duration, Event) {
	until, cause := h.CooledUntil(fable, now)
	if until.IsZero() {
		return 0, None
	}
	return until.Sub(now), cause
}
