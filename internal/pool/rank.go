package pool

import (
	"math"
	"time"

	"shunt/internal/quota"
)

// rank places m among the candidates for q. It alone decides whether m may serve at all (SEL-11b), which group it belongs to and
// what orders it there.
func rank(m *Member, q *Query, now time.Time) Ranked {
	r := Ranked{Member: m}
	state := m.Health.Quota
	state.Expire(now)
	if out := m.excluded(&state, q.Scope); out != 0 {
		r.Group, r.tier = Out, out
		return r
	}
	priority := int64(m.Priority)
	if until, cause := m.Health.CooledUntil(q.Scope, now); !until.IsZero() {
		r.Group, r.tier = CoolingDown, coolingTier
		switch {
		case cause.isFault():
			r.tier = faultTier
		case cause.kind() == ofCredential:
			r.tier = refusedTier
		}
		r.major, r.minor = int64(until.Sub(now)), priority
		return r
	}
	if m.Health.needsLogin() {
		r.Group, r.tier, r.major = NoLogin, noLoginTier, priority
		return r
	}
	r.major = priority
	switch {
	case !state.Near(q.Scope, m.Soft) && !q.avoids(m, &state, now):
		r.Group, r.tier = Free, freeTier
	case state.OverHard(q.Scope, m.Soft, q.Policy.hard()):
		r.Group, r.tier = OverHard, overHardTier
	default:
		r.Group, r.tier = Near, nearTier
	}
	switch {
	case q.Policy.Planned:
		r.minor = descending(m.headroom(&state, r.Group, q, now))
	case r.Group == Free:
		r.minor = math.MinInt64 // an unknown reset goes first
		if w, ok := state.Longest(q.Scope); ok {
			if reset, known := state.Reset(w); known {
				r.minor = int64(reset.Sub(now))
			}
		}
	default:
		r.tier = nearTier
	}
	return r
}

// avoids reports whether the identity counts as near because of its pace alone. It does not for a warm session that it
// serves (STR-5).
func (q *Query) avoids(m *Member, state *quota.State, now time.Time) bool {
	return q.Policy.AvoidBurnRate && !(m.Key == q.Last && q.warm(now)) && m.Health.overPace(state, q.Scope, m.Soft, now)
}

// warm reports whether the prompt of the session is still in the cache of the identity that last served it (STR-6).
func (q *Query) warm(now time.Time) bool {
	return !q.Since.IsZero() && now.Sub(q.Since) <= q.Policy.cacheTTL()
}

// headroom returns what orders the identity in its group with a plan, in seconds. For near ones this is the headroom to the hard
// threshold, since they have none to the soft ones (SEL-21, STR-5). The state must be expired.
func (m *Member) headroom(state *quota.State, g Group, q *Query, now time.Time) float64 {
	limits := m.Soft
	if hard := q.Policy.hard(); g == Near && q.Policy.Planned {
		limits = quota.Uniform(hard)
	}
	return state.Headroom(q.Scope, limits, now)
}

// excluded returns the tier of an identity that is out of the list (SEL-11), zero if it is not. The state must be expired.
func (m *Member) excluded(state *quota.State, scope quota.Scope) tier {
	switch {
	case m.Disabled:
		return disabledTier
	case m.Health.Paused:
		return pausedTier
	}
	if _, capped := state.Capped(scope, m.Caps); capped {
		return cappedTier
	}
	return 0
}

// cappedUntil returns when the identity will be below its caps without intervention (CAP-4); zero if it already is.
func (m *Member) cappedUntil(scope quota.Scope, now time.Time) time.Time {
	state := m.Health.Quota
	state.Expire(now)
	until, _ := state.Capped(scope, m.Caps)
	return until
}

// descending maps numbers, including infinities, so that the greatest comes first.
func descending(f float64) int64 {
	bits := int64(math.Float64bits(-f))
	return bits ^ bits>>63&math.MaxInt64
}
