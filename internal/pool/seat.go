package pool

import (
	"time"

	"shunt/internal/identity"
	"shunt/internal/quota"
)

// sessionLimit bounds how many sessions a pool remembers, least recently used first out (SEL-30).
const sessionLimit = 100_000

// memory is what the pool remembers of a session.
type memory struct {
	seats         []seat // one for each scope that it has used, see [memory.seat]
	moved, warned bool   // ever (SEL-31)
	// advised last served a request in place of the seat, for the sake of its tools. The next such request follows it, so that
	// a conversation does not change its account with every turn (SEL-2b, SEL-4b).
	advised identity.Key
}

// seat is the account that a session's requests of one scope use.
type seat struct {
	scope quota.Scope  // of the requests
	key   identity.Key // the identity that last served it
	name  string       // the account's name
	home  uint64       // the seed of the session's home then
	at    time.Time    // when the last request that it served began; zero = one of another scope, whose cache is of no use
}

// seat returns where requests of a scope were last served, or else where the latest of any other scope was. The scopes are
// remembered separately because they draw on different windows. With one memory for all, a session whose requests of one scope had
// to leave its home would move back and forth with every other request beside them, and each request would follow the others
// away from a prompt cache that was its own: no model shares another's.
func (m *memory) seat(scope quota.Scope) seat {
	var latest seat
	for i := range m.seats {
		s := &m.seats[i]
		if s.scope == scope {
			return *s
		}
		if latest.key.IsZero() || s.at.After(latest.at) {
			latest = *s
		}
	}
	latest.at = time.Time{}
	return latest
}

// own returns the seat of a scope, a new one if need be.
func (m *memory) own(scope quota.Scope) *seat {
	for i := range m.seats {
		if m.seats[i].scope == scope {
			return &m.seats[i]
		}
	}
	m.seats = append(m.seats, seat{scope: scope})
	return &m.seats[len(m.seats)-1]
}

// Move is a session that changed its account (SEL-30).
type Move struct {
	From, To string // account names
	Reason   Reason
}

// Served records that the response of a candidate goes to the client, and returns the move of the session if there is one. A
// detour of this request alone changes nothing for the session (SEL-30).
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
	// Requests of one session may run concurrently; the first one that is served there has reported the move.
	moves := c.move != "" && m.seat(s.query.Scope).key != c.Key
	own := m.own(s.query.Scope)
	if own.key == c.Key && own.at.After(c.at) {
		c.at = own.at // a request that began later was served sooner
	}
	*own = seat{scope: s.query.Scope, key: c.Key, name: c.Name, home: c.home, at: c.at}
	m.moved = m.moved || moves
	if !moves {
		return Move{}, false
	}
	return Move{From: s.from, To: c.Name, Reason: c.move}, true
}

// Moved reports whether the session has ever moved and has not been warned about yet (SEL-31).
func (s *Selection) Moved() bool {
	r := s.pool.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	m, known := s.pool.sessions.Peek(s.query.Session)
	return known && m.moved && !m.warned
}

// WarnMoved is like Moved, and records the warning: it returns true once for each session.
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

// leaving returns why the session leaves its seat, as of the time of the choice.
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
	case best.tier == stickyTier: // its home has changed
		return PoolChanged
	}
	return s.obstacle(last, now)
}
