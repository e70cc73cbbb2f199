package pool

import (
	"time"

	"shunt/internal/identity"
)

// Selection is the decisions for one request. It belongs to one goroutine.
type Selection struct {
	pool    *Pool
	members []Member // those of the moment the request began
	query   Query
	seat    seat    // where the session sat then
	current *Health // who was chosen last
}

// Candidate is an identity chosen for an attempt.
type Candidate struct {
	Name  string
	Key   identity.Key
	Group Group
	// Why is Sticky, RoundRobin or LastServed, else the reason why the preferred identity was not the choice.
	Why Reason

	home uint64
	move Reason // why the session leaves its seat for this candidate; empty if it does not
}

// Move is a session that changed its account (SEL-30).
type Move struct {
	From, To string // account names
	Reason   Reason
}

// Begin starts the decisions for a request. Without a session it takes the next turn, once for all its attempts.
func (p *Pool) Begin(req Request) *Selection {
	p.registry.mu.Lock()
	defer p.registry.mu.Unlock()
	s := &Selection{pool: p, members: p.members, query: Query{Request: req}}
	if req.Session == 0 {
		s.query.Turn = p.turn
		p.turn++
		return s
	}
	s.seat, _ = p.sessions.Get(req.Session)
	s.query.Last = s.seat.key
	return s
}

// Next is the best identity as things stand now that this request has not tried yet; not ok if none is left.
func (s *Selection) Next() (Candidate, bool) { return s.next(Cooling) }

// NextAvailable is like [Selection.Next], but not ok if only cooled ones are left.
func (s *Selection) NextAvailable() (Candidate, bool) { return s.next(OverHard) }

// next chooses the first candidate if its group is no worse than the given one.
func (s *Selection) next(worst Group) (Candidate, bool) {
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	ranked := Order(s.members, s.query, now)
	if len(ranked) == 0 || ranked[0].Group > worst {
		return Candidate{}, false
	}
	c := s.candidate(&ranked[0], now)
	s.query.Tried = append(s.query.Tried, c.Key)
	if s.current != nil {
		s.current.Rotations++
	}
	s.current = ranked[0].Member.Health
	s.current.Requests++
	s.current.LastUsed = now
	return c, true
}

func (s *Selection) candidate(best *Ranked, now time.Time) Candidate {
	home := &s.members[preferred(s.members, s.query)]
	c := Candidate{
		Name: best.Member.Name, Key: best.Member.Key, Group: best.Group, Why: best.Why,
		home: home.seed,
	}
	if c.Why == "" {
		c.Why = s.against(home, now)
	}
	if !s.seat.key.IsZero() && s.seat.key != c.Key {
		c.move = s.leaving(best, now)
	}
	return c
}

// leaving says why the session does not stay where it sits, judged by the state at the time of the choice.
func (s *Selection) leaving(best *Ranked, now time.Time) Reason {
	var last *Member
	for i := range s.members {
		if s.members[i].Key == s.seat.key {
			last = &s.members[i]
		}
	}
	switch {
	case last == nil:
		return PoolChanged
	case best.Why == Sticky && best.Member.seed == s.seat.home:
		return Returned
	case best.Why == Sticky: // its home is another than it was
		return PoolChanged
	}
	return s.against(last, now)
}

// against says what keeps an identity from being used for this request.
func (s *Selection) against(m *Member, now time.Time) Reason {
	switch {
	case s.query.tried(m):
		return Failover
	case !m.selectable():
		return Disabled
	}
	switch rank(m, s.query, now).Group {
	case Cooling:
		return Cooled
	case Near, OverHard:
		return NearQuota
	}
	return ""
}

// Served records that the answer of a candidate went to the client, and reports the move of the session if that is one.
// A detour of this one request changes nothing (SEL-30).
func (s *Selection) Served(c Candidate, detour bool) (Move, bool) {
	if s.query.Session == 0 || detour {
		return Move{}, false
	}
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	before, _ := s.pool.sessions.Get(s.query.Session)
	s.pool.sessions.Add(s.query.Session, seat{c.Key, c.Name, c.home})
	// Requests of one session run side by side; the first of them to be served there has reported the move.
	if c.move == "" || before.key == c.Key {
		return Move{}, false
	}
	return Move{From: s.seat.name, To: c.Name, Reason: c.move}, true
}
