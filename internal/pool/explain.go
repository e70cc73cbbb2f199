package pool

import (
	"time"

	"shunt/internal/identity"
	"shunt/internal/quota"
)

// Explanation is a decision with the numbers behind it (SEL-32).
type Explanation struct {
	Preferred string // the preferred identity: the session's home, or the next in turn
	Last      string // the identity that last served the session; empty = unknown, or no longer in the pool
	Places    []Place
}

// Place is one identity in a decision. Candidates come first, the best at the front, then those that are out of the list.
type Place struct {
	Name  string
	Key   identity.Key
	Group Group
	Why   Reason // why it leads, or why it is out
	By    By     // what puts it behind the one before it

	Priority int
	Headroom float64       // seconds; may be infinite; for a near one with a plan, to the hard threshold (STR-5)
	Rejected bool          // by the provider (SEL-5)
	Windows  []WindowPlace // in the order of the account's table

	Cooldown    time.Duration // time left; zero = does not cool down
	Cause       Cause
	CappedUntil time.Time // zero = not capped
	Denied      bool      // its ramp admits no request now (RMP-2)
}

// WindowPlace is one quota window in a decision.
type WindowPlace struct {
	Window      quota.Window
	Governs     bool // its threshold and headroom count for the request (SEL-4)
	Utilization float64
	Known       bool // the utilization
	Reset       time.Time
	Status      string
	Soft        float64
	Cap         float64 // meaningful if HasCap
	HasCap      bool
	Headroom    float64 // seconds; may be infinite
}

// By is what orders two neighbors.
type By string

// What orders candidates, from the first criterion to the last (SEL-3, SEL-10).
const (
	ByAdvisor  By = "advisor" // the one before it is free in the scope of the request's tools (SEL-4b)
	ByLead     By = "lead"    // the one before it leads
	ByGroup    By = "group"
	ByOwn      By = "own"      // the one before it is the session's own (FO-15)
	ByRecovery By = "recovery" // the one before it cools down for a shorter time
	// ByFault: the one before it is one of those that cool down because of a fault of the service. They are together, where
	// the first of them recovers (FO-0c).
	ByFault By = "fault"
	// ByCredential: the later one cools down because its credential was rejected, which time alone does not fix.
	ByCredential By = "credential"
	ByPriority   By = "priority"
	ByHeadroom   By = "headroom"
	// ByWeeklyReset: the longest governing window of the one before it, which need not be weekly, resets first.
	ByWeeklyReset By = "weekly_reset"
	ByTie         By = "tie" // the session's weight, or the listed order
)

// Explain returns the decision that a request would get now, as [Order] makes it. It changes nothing.
func (p *Pool) Explain(req Criteria) Explanation {
	r := p.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	q := &p.selection(req, &p.lineup).query
	ranked, home := order(p.members, q, now)
	var e Explanation
	if home >= 0 {
		e.Preferred = p.members[home].Name
	}
	if m := p.member(q.Last); m != nil {
		e.Last = m.Name
	}
	for i := range ranked {
		place := ranked[i].explained(q, now)
		if i > 0 {
			place.By = by(&ranked[i-1], &ranked[i], q.Policy)
		}
		e.Places = append(e.Places, place)
	}
	for i := range p.members {
		if out := rank(&p.members[i], q, now); out.Group == Out {
			e.Places = append(e.Places, out.explained(q, now))
		}
	}
	return e
}

// by returns the first criterion in which two neighbors differ.
func by(a, b *Ranked, policy Policy) By {
	switch {
	case a.behind != b.behind:
		return ByAdvisor
	case a.leads():
		return ByLead
	case a.tier == ownTier:
		return ByOwn
	case a.tier != b.tier && b.tier == refusedTier:
		return ByCredential
	case a.tier == faultTier && b.tier == laterTier:
		return ByFault
	case a.tier != b.tier && a.Group == CoolingDown:
		return ByRecovery
	case a.tier != b.tier:
		return ByGroup
	case a.major != b.major && byRecovery(a.tier):
		return ByRecovery
	case a.major != b.major || a.minor != b.minor && byRecovery(a.tier):
		return ByPriority
	case a.minor != b.minor && policy.Planned:
		return ByHeadroom
	case a.minor != b.minor:
		return ByWeeklyReset
	}
	return ByTie
}

func byRecovery(t tier) bool { return t == coolingTier || t == laterTier || t == refusedTier }

func (r *Ranked) explained(q *Query, now time.Time) Place {
	m := r.Member
	state := m.Health.Quota
	state.Expire(now)
	p := Place{
		Name: m.Name, Key: m.Key, Group: r.Group, Why: r.Why(),
		Priority: m.Priority,
		Headroom: m.headroom(&state, r.Group, q, now),
		Rejected: state.Rejected(q.Scope, m.Soft),
		Denied:   !m.Health.ramp.admits(q.Policy.RampInitial, now),
	}
	p.CappedUntil, _ = state.Capped(q.Scope, m.Caps)
	p.Cooldown, p.Cause = m.Health.left(q.Scope, now)
	governing := state.Governing(q.Scope)
	for w, window := range state.Table().Windows() {
		x := WindowPlace{
			Window: window, Governs: governing.Has(w),
			Soft: m.Soft[w], Cap: m.Caps.At[w], HasCap: m.Caps.Set.Has(w),
			Status: state.Status(w), Headroom: state.WindowHeadroom(w, m.Soft[w], now),
		}
		x.Utilization, x.Known = state.Utilization(w)
		x.Reset, _ = state.Reset(w)
		p.Windows = append(p.Windows, x)
	}
	return p
}
