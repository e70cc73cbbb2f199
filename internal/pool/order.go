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

// NewMember joins an identity's representative with its live state.
func NewMember(a Account, h *Health) Member { return Member{a, h, seedOf(a.Key)} }

// Request is what the scheduler has to know about a client's request.
type Request struct {
	Session Session
	Scope   quota.Scope // of the upstream model
	// ToolScope is the scope that the request may use as well, through its tools (SEL-4b); empty = none.
	ToolScope quota.Scope
}

// Query is a request together with the policy that holds for it and what came before it.
type Query struct {
	Request
	Policy Policy
	Turn   uint64       // how many requests without a session came before (SEL-2)
	Last   identity.Key // who last served the session (SEL-2b); zero = unknown
	Since  time.Time    // when Last served a request of this kind, whose cache this one can use; zero = never (STR-6)
	// Advised last served a request of the session with an advisor in the place of Last; zero = none did.
	Advised identity.Key
	Tried   []identity.Key // what this request has tried already: left out, and not usable any more
}

// Group is the first thing that candidates are ordered by (SEL-10).
type Group uint8

// The groups, best first.
const (
	Free     Group = iota // available, not near its quota
	Near                  // available, near its quota but not over the hard threshold
	OverHard              // available, over the hard threshold
	NoLogin               // available, but its credential was rejected and has not changed since (SEL-8b)
	Cooling               // in a cooldown
	Out                   // not in the list at all
)

// String is the group's name in logs.
func (g Group) String() string {
	return [...]string{"free", "near_quota", "over_hard", "needs_login", "cooled", "out"}[g]
}

// Reason says in one word why a request, or a session, is where it is.
type Reason string

// Why a candidate stands first although others might do: [Ranked.Why], [Candidate.Why].
const (
	Sticky     Reason = "sticky"      // the session's home (SEL-1)
	RoundRobin Reason = "round_robin" // it is its turn (SEL-2)
	LastServed Reason = "last_served" // it serves the session while the home is not usable (SEL-2b), or until it is cold (STR-6)
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
	Ramp        Reason = "ramp"         // its ramp admits no more requests for the moment (RMP-2)
	Failover    Reason = "failover"     // this request tried it and it failed
	PoolChanged Reason = "pool_changed" // it left the pool, or the pool's change gave the session another home
	Returned    Reason = "returned"     // the session's home is usable again
)

// Ranked is one identity in its place. It is small: sorting moves it about on every request.
type Ranked struct {
	Member *Member
	Group  Group
	tier   tier
	behind bool // others are free in the scope of the request's tools, and this one is not (SEL-4b)
	listed int32
	// What orders it in its tier, field by field, ascending; what major and minor mean depends on the tier.
	major, minor int64
	tie          uint64
}

// Why is why it leads, or why it is Out; empty if only SEL-10 speaks for its place.
func (r *Ranked) Why() Reason {
	if r.behind && r.leads() {
		return ""
	}
	return reasons[r.tier]
}

// tier is what an order goes by first: who leads, and then the groups of SEL-10, of which the two near ones are one
// without a plan.
type tier uint8

const (
	stayTier tier = iota // the session stays there although its home is free again (STR-6)
	stickyTier
	turnTier
	lastTier
	advisedTier
	freeTier
	nearTier
	overHardTier
	noLoginTier
	ownTier      // and the next four are Cooling: the session's own (FO-15),
	coolingTier  // those that recover before any of the next,
	faultTier    // those that a fault of the service cooled (FO-0c),
	laterTier    // those that recover later than the first of these,
	refusedTier  // and those whose credential was rejected, which time alone does not bring back (ERR-2b)
	disabledTier // and what follows is Out
	pausedTier
	cappedTier
)

var reasons = [...]Reason{
	stayTier: LastServed, stickyTier: Sticky, turnTier: RoundRobin, lastTier: LastServed, advisedTier: LastServed,
	disabledTier: Disabled, pausedTier: Paused, cappedTier: Capped,
}

// leads reports whether it ranks before all others, or before all others that are behind.
func (r *Ranked) leads() bool { return r.tier < freeTier }

// Order ranks the identities that may serve a request, best first (SEL-1 to SEL-11): everyone selectable that was not
// tried yet, exactly once. It reads and never writes; equal input gives equal output.
func Order(members []Member, q Query, now time.Time) []Ranked {
	ranked, _ := order(members, &q, now)
	return ranked
}

// order also returns the index of the identity that the request would go to if all were well, -1 if there is none: the
// session's home over all identities (SEL-1), or whose turn it is among the selectable ones (SEL-2).
func order(members []Member, q *Query, now time.Time) (ranked []Ranked, home int) {
	ranked, home = standing(make([]Ranked, 0, len(members)), members, q, now)
	slices.SortFunc(ranked, compare)
	return ranked, home
}

// standing is order without the order; it appends to dst.
func standing(dst []Ranked, members []Member, q *Query, now time.Time) (ranked []Ranked, home int) {
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
	placeCooling(ranked, own)
	return ranked, home
}

// own is the index of the cooled identity that the session belongs to: its home or, if that is not cooled, the one that
// last served it; -1 if there is none (FO-15). It stays the session's own after this request has tried it.
func (q *Query) own(ranked []Ranked, home int) int {
	own := -1
	if q.Session == 0 {
		return own
	}
	for i := range ranked {
		switch r := &ranked[i]; {
		case r.Group != Cooling:
		case int(r.listed) == home:
			return home
		case r.Member.Key == q.Last:
			own = int(r.listed)
		}
	}
	return own
}

// placeCooling orders group (d): the session's own identity, then by recovery. Those that a fault of the service cooled are
// one block, in the place of the first of them to recover and ordered by priority and tie, so that sessions do
// not pile up on whichever recovers first (FO-0c).
func placeCooling(ranked []Ranked, own int) {
	first := int64(math.MaxInt64)
	for i := range ranked {
		r := &ranked[i]
		if r.Group == Cooling && int(r.listed) == own {
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

// atHome is the session's home, if it is free: it goes before all others (SEL-1), so that nobody has to look at them.
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

// mayStay reports whether the session stays away from a home that is free again, if the identity that it is on is free as
// well: as long as it is warm, because a move pays for the whole cache again, unless an operator has said since to try the
// home again (STR-6).
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

// homeOf is the index of the session's home, -1 if there are no members.
func homeOf(members []Member, s Session) int {
	best, most := -1, uint64(0)
	for i := range members {
		if w := weight(s, members[i].seed); best < 0 || w > most {
			best, most = i, w
		}
	}
	return best
}

// place decides who leads, and how equals are ordered: by descending rendezvous weight with a session, else cyclically
// from the home on.
func (q *Query) place(ranked []Ranked, members []Member, home int, now time.Time) {
	var leaders [2]*Ranked // of those that are not behind, and of those that are
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

// lead returns the tier of an identity if no better one leads; if it never leads, that is the tier that it has.
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
