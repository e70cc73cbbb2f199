package pool

import (
	"cmp"
	"math"
	"slices"
	"time"

	"shunt/internal/identity"
	"shunt/internal/quota"
)

// Account is one configured entry of a pool. Entries with one key are aliases of one identity (ID-2).
type Account struct {
	Name     string
	Key      identity.Key
	Priority int // lower is used first
	Disabled bool
	Soft     quota.Thresholds
}

// Member is one identity of a pool as the scheduler sees it: its representative entry, and its health, which the
// scheduler only reads. Make one with [NewMember].
type Member struct {
	Account
	Health *Health
	seed   uint64
}

// NewMember joins an identity's representative with its live state.
func NewMember(a Account, h *Health) Member { return Member{a, h, seedOf(a.Key)} }

// Request is what the scheduler has to know about a client's request.
type Request struct {
	Session Session
	Fable   bool // the upstream model is of the Fable family
}

// Query is a request together with what came before it.
type Query struct {
	Request
	Turn  uint64         // how many requests without a session came before (SEL-2)
	Last  identity.Key   // who last served the session (SEL-2b); zero = unknown
	Tried []identity.Key // whom this request has tried already: left out, and not usable any more
}

// Group is the first thing that candidates are ordered by (SEL-10).
type Group uint8

// The groups, best first.
const (
	Free     Group = iota // available, not near its quota
	Near                  // available, near its quota but not over the hard threshold
	OverHard              // available, over the hard threshold
	Cooling               // in a cooldown
)

// String is the group's name in logs.
func (g Group) String() string { return [...]string{"free", "near_quota", "over_hard", "cooled"}[g] }

// Reason says in one word why a request, or a session, is where it is.
type Reason string

// Why a candidate stands first although others might do: [Ranked.Why], [Candidate.Why].
const (
	Sticky     Reason = "sticky"      // the session's home (SEL-1)
	RoundRobin Reason = "round_robin" // it is its turn (SEL-2)
	LastServed Reason = "last_served" // it served the session while the home is not usable (SEL-2b)
)

// Why an identity was not used: [Candidate.Why] of its replacement, [Move.Reason].
const (
	NearQuota   Reason = "near_quota"
	Cooled      Reason = "cooled"
	Disabled    Reason = "disabled"
	Failover    Reason = "failover"     // this request tried it and it failed
	PoolChanged Reason = "pool_changed" // it left the pool, or the pool's change gave the session another home
	Returned    Reason = "returned"     // the session's home is usable again
)

// Ranked is one candidate in its place.
type Ranked struct {
	Member *Member
	Group  Group
	Why    Reason // empty if only SEL-10 speaks for its place
	key    sortKey
}

// Order ranks the identities that may serve a request, best first (SEL-1 to SEL-11): everyone selectable that was not
// tried yet, exactly once. It reads and never writes; equal input gives equal output.
func Order(members []Member, q Query, now time.Time) []Ranked {
	home := preferred(members, q)
	ranked := make([]Ranked, 0, len(members))
	first, last := -1, -1
	for i := range members {
		m := &members[i]
		if !m.selectable() || q.tried(m) {
			continue
		}
		r := rank(m, q, now)
		r.key.tie = q.tie(m, i-home, len(members))
		if r.Group == Free && i == home {
			first = len(ranked)
		}
		if r.Group == Free && m.Key == q.Last {
			last = len(ranked)
		}
		ranked = append(ranked, r)
	}
	switch {
	case first >= 0 && q.Session != 0:
		ranked[first].lead(Sticky)
	case first >= 0:
		ranked[first].lead(RoundRobin)
	case last >= 0 && q.Session != 0:
		ranked[last].lead(LastServed)
	}
	slices.SortFunc(ranked, compare)
	return ranked
}

// preferred is the index of the identity that a request would go to if all were well, or -1 if there is none: the
// session's home over all identities (SEL-1), or whose turn it is among the selectable ones (SEL-2).
func preferred(members []Member, q Query) int {
	best := -1
	if q.Session != 0 {
		for i := range members {
			if best < 0 || weight(q.Session, members[i].seed) > weight(q.Session, members[best].seed) {
				best = i
			}
		}
		return best
	}
	selectable := 0
	for i := range members {
		if members[i].selectable() {
			selectable++
		}
	}
	if selectable == 0 {
		return -1
	}
	skip := q.Turn % uint64(selectable)
	for best = range members {
		if !members[best].selectable() {
			continue
		}
		if skip == 0 {
			break
		}
		skip--
	}
	return best
}

// selectable is the one place that decides whether an identity may serve at all (SEL-11b).
func (m *Member) selectable() bool { return !m.Disabled }

func (q *Query) tried(m *Member) bool { return slices.Contains(q.Tried, m.Key) }

// sortKey compares field by field, ascending. What major and minor mean depends on the tier.
type sortKey struct {
	tier         uint8
	major, minor int64
	tie          uint64
}

// The tiers: the identity that leads, then the groups of SEL-10, of which the two near ones are one.
const (
	leadTier uint8 = iota
	freeTier
	nearTier
	coolingTier
)

func rank(m *Member, q Query, now time.Time) Ranked {
	r := Ranked{Member: m}
	state := m.Health.Quota
	state.Expire(now)
	until, _ := m.Health.CooledUntil(q.Fable, now)
	priority := int64(m.Priority)
	switch {
	case !until.IsZero():
		r.Group = Cooling
		r.key = sortKey{tier: coolingTier, major: until.UnixNano(), minor: priority}
	case !state.Near(q.Fable, m.Soft):
		r.Group = Free
		r.key = sortKey{tier: freeTier, major: priority, minor: math.MinInt64} // an unknown reset goes first
		if reset, ok := state.Reset(state.Weekly(q.Fable)); ok {
			r.key.minor = reset.UnixNano()
		}
	default:
		r.Group = Near
		if state.OverHard(q.Fable, m.Soft, quota.DefaultHard) {
			r.Group = OverHard
		}
		r.key = sortKey{tier: nearTier, major: priority}
	}
	return r
}

func (r *Ranked) lead(why Reason) {
	r.Why = why
	r.key = sortKey{tier: leadTier}
}

// tie orders equals: by descending rendezvous weight with a session, else cyclically from the preferred one on.
func (q *Query) tie(m *Member, offset, n int) uint64 {
	if q.Session != 0 {
		return ^weight(q.Session, m.seed)
	}
	return uint64((offset + n) % n)
}

func compare(a, b Ranked) int {
	x, y := &a.key, &b.key
	switch {
	case x.tier != y.tier:
		return cmp.Compare(x.tier, y.tier)
	case x.major != y.major:
		return cmp.Compare(x.major, y.major)
	case x.minor != y.minor:
		return cmp.Compare(x.minor, y.minor)
	}
	return cmp.Compare(x.tie, y.tie)
}
