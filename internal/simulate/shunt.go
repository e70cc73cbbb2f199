package simulate

import (
	"context"
	"fmt"
	"time"

	"shunt/internal/clock"
	"shunt/internal/family/claude"
	"shunt/internal/identity"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

// shunt is the real scheduler, used as the gateway uses it, with a clock of its own.
type shunt struct {
	pool      *pool.Pool
	accounts  []pool.Account
	index     map[identity.Key]int
	sessions  []pool.Session
	now       time.Time
	start     time.Time
	turn      *turn
	selection *pool.Selection
	candidate pool.Candidate
}

func newShunt(w *workload, threshold float64, p pool.Policy) *shunt {
	s := &shunt{start: w.start, now: w.start, accounts: poolAccounts(w, threshold), sessions: sessionsOf(w), index: map[identity.Key]int{}}
	for i, a := range s.accounts {
		s.index[a.Key] = i
	}
	s.pool = pool.NewRegistry(clock.Virtual(func() time.Time { return s.now }), map[string]*quota.Table{claude.Family.Name: claude.Family.Windows}).Pool("simulated")
	s.pool.Configure(s.accounts, p)
	return s
}

func poolAccounts(w *workload, threshold float64) []pool.Account {
	soft := quota.Setting{}
	if threshold > 0 {
		soft.All = &threshold
	}
	accounts := make([]pool.Account, len(w.accounts))
	for i, a := range w.accounts {
		accounts[i] = pool.Account{Name: a.name, Key: identity.OfAccount(claude.Family.Name, a.name, ""), Soft: quota.Soft(quota.DefaultHard, soft)}
	}
	return accounts
}

func sessionsOf(w *workload) []pool.Session {
	sessions := make([]pool.Session, w.sessions)
	for i := range sessions {
		sessions[i] = pool.SessionOf(w.sessionID(int32(i)))
	}
	return sessions
}

// homes returns the account that the scheduler prefers for each session.
func homes(w *workload) []int {
	accounts := poolAccounts(w, 0)
	members := make([]pool.Member, len(accounts))
	index := map[identity.Key]int{}
	for i, a := range accounts {
		members[i] = pool.NewMember(a, &pool.Health{})
		index[a.Key] = i
	}
	all := make([]int, w.sessions)
	for i, s := range sessionsOf(w) {
		all[i] = index[pool.Order(members, pool.Query{Criteria: pool.Criteria{Session: s}}, w.start)[0].Member.Key]
	}
	return all
}

func (s *shunt) begin(t *turn, now time.Duration) {
	s.now, s.turn = s.start.Add(now), t
	request := pool.Criteria{Scope: scopeOf(t)}
	if t.session >= 0 {
		request.Session = s.sessions[t.session]
	}
	s.selection = s.pool.Begin(request)
}

func scopeOf(t *turn) quota.Scope {
	if t.fable {
		return claude.FableScope
	}
	return ""
}

func (s *shunt) next() (int, bool) {
	var ok bool
	s.candidate, ok = s.selection.Next(context.Background()) // without ramps it never waits
	return s.index[s.candidate.Key], ok
}

// The limits of a cooldown after a refusal.
const leastCooldown, mostCooldown = time.Second, time.Hour

// observe handles a response as the gateway does by its failover table.
func (s *shunt) observe(_ int, a *response) {
	key := s.candidate.Key
	seen := pool.Outcome{Sent: s.now, Scope: scopeOf(s.turn), Signal: a.signal}
	if a.served {
		seen.Event = pool.Success
		s.pool.Observe(key, seen)
		s.selection.Served(s.candidate, false)
		s.selection.Release()
		return
	}
	seen.Event, seen.Cooldown = pool.Rejected, min(max(a.retry, leastCooldown), mostCooldown)
	if a.fableOnly() {
		seen.Event, seen.RejectedScope = pool.ScopeRejected, claude.FableScope
	}
	s.pool.Observe(key, seen)
}

// poll handles a response of the usage endpoint for an account (QUO-22).
func (s *shunt) poll(account int, now time.Duration, u quota.Usage) {
	s.now = s.start.Add(now)
	s.pool.ObserveUsage(s.accounts[account].Key, u, s.now)
}

// sessionID returns the session's ID as its client would send it.
func (w *workload) sessionID(session int32) string {
	if len(w.names) > 0 {
		return w.names[session]
	}
	return fmt.Sprintf("session-%d", session)
}
