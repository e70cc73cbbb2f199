package simulate

import (
	"math/rand/v2"
	"time"

	"shunt/internal/family/claude"
)

// scheduler is a policy: it chooses accounts for one turn after the other.
type scheduler interface {
	// begin starts a turn.
	begin(t *turn, now time.Duration)
	// next returns the account to try; not ok if the client gets a 429 now.
	next() (account int, ok bool)
	// observe records the response of the account that next returned.
	observe(account int, a *response)
}

// cooldowns is the part that the simple policies share. They know quota from refusals alone. They are better than the tools that
// use them: an account that refuses cools down exactly until it can serve again, for Fable and for other models separately, and
// the request goes to the next one.
type cooldowns struct {
	until [][2]time.Duration // by account: for other requests, for Fable
	now   time.Duration
	fable int
	tried uint64 // by this turn, a bit an account
}

func newCooldowns(accounts int) cooldowns {
	return cooldowns{until: make([][2]time.Duration, accounts)}
}

func (r *cooldowns) begin(t *turn, now time.Duration) {
	r.now, r.fable, r.tried = now, 0, 0
	if t.fable {
		r.fable = 1
	}
}

// usable reports whether an account may be tried, and if so, marks it as tried.
func (r *cooldowns) usable(account int) bool {
	if r.tried>>account&1 == 1 || r.until[account][r.fable] > r.now {
		return false
	}
	r.tried |= 1 << account
	return true
}

func (r *cooldowns) observe(account int, a *response) {
	for w := range claude.WindowCount {
		if a.full.Has(w) {
			until := &r.until[account]
			until[1] = max(until[1], a.resets[w])
			if w != claude.Fable {
				until[0] = max(until[0], a.resets[w])
			}
		}
	}
}

// roundRobin gives each request to the next account.
type roundRobin struct {
	cooldowns
	turn int
}

func (s *roundRobin) next() (int, bool) {
	for range s.until {
		account := s.turn % len(s.until)
		s.turn++
		if s.usable(account) {
			return account, true
		}
	}
	return 0, false
}

// fillFirst uses the first account until it refuses, then the second, and returns as soon as it can.
type fillFirst struct{ cooldowns }

func (s *fillFirst) next() (int, bool) {
	for account := range s.until {
		if s.usable(account) {
			return account, true
		}
	}
	return 0, false
}

// anywhere gives each request to an account at random.
type anywhere struct {
	cooldowns
	rng *rand.Rand
}

func (s *anywhere) next() (int, bool) {
	for _, account := range s.rng.Perm(len(s.until)) {
		if s.usable(account) {
			return account, true
		}
	}
	return 0, false
}

// stickyOnly keeps each session on the home that it has with shunt, even if the home refuses.
type stickyOnly struct {
	homes    []int // by session
	accounts int   // how many there are
	turn     int   // of requests without a session
	home     int
	tried    bool
}

func (s *stickyOnly) begin(t *turn, _ time.Duration) {
	s.tried = false
	if t.session >= 0 {
		s.home = s.homes[t.session]
		return
	}
	s.turn++
	s.home = s.turn % s.accounts
}

func (s *stickyOnly) next() (int, bool) {
	first := !s.tried
	s.tried = true
	return s.home, first
}

func (s *stickyOnly) observe(int, *response) {}
