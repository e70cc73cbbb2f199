package pool

import (
	"slices"
	"time"

	"shunt/internal/identity"
	"shunt/internal/quota"
)

// Selection makes the decisions for one request. It belongs to one goroutine.
type Selection struct {
	pool    *Pool
	members []Member // as of when the request began
	query   Query
	from    string         // the name of query.Last
	oldHome uint64         // the seed of the session's home when query.Last served it
	denied  []identity.Key // those whose ramps have not admitted the request so far
	current *Health        // of the identity that was chosen last
	slot    *Health        // of the identity that counts this request as in flight
	verdict Verdict        // why the last Next found no identity
	waited  time.Duration  // for a slot, in total
	cooled  int            // how many of those that were tried were cooling down
	doubts  []doubt        // failures that may be the fault of this request
}

// cooledTries is how many identities that cool down a request tries: fifty exhausted accounts cost two requests, not
// fifty (FO-15).
const cooledTries = 2

// Candidate is an identity chosen for an attempt.
type Candidate struct {
	Name  string
	Key   identity.Key
	Group Group
	// Why is Sticky, RoundRobin or LastServed, else the reason why the preferred identity was not the choice.
	Why Reason
	// Detour is set if a better candidate was passed over for this request alone (Ramp, Advisor): even if this one serves,
	// the session stays where it was.
	Detour bool

	home uint64
	at   time.Time // of the choice
	move Reason    // why the session moves to this candidate; empty if it does not
}

// Begin starts the decisions for a request. A request without a session takes the next turn, once for all its attempts.
func (p *Pool) Begin(req Criteria) *Selection { return p.begin(req, &p.lineup) }

func (p *Pool) begin(req Criteria, among *lineup) *Selection {
	p.registry.mu.Lock()
	defer p.registry.mu.Unlock()
	s := p.selection(req, among)
	if req.Session == 0 {
		p.turn++
	}
	return s
}

// selection returns what a request would begin with now; it changes nothing.
func (p *Pool) selection(req Criteria, among *lineup) *Selection {
	s := &Selection{pool: p, members: among.members, query: Query{Criteria: req, Policy: among.policy, Turn: p.turn}}
	if req.Session != 0 {
		if m, known := p.sessions.Peek(req.Session); known {
			seat := m.seat(req.Scope)
			s.from, s.oldHome = seat.name, seat.home
			s.query.Last, s.query.Since, s.query.Advised = seat.key, seat.at, m.advised
		}
	}
	return s
}

// NextAvailable is like [Selection.Next], but not ok if all that are left cool down or need a login: to try those would be a
// wasted round trip (SEL-8b).
func (s *Selection) NextAvailable() (Candidate, bool) {
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	s.release(now)
	c, found := s.choose(OverHard, false, now)
	return c, found == chosen
}

// found is the result of a search for an identity.
type found uint8

const (
	full   found = iota // the ramps of all available ones admit no more requests
	none                // none is left
	chosen              // one was chosen
)

// choose takes the best candidate whose group is at least as good as worst. If wait is set, it takes none over its allowance,
// because the request can wait for a slot.
func (s *Selection) choose(worst Group, wait bool, now time.Time) (Candidate, found) {
	if s.cooled == cooledTries {
		worst = min(worst, NoLogin)
	}
	best, found := s.best(worst, wait, now)
	if found != chosen {
		return Candidate{}, found
	}
	c := s.candidate(&best, now)
	s.query.Tried = append(s.query.Tried, c.Key)
	if c.Group == CoolingDown {
		s.cooled++
	}
	if s.current != nil {
		s.current.Rotations++
	}
	s.current = best.Member.Health
	s.current.Requests++
	s.current.LastUsed = now
	s.release(now)
	s.take(s.current, now)
	return c, chosen
}

// choice is a chosen candidate, with the reasons.
type choice struct {
	Ranked
	home   int    // see [order]
	passed Reason // why a better one was passed over for this request alone: Ramp or Advisor; empty if none was
}

// best returns the first in order whose ramp admits the request, if its group is at least as good as worst.
func (s *Selection) best(worst Group, wait bool, now time.Time) (choice, found) {
	if ranked, home, ok := atHome(s.members, &s.query, now); ok && s.admits(&ranked, now) {
		return choice{ranked, home, ""}, chosen
	}
	r := s.pool.registry
	var home int
	r.ranked, home = candidates(r.ranked[:0], s.members, &s.query, now)
	defer clear(r.ranked)
	if len(r.ranked) == 0 {
		s.verdict = judge(s.members, &s.query, now)
		return choice{}, none
	}
	bestFirst(r.ranked)
	if r.ranked[0].Group > worst {
		return choice{}, none
	}
	at, last := s.admitted(r.ranked, now)
	switch {
	case at < 0 && wait:
		return choice{}, full
	case at < 0:
		at = last
	}
	c := choice{Ranked: r.ranked[at], home: home}
	switch {
	case at > 0:
		c.passed = Ramp
	case !c.behind && slices.ContainsFunc(r.ranked, func(r Ranked) bool { return r.behind && r.leads() }):
		c.passed = Advisor
	}
	return c, chosen
}

// bestFirst swaps the best candidate to the front. Usually that one is taken, and the order of the others does not matter.
func bestFirst(ranked []Ranked) {
	best := 0
	for i := range ranked {
		if compare(ranked[i], ranked[best]) < 0 {
			best = i
		}
	}
	ranked[0], ranked[best] = ranked[best], ranked[0]
}

// admitted returns the index of the first available candidate whose ramp admits the request, and that of the last available
// one; -1 if there is none (RMP-2). Those whose ramps do not are passed over until the others have been tried. A candidate that
// is not available has no ramp.
func (s *Selection) admitted(ranked []Ranked, now time.Time) (at, last int) {
	if ranked[0].Group > OverHard || s.admits(&ranked[0], now) {
		return 0, 0
	}
	slices.SortFunc(ranked, compare)
	at, last = -1, -1 // at: the first of those that were passed over and have a slot now
	for i := range ranked {
		r := &ranked[i]
		if r.Group > OverHard {
			break
		}
		last = i
		switch passed := slices.Contains(s.denied, r.Member.Key); {
		case !s.hasSlot(r, now):
			if !passed {
				s.denied = append(s.denied, r.Member.Key)
			}
		case !passed:
			return i, i
		case at < 0:
			at = i
		}
	}
	return at, last
}

func (s *Selection) admits(r *Ranked, now time.Time) bool {
	return !slices.Contains(s.denied, r.Member.Key) && s.hasSlot(r, now)
}

func (s *Selection) hasSlot(r *Ranked, now time.Time) bool {
	return r.Member.Health.ramp.admits(s.query.Policy.RampInitial, now)
}

func (s *Selection) candidate(chosen *choice, now time.Time) Candidate {
	home := &s.members[chosen.home]
	c := Candidate{
		Name: chosen.Member.Name, Key: chosen.Member.Key, Group: chosen.Group, Why: chosen.Why(),
		Detour: chosen.passed != "",
		home:   home.seed,
		at:     now,
	}
	switch {
	case c.Detour:
		c.Why = chosen.passed
	case c.Why == "":
		c.Why = s.obstacle(home, now)
	}
	if !s.query.Last.IsZero() && s.query.Last != c.Key {
		c.move = s.leaving(&chosen.Ranked, now)
	}
	return c
}

// Resume counts the request as in flight at a candidate that gets it once more, after a search for another.
func (s *Selection) Resume(c Candidate) {
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	s.release(now)
	s.take(r.healthOf(c.Key), now)
}

// Release ends the request's time in flight at the identity (RMP-3). It may be called more than once.
func (s *Selection) Release() {
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	s.release(r.clock.Now())
}

func (s *Selection) take(h *Health, now time.Time) {
	h.ramp.take(now)
	s.slot = h
}

func (s *Selection) release(now time.Time) {
	if h := s.slot; h != nil {
		h.ramp.release(now)
		s.slot = nil
		s.pool.registry.touched(h, now)
	}
}

// obstacle returns what keeps an identity from serving this request; empty if nothing does.
func (s *Selection) obstacle(m *Member, now time.Time) Reason {
	if s.query.tried(m) {
		return Failover
	}
	switch r := rank(m, &s.query, now); r.Group {
	case Out:
		return r.Why()
	case CoolingDown:
		return Cooled
	case NoLogin:
		return NeedsLogin
	case Near, OverHard:
		return NearQuota
	}
	return ""
}

// Observe updates a candidate after this request's attempt, as [Pool.Observe] does. But an account cools down only briefly for a
// failure that may be the fault of the request or of the service, until another account serves the same request (FO-0c,
// SEL-8b).
func (s *Selection) Observe(c Candidate, o Outcome) {
	s.pool.update(c.Key, func(h *Health, soft quota.Thresholds, now time.Time) {
		doubtful := h.doubts(o.Event)
		if doubtful || o.Event == Unauthorized {
			s.doubts = append(s.doubts, doubt{c.Key, o.Event, now, now.Add(o.Cooldown)})
		}
		if doubtful {
			o.Cooldown = min(o.Cooldown, doubtfulCooldown)
		}
		h.observe(&o, soft, now)
	})
}

// Verdict is why the list was empty: how many identities are out of it for each reason. All zero means that there are none.
type Verdict struct {
	Disabled, Paused, Capped int
	Eligible                 time.Time // when the first of the capped ones may serve again (CAP-4); zero if none is capped
}

// Verdict returns why the last Next found no identity.
func (s *Selection) Verdict() Verdict { return s.verdict }

func judge(members []Member, q *Query, now time.Time) (v Verdict) {
	for i := range members {
		m := &members[i]
		switch r := rank(m, q, now); r.Why() {
		case Disabled:
			v.Disabled++
		case Paused:
			v.Paused++
		case Capped:
			v.Capped++
			if until := m.cappedUntil(q.Scope, now); v.Eligible.IsZero() || until.Before(v.Eligible) {
				v.Eligible = until
			}
		}
	}
	return v
}
