package pool

import (
	"slices"
	"time"

	"shunt/internal/identity"
	"shunt/internal/quota"
)

// Selection is the decisions for one request. It belongs to one goroutine.
type Selection struct {
	pool    *Pool
	members []Member // those of the moment the request began
	query   Query
	from    string         // the name of who last served the session: of query.Last
	oldHome uint64         // the seed of what was the session's home then
	denied  []identity.Key // whom their ramps kept from being tried so far
	current *Health        // who was chosen last
	slot    *Health        // who counts this request among those it has in hand
	verdict Verdict        // why the last Next found nobody
	waited  time.Duration  // for a slot, in all
	cooled  int            // how many of those that were tried were cooled
	doubts  []doubt        // failures that may be the fault of this request
}

// cooledTries is how many cooled identities a request tries: fifty exhausted accounts cost two requests, not fifty (FO-15).
const cooledTries = 2

// Candidate is an identity chosen for an attempt.
type Candidate struct {
	Name  string
	Key   identity.Key
	Group Group
	// Why is Sticky, RoundRobin or LastServed, else the reason why the preferred identity was not the choice.
	Why Reason
	// Detour is set if a better candidate was passed over for the sake of this one request (Ramp, Advisor): if this one
	// serves, the session stays where it was all the same.
	Detour bool

	home uint64
	at   time.Time // of the choice
	move Reason    // why the session leaves its seat for this candidate; empty if it does not
}

// Begin starts the decisions for a request. Without a session it takes the next turn, once for all its attempts.
func (p *Pool) Begin(req Request) *Selection { return p.begin(req, &p.lineup) }

func (p *Pool) begin(req Request, among *lineup) *Selection {
	p.registry.mu.Lock()
	defer p.registry.mu.Unlock()
	s := p.selection(req, among)
	if req.Session == 0 {
		p.turn++
	}
	return s
}

// selection is a request's beginning as things stand; it changes nothing.
func (p *Pool) selection(req Request, among *lineup) *Selection {
	s := &Selection{pool: p, members: among.members, query: Query{Request: req, Policy: among.policy, Turn: p.turn}}
	if req.Session != 0 {
		if m, known := p.sessions.Peek(req.Session); known {
			seat := m.seat(req.Scope)
			s.from, s.oldHome = seat.name, seat.home
			s.query.Last, s.query.Since, s.query.Advised = seat.key, seat.at, m.advised
		}
	}
	return s
}

// NextAvailable is like [Selection.Next], but not ok if only cooled ones are left, or ones that need a login: to try
// those would be a wasted round trip (SEL-8b).
func (s *Selection) NextAvailable() (Candidate, bool) {
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	s.release(now)
	c, found := s.choose(OverHard, false, now)
	return c, found == someone
}

// found is the result of a choice.
type found uint8

const (
	full    found = iota // the ramps of all available ones admit no more requests
	nobody               // is left
	someone              // was chosen
)

// choose takes the best candidate whose group is no worse than the given one. If patient, none is taken over its
// allowance.
func (s *Selection) choose(worst Group, patient bool, now time.Time) (Candidate, found) {
	if s.cooled == cooledTries {
		worst = min(worst, NoLogin)
	}
	chosen, found := s.best(worst, patient, now)
	if found != someone {
		return Candidate{}, found
	}
	c := s.candidate(&chosen, now)
	s.query.Tried = append(s.query.Tried, c.Key)
	if c.Group == Cooling {
		s.cooled++
	}
	if s.current != nil {
		s.current.Rotations++
	}
	s.current = chosen.Member.Health
	s.current.Requests++
	s.current.LastUsed = now
	s.release(now)
	s.take(s.current, now)
	return c, someone
}

// choice is a candidate and how it came to be one.
type choice struct {
	Ranked
	home   int    // see [order]
	passed Reason // why a better one was passed over for this request alone: Ramp or Advisor; empty = none was
}

// best is the first in order whose ramp admits the request, if its group is no worse than the given one.
func (s *Selection) best(worst Group, patient bool, now time.Time) (choice, found) {
	if chosen, home, ok := atHome(s.members, &s.query, now); ok && s.admits(&chosen, now) {
		return choice{chosen, home, ""}, someone
	}
	r := s.pool.registry
	var home int
	r.ranked, home = standing(r.ranked[:0], s.members, &s.query, now)
	defer clear(r.ranked)
	if len(r.ranked) == 0 {
		s.verdict = judge(s.members, &s.query, now)
		return choice{}, nobody
	}
	bestFirst(r.ranked)
	if r.ranked[0].Group > worst {
		return choice{}, nobody
	}
	at, last := s.admitted(r.ranked, now)
	switch {
	case at < 0 && patient:
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
	return c, someone
}

// bestFirst swaps the best candidate to the front: mostly it is taken, and nobody asks for the order of the others.
func bestFirst(ranked []Ranked) {
	best := 0
	for i := range ranked {
		if compare(ranked[i], ranked[best]) < 0 {
			best = i
		}
	}
	ranked[0], ranked[best] = ranked[best], ranked[0]
}

// admitted is the place of the first available candidate whose ramp admits the request, and that of the last available
// one; -1 if none does (RMP-2). Those that do not are passed over until the others have been tried. No ramp keeps a
// request from a candidate that is not available.
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
		c.Why = s.against(home, now)
	}
	if !s.query.Last.IsZero() && s.query.Last != c.Key {
		c.move = s.leaving(&chosen.Ranked, now)
	}
	return c
}

// Resume counts the request among those of a candidate that gets it once more, after others were looked for.
func (s *Selection) Resume(c Candidate) {
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	s.release(now)
	s.take(r.healthOf(c.Key), now)
}

// Release says that the identity has the request in hand no more (RMP-3). It may be called more than once.
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

// against says what keeps an identity from being used for this request.
func (s *Selection) against(m *Member, now time.Time) Reason {
	if s.query.tried(m) {
		return Failover
	}
	switch r := rank(m, &s.query, now); r.Group {
	case Out:
		return r.Why()
	case Cooling:
		return Cooled
	case NoLogin:
		return NeedsLogin
	case Near, OverHard:
		return NearQuota
	}
	return ""
}

// Observe takes in the outcome of this request's attempt at a candidate, as [Pool.Observe] does. But a failure that may be
// the fault of the request or of the service is held against the account for a moment only, until another account serves
// this same request (FO-0c, SEL-8b).
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

// Verdict says why no identity was in the list: how many are out of it for which reason. All zero: there are none.
type Verdict struct {
	Disabled, Paused, Capped int
	Eligible                 time.Time // when the first of the capped comes back (CAP-4); zero without one
}

// Verdict is why the last Next found nobody.
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
