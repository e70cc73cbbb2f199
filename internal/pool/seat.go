package pool

import (
	"time"

	"shunt/internal/identity"
)

// sessionLimit bounds how many sessions a pool remembers, least recently used first out (SEL-30).
const sessionLimit = 100_000

// memory is what is kept of a session.
type memory struct {
	seats         [2]seat // of its Fable requests and of its others, see [memory.seat]
	moved, warned bool    // ever (SEL-31)
	// advised served a request with an advisor last, in the place of the seat. The next such request follows it, so that
	// a conversation does not change its account with every turn (SEL-2b, SEL-4b).
	advised identity.Key
}

// seat is where a session sits.
type seat struct {
	key  identity.Key // who served it last
	name string       // under which name
	home uint64       // the seed of what was its home then
	at   time.Time    // when the request began that it served last; zero = one of another kind, whose cache is of no use
}

// seat is where the session sits as far as a request is concerned: where requests of its kind were served last, else where
// any was. The two kinds are remembered apart because they draw on different weeks. One memory for both would send a
// session whose Fable turns had to leave its home back and forth with every turn of a smaller model beside them, and each
// of them would follow the other away from a prompt cache that was its own: no model shares another's.
func (m *memory) seat(fable bool) seat {
	if own := m.seats[family(fable)]; !own.key.IsZero() {
		return own
	}
	other := m.seats[family(!fable)]
	other.at = time.Time{}
	return other
}

func family(fable bool) int {
	if fable {
		return 1
	}
	return 0
}

// Move is a session that changed its account (SEL-30).
type Move struct {
	From, To string // account names
	Reason   Reason
}

// Served records that the response of a candidate went to the client, and reports the move of the session if that is one.
// A detour of this one request changes nothing for the session (SEL-30).
func (s *Selection) Served(c Candidate, detour bool) (Move, bool) {
	advised := c.Why == Advisor && !detour
	stays := s.query.Session == 0 || detour || c.Detour && !advised
	if stays && s.doubts == nil {
		return Move{}, false
	}
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range s.doubts {
		if d.key != c.Key {
			h := r.healthOf(d.key)
			h.confirm(d)
			r.touched(h, r.clock.Now())
		}
	}
	s.doubts = nil
	if stays {
		return Move{}, false
	}
	m, known := s.pool.sessions.Get(s.query.Session)
	if !known {
		m = new(memory)
		s.pool.sessions.Add(s.query.Session, m)
	}
	if advised {
		m.advised = c.Key
		return Move{}, false
	}
	// Requests of one session run side by side; the first of them to be served there has reported the move.
	moves := c.move != "" && m.seat(s.query.Fable).key != c.Key
	own := &m.seats[family(s.query.Fable)]
	if own.key == c.Key && own.at.After(c.at) {
		c.at = own.at // a request that began later was served sooner
	}
	*own = seat{key: c.Key, name: c.Name, home: c.home, at: c.at}
	m.moved = m.moved || moves
	if !moves {
		return Move{}, false
	}
	return Move{From: s.from, To: c.Name, Reason: c.move}, true
}

// Moved reports whether the session has ever moved and nobody was warned of it (SEL-31).
func (s *Selection) Moved() bool {
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	m, known := s.pool.sessions.Peek(s.query.Session)
	return known && m.moved && !m.warned
}

// WarnMoved is Moved, and takes the warning as given: it is true once in the life of a session.
func (s *Selection) WarnMoved() bool {
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	m, known := s.pool.sessions.Peek(s.query.Session)
	if !known || !m.moved || m.warned {
		return false
	}
	m.warned = true
	return true
}

// leaving says why the session does not stay where it sits, judged by the state at the time of the choice.
func (s *Selection) leaving(best *Ranked, now time.Time) Reason {
	var last *Member
	for i := range s.members {
		if s.members[i].Key == s.query.Last {
			last = &s.members[i]
		}
	}
	switch {
	case last == nil:
		return PoolChanged
	case best.tier == stickyTier && best.Member.seed == s.oldHome:
		return Returned
	case best.tier == stickyTier: // its home is another than it was
		return PoolChanged
	}
	return s.against(last, now)
}
