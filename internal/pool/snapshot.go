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
	Available bool    // for a request without a scope: selectable and not cooling down
	NearQuota bool    // for such a request
	Headroom  float64 // for such a request, in seconds; may be infinite (SEL-21)
	// NeedsLogin is set if its credential was rejected and has not changed since (SEL-8b), whether or not the cooldown
	// that followed is over.
	NeedsLogin bool

	ScopeStatus               // for requests without a scope
	Scopes      []ScopeStatus // for those of each scope that has windows of its own

	InFlight            int // requests
	Allowance           int // how many at once its ramp admits (RMP-1); 0 = no limit
	Requests, Rotations uint64
	LastUsed            time.Time // zero = never
}

// ScopeStatus is what differs between the scopes of requests.
type ScopeStatus struct {
	Scope       quota.Scope
	Group       Group
	CappedUntil time.Time     // when its caps allow it to serve again; zero = now (CAP-3)
	Cooldown    time.Duration // time left, for a scope never less than without one; zero = does not cool down
	Cause       Cause
}

// In returns the status for requests of a scope.
func (s Status) In(scope quota.Scope) ScopeStatus {
	for _, own := range s.Scopes {
		if own.Scope == scope {
			return own
		}
	}
	return s.ScopeStatus
}

// Snapshot returns the status of each identity of the pool, in listed order.
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
	s := Status{
		Account: m.Account, Quota: h.Quota, Paused: h.Paused, NeedsLogin: h.needsLogin(),
		ScopeStatus: m.scopeStatus("", policy, now),
		Requests:    h.Requests, Rotations: h.Rotations, LastUsed: h.LastUsed,
		InFlight: h.ramp.inFlight, Allowance: h.ramp.allowance(policy.RampInitial, now),
	}
	for _, scope := range h.Quota.Table().Scopes() {
		s.Scopes = append(s.Scopes, m.scopeStatus(scope, policy, now))
	}
	s.Quota.Expire(now)
	s.Headroom = s.Quota.Headroom("", m.Soft, now)
	q := Query{Policy: policy}
	s.NearQuota = s.Quota.Near("", m.Soft) || q.avoids(m, &s.Quota, now)
	s.Available = s.Group != Out && s.Cooldown == 0
	return s
}

func (m *Member) scopeStatus(scope quota.Scope, policy Policy, now time.Time) ScopeStatus {
	q := Query{Policy: policy, Criteria: Criteria{Scope: scope}}
	s := ScopeStatus{Scope: scope, Group: rank(m, &q, now).Group, CappedUntil: m.cappedUntil(scope, now)}
	s.Cooldown, s.Cause = m.Health.left(scope, now)
	return s
}

// left returns how long the identity still cools down for requests of a scope, and why.
func (h *Health) left(scope quota.Scope, now time.Time) (time.Duration, Cause) {
	until, cause := h.CooledUntil(scope, now)
	if until.IsZero() {
		return 0, Cause{}
	}
	return until.Sub(now), cause
}
