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
	Caps     quota.Caps
}

// Member is one identity of a pool as the scheduler sees it: its representative entry, and its health, which the
// scheduler only reads. Make one with [NewMember].
type Member struct {
	Account
	Health *Health
	seed   uint64
}

// NewMember combines an identity's representative with its live state.
func NewMember(a Account, h *Health) Member { return Member{a, h, seedOf(a.Key)} }

// Criteria are what the scheduler needs to know about a client's request.
type Criteria struct {
	Session Session
	Scope   quota.Scope // of the upstream model
	// ToolScope is the scope that the request may use as well, through its tools (SEL-4b); empty = none.
	ToolScope quota.Scope
}

// Query is the criteria of a request with its policy and what came before it.
type Query struct {
	Criteria
	Policy Policy
	Turn   uint64       // how many requests without a session came before (SEL-2)
	Last   identity.Key // the identity that last served the session (SEL-2b); zero = unknown
	Since  time.Time    // when Last served a request of this scope, whose cache this one can use; zero = never (STR-6)
	// Advised is the identity that last served a request of the session in place of Last, for the sake of its tools; zero = none.
	Advised identity.Key
	Tried   []identity.Key // what this request has already tried; left out
}

// Group is the first criterion that orders candidates (SEL-10).
type Group uint8

// The groups, best first.
const (
	Free        Group = iota // available, not near its quota
	Near                     // available, near its quota but not over the hard threshold
	OverHard                 // available, over the hard threshold
	NoLogin                  // available, but its credential was rejected and has not changed since (SEL-8b)
	CoolingDown              // in a cooldown
	Out                      // not in the list at all
)

// String returns the group's name in logs.
func (g Group) String() string {
	return [...]string{"free", "near_quota", "over_hard", "needs_login", "cooled", "out"}[g]
}

// Reason is a word for why a request or a session uses an account, or does not.
type Reason string

// Why a candidate is first before others that could serve too: [Ranked.Why], [Candidate.Why].
const (
	Sticky     Reason = "sticky"      // the session's home (SEL-1)
	RoundRobin Reason = "round_robin" // it is its turn (SEL-2)
	LastServed Reason = "last_served" // it serves the session while its home is not usable (SEL-2b), or until it is cold (STR-6)
)

// Advisor is why a candidate was chosen before the preferred one: it is free in the scope that the request may use through its
// tools (SEL-4b).
const Advisor Reason = "advisor"

// Why an identity was not used: [Candidate.Why] of its replacement, [Move.Reason], [Ranked.Why] of one that is Out.
const (
	NearQuota   Reason = "near_quota"
	Cooled      Reason = "cooled"
	NeedsLogin  Reason = "needs_login" // its credential was rejected (SEL-8b)
	Disabled    Reason = "disabled"
	Paused      Reason = "paused"
	Capped      Reason = "capped"
	Ramp        Reason = "ramp"         // its ramp admits no more requests now (RMP-2)
	Failover    Reason = "failover"     // this request tried it and it failed
	PoolChanged Reason = "pool_changed" // it left the pool, or the pool's change gave the session another home
	Returned    Reason = "returned"     // the session's home is usable again
)

// Ranked is one identity with what orders it. It is small, because sorting moves it on every request.
type Ranked struct {
	Member *Member
	Group  Group
	tier   tier
	behind bool // others are free in the scope of the request's tools, and this one is not (SEL-4b)
	listed int32
	// These fields order it within its tier, ascending. The meaning of major and minor depends on the tier.
	major, minor int64
	tie          uint64
}

// Why returns why it leads, or why it is Out; empty if SEL-10 alone decides its place.
func (r *Ranked) Why() Reason {
	if r.behind && r.leads() {
		return ""
	}
	return reasons[r.tier]
}

// tier is the first sort key: the leading identities, then the groups of SEL-10. Without a plan the two near groups are one tier.
type tier uint8

const (
	stayTier tier = iota // the session stays there though its home is free again (STR-6)
	stickyTier
	turnTier
	lastTier
	advisedTier
	freeTier
	nearTier
	overHardTier
	noLoginTier
	ownTier      // this and the next four are CoolingDown: the session's own (FO-15),
	coolingTier  // those that recover before any of the next,
	faultTier    // those that cool down because of a fault of the service (FO-0c),
	laterTier    // those that recover later than the first of these,
	refusedTier  // and those whose credential was rejected, which time alone does not fix (ERR-2b)
	disabledTier // this and the following are Out
	pausedTier
	cappedTier
)

var reasons = [...]Reason{
	stayTier: LastServed, stickyTier: Sticky, turnTier: RoundRobin, lastTier: LastServed, advisedTier: LastServed,
	disabledTier: Disabled, pausedTier: Paused, cappedTier: Capped,
}

// leads reports whether it comes before all others, or before all others that are behind.
func (r *Ranked) leads() bool { return r.tier < freeTier }

// Order ranks the identities that may serve a request, best first (SEL-1 to SEL-11): each selectable one that was not tried yet,
// exactly once. It modifies nothing; equal input gives equal output.
func Order(members []Member, q Query, now time.Time) []Ranked {
	ranked, _ := order(members, &q, now)
	return ranked
}

// order also returns the index of the preferred identity, -1 if there is none: the session's home among all identities (SEL-1),
// or the next in turn among the selectable ones (SEL-2).
func order(members []Member, q *Query, now time.Time) (ranked []Ranked, home int) {
	ranked, home = candidates(make([]Ranked, 0, len(members)), members, q, now)
	slices.SortFunc(ranked, compare)
	return ranked, home
}

// candidates returns what order does, unsorted; it appends to dst.
func candidates(dst []Ranked, members []Member, q *Query, now time.Time) (ranked []Ranked, home int) {
	ranked = dst
	for i := range members {
		if r := rank(&members[i], q, now); r.Group != Out {
			r.listed = int32(i)
			ranked = append(ranked, r)
		}
	}
	switch {
	case q.Session != 0:
		home = homeOf(members, q.Session)
	case len(ranked) > 0:
		home = int(ranked[q.Turn%uint64(len(ranked))].listed)
	default:
		return ranked, -1
	}
	own := q.own(ranked, home)
	ranked = slices.DeleteFunc(ranked, func(r Ranked) bool { return q.tried(r.Member) })
	if q.usesTools() {
		q.placeBehind(ranked, now)
	}
	q.place(ranked, members, home, now)
	placeCoolingDown(ranked, own)
	return ranked, home
}

// own returns the index of the session's own identity in group (d): its home or, if that does not cool down, the one that last
// served it; -1 if there is none (FO-15). It remains the session's own after this request has tried it.
func (q *Query) own(ranked []Ranked, home int) int {
	own := -1
	if q.Session == 0 {
		return own
	}
	for i := range ranked {
		switch r := &ranked[i]; {
		case r.Group != CoolingDown:
		case int(r.listed) == home:
			return home
		case r.Member.Key == q.Last:
			own = int(r.listed)
		}
	}
	return own
}

// placeCoolingDown orders group (d): the session's own identity, then by recovery. Those that cool down because of a fault of the
// service are one block, at the place of the first of them to recover. Priority and tie order the block, so that sessions do not
// all land on the one that recovers first (FO-0c).
func placeCoolingDown(ranked []Ranked, own int) {
	first := int64(math.MaxInt64)
	for i := range ranked {
		r := &ranked[i]
		if r.Group == CoolingDown && int(r.listed) == own {
			r.tier = ownTier
		}
		if r.tier == faultTier {
			first = min(first, r.major)
		}
	}
	for i := range ranked {
		switch r := &ranked[i]; {
		case r.tier == faultTier:
			r.major, r.minor = r.minor, 0
		case r.tier == coolingTier && r.major >= first:
			r.tier = laterTier
		}
	}
}

// atHome returns the session's home if it is free. It comes before all others (SEL-1), so there is no need to rank them.
func atHome(members []Member, q *Query, now time.Time) (r Ranked, home int, ok bool) {
	if q.Session == 0 || len(members) == 0 {
		return Ranked{}, 0, false
	}
	home = homeOf(members, q.Session)
	r = rank(&members[home], q, now)
	r.listed, r.tier = int32(home), stickyTier
	free := r.Group == Free && !q.tried(r.Member)
	return r, home, free && !q.mayStay(r.Member, now) && (!q.usesTools() || q.freeForTools(r.Member, now))
}

// mayStay reports whether the session stays away from a home that is free again, if the identity that it uses is free as well.
// It does so as long as it is warm, because a move pays for the whole cache again, unless an operator has cleared the home's
// cooldown since (STR-6).
func (q *Query) mayStay(home *Member, now time.Time) bool {
	return q.Policy.ReturnWhenCold && home.Key != q.Last && q.warm(now) && home.Health.cleared.Before(q.Since)
}

// usesTools reports whether the request may use another scope through its tools (SEL-4b).
func (q *Query) usesTools() bool { return q.ToolScope != "" && q.ToolScope != q.Scope }

// freeForTools reports whether the identity would be free for a request of the tools' scope.
func (q *Query) freeForTools(m *Member, now time.Time) bool {
	tools := *q
	tools.Scope = q.ToolScope
	return rank(m, &tools, now).Group == Free
}

// placeBehind puts all others behind those that are also free in the scope of the request's tools, if there are any (SEL-4b).
func (q *Query) placeBehind(ranked []Ranked, now time.Time) {
	some := false
	for i := range ranked {
		r := &ranked[i]
		r.behind = r.Group != Free || !q.freeForTools(r.Member, now)
		some = some || !r.behind
	}
	for i := range ranked {
		ranked[i].behind = ranked[i].behind && some
	}
}

// homeOf returns the index of the session's home, -1 if there are no members.
func homeOf(members []Member, s Session) int {
	best, most := -1, uint64(0)
	for i := range members {
		if w := weight(s, members[i].seed); best < 0 || w > most {
			best, most = i, w
		}
	}
	return best
}

// place decides which identity leads, and how equal ones are ordered: with a session by descending rendezvous weight, otherwise
// cyclically from the home on.
func (q *Query) place(ranked []Ranked, members []Member, home int, now time.Time) {
	var leaders [2]*Ranked // among those that are not behind, and those that are
	stays := q.Session != 0 && home >= 0 && q.mayStay(&members[home], now)
	for i := range ranked {
		r := &ranked[i]
		at := int(r.listed)
		if q.Session != 0 {
			r.tie = ^weight(q.Session, r.Member.seed)
		} else {
			r.tie = uint64((at - home + len(members)) % len(members))
		}
		lead := q.lead(r, at == home, stays)
		if to := &leaders[behind(r)]; lead < freeTier && (*to == nil || lead < (*to).tier) {
			if *to != nil {
				(*to).tier = freeTier
			}
			r.tier, *to = lead, r
		}
	}
}

func behind(r *Ranked) int {
	if r.behind {
		return 1
	}
	return 0
}

// lead returns the tier of an identity if no better one leads. One that cannot lead keeps its tier.
func (q *Query) lead(r *Ranked, home, stays bool) tier {
	switch {
	case r.Group != Free:
	case stays && r.Member.Key == q.Last:
		return stayTier
	case home && q.Session != 0:
		return stickyTier
	case home:
		return turnTier
	case q.Session == 0:
	case r.Member.Key == q.Last:
		return lastTier
	case r.Member.Key == q.Advised && q.usesTools() && !r.behind:
		return advisedTier
	}
	return r.tier
}

func (q *Query) tried(m *Member) bool { return slices.Contains(q.Tried, m.Key) }

func compare(a, b Ranked) int {
	switch {
	case a.behind != b.behind:
		return behind(&a) - behind(&b)
	case a.tier != b.tier:
		return cmp.Compare(a.tier, b.tier)
	case a.major != b.major:
		return cmp.Compare(a.major, b.major)
	case a.minor != b.minor:
		return cmp.Compare(a.minor, b.minor)
	}
	return cmp.Compare(a.tie, b.tie)
}
