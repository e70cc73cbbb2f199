// Package pool is the scheduler: it decides which account serves a request, and keeps the health of the accounts.
//
// Its core is pure. [Order] ranks the identities of a pool for a request, and [Observe] turns an identity's health and
// the outcome of an attempt into its next health; both take the current time as an argument, so that a decision can
// be replayed from a log. Around them are a [Registry], the live state of all identities of the process, and a [Pool], one
// provider's configured accounts. The live state belongs to identities and survives every reconfiguration. [EncodeQuotas]
// writes the part of it that outlives the process.
//
// The package does no I/O, starts no goroutines, and knows no headers, status codes or credentials. It knows classes of models
// only as the scopes of quota windows.
//
// Registry and Pool are safe for concurrent use. One lock guards them all; it is held only during a decision and never while a
// request waits. A [Selection] belongs to the goroutine of its request.
package pool

import (
	"container/list"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"shunt/internal/clock"
	"shunt/internal/identity"
	"shunt/internal/quota"
)

// Registry holds the live state of every identity of the process. Pools of one registry that list the same identity
// share its state (ID-1).
type Registry struct {
	clock  clock.Clock
	tables map[string]*quota.Table // by the name of the family

	mu     sync.Mutex
	health map[identity.Key]*Health
	pools  map[string]*Pool
	ranked []Ranked // buffer for a decision

	waiters list.List // of *waiter, in arrival order (RMP-2, FO-6)
	changed []*Health // the accounts that are being offered to them
	offered time.Time // when all accounts were last offered
}

// NewRegistry returns an empty registry that decides by the time of c. Tables are the quota windows of each family of accounts,
// by its name.
func NewRegistry(c clock.Clock, tables map[string]*quota.Table) *Registry {
	return &Registry{clock: c, tables: tables, health: map[identity.Key]*Health{}, pools: map[string]*Pool{}}
}

// Pool is one provider's accounts, with its round-robin counter and its memory of sessions.
type Pool struct {
	registry *Registry

	// Guarded by the registry's lock.
	lineup
	turn     uint64
	sessions *simplelru.LRU[Session, *memory]
}

// lineup is the accounts that may serve, and the policy. Its slice of members is never modified, except for the health that
// the members point to.
type lineup struct {
	members []Member
	policy  Policy
	entries []entry // of the configuration, in listed order, aliases included
}

// entry is the name of one configured account, and its identity.
type entry struct {
	name string
	key  identity.Key
}

// Roster is a pool with the accounts of one configuration. A request that began with that configuration uses only these
// accounts, even after a reload (CFG-50). The turn, the sessions and all live state are those of the pool.
type Roster struct {
	*Pool
	lineup lineup
}

// Begin is like [Pool.Begin], among the accounts of the roster.
func (r *Roster) Begin(req Criteria) *Selection { return r.begin(req, &r.lineup) }

// Pool returns the pool of that name, and creates it on first use. After a reload it is still the same one, with its
// state (SEL-12).
func (r *Registry) Pool(name string) *Pool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pools[name]
	if p == nil {
		p = &Pool{registry: r}
		p.sessions, _ = simplelru.NewLRU[Session, *memory](sessionLimit, nil) // fails only for a size below 1
		r.pools[name] = p
	}
	return p
}

// Configure replaces the accounts of the pool and the policy. Requests that have begun keep the accounts they began with, as do
// those that begin on an older roster.
func (p *Pool) Configure(accounts []Account, policy Policy) *Roster {
	representatives := collapse(accounts)
	p.registry.mu.Lock()
	defer p.registry.mu.Unlock()
	members := make([]Member, len(representatives))
	for i, a := range representatives {
		members[i] = NewMember(a, p.registry.healthOf(a.Key))
	}
	entries := make([]entry, len(accounts))
	for i, a := range accounts {
		entries[i] = entry{a.Name, a.Key}
	}
	p.lineup = lineup{members, policy, entries}
	return &Roster{p, p.lineup}
}

// collapse keeps one representative of each identity, at the position where the identity is listed first: an enabled alias
// before a disabled one, then the lowest priority, then the first listed (ID-2).
func collapse(accounts []Account) []Account {
	var kept []Account
	at := map[identity.Key]int{}
	for _, a := range accounts {
		i, known := at[a.Key]
		switch {
		case !known:
			at[a.Key] = len(kept)
			kept = append(kept, a)
		case a.Disabled != kept[i].Disabled:
			if kept[i].Disabled {
				kept[i] = a
			}
		case a.Priority < kept[i].Priority:
			kept[i] = a
		}
	}
	return kept
}

// Identity returns the identity of an account of the pool by any of its aliases (ID-2b).
func (p *Pool) Identity(name string) (identity.Key, bool) {
	p.registry.mu.Lock()
	defer p.registry.mu.Unlock()
	for _, e := range p.entries {
		if e.name == name {
			return e.key, true
		}
	}
	return identity.Key{}, false
}

// aliases returns the names of an identity in listed order; nil if it has only one (ID-2b).
func (l *lineup) aliases(key identity.Key) []string {
	var names []string
	for _, e := range l.entries {
		if e.key == key {
			names = append(names, e.name)
		}
	}
	if len(names) == 1 {
		return nil
	}
	return names
}

func (r *Registry) healthOf(key identity.Key) *Health {
	h := r.health[key]
	if h == nil {
		h = new(NewHealth(r.tables[key.Family()]))
		r.health[key] = h
	}
	return h
}

// Observe updates an identity after an attempt.
func (p *Pool) Observe(key identity.Key, o Outcome) {
	p.update(key, func(h *Health, soft quota.Thresholds, now time.Time) { h.observe(&o, soft, now) })
}

// ObserveUsage updates an identity from a response of the usage endpoint to a request that was sent at sent.
func (p *Pool) ObserveUsage(key identity.Key, u quota.Usage, sent time.Time) {
	p.update(key, func(h *Health, soft quota.Thresholds, now time.Time) { *h = ObserveUsage(*h, u, sent, soft, now) })
}

func (p *Pool) update(key identity.Key, change func(*Health, quota.Thresholds, time.Time)) {
	p.registry.mu.Lock()
	defer p.registry.mu.Unlock()
	var soft quota.Thresholds // zero for an identity that has left the pool: no reading is below that
	if m := p.member(key); m != nil {
		soft = m.Soft
	}
	h := p.registry.healthOf(key)
	now := p.registry.clock.Now()
	change(h, soft, now)
	p.registry.touched(h, now)
}

// member returns the identity's member of the pool, or nil.
func (p *Pool) member(key identity.Key) *Member {
	for i := range p.members {
		if p.members[i].Key == key {
			return &p.members[i]
		}
	}
	return nil
}

// Pause takes an identity out of the list, or back into it (PAU-1). It holds until the next call, across
// reconfigurations. Pause reports whether the pool has the identity; if not, it does nothing.
func (p *Pool) Pause(key identity.Key, paused bool) bool {
	return p.control(key, func(h *Health, _ time.Time) { h.Paused = paused })
}

// ClearCooldown ends every cooldown of an identity and clears its rejected statuses (FO-13): the operator says "try
// again". Utilizations and resets stay. It reports whether the pool has the identity.
func (p *Pool) ClearCooldown(key identity.Key) bool { return p.control(key, (*Health).clear) }

func (p *Pool) control(key identity.Key, change func(h *Health, now time.Time)) bool {
	p.registry.mu.Lock()
	defer p.registry.mu.Unlock()
	m := p.member(key)
	if m != nil {
		now := p.registry.clock.Now()
		change(m.Health, now)
		p.registry.touched(m.Health, now)
	}
	return m != nil
}

// CredentialChanged ends the cooldowns that the identity's old credential caused (TOK-7).
func (r *Registry) CredentialChanged(key identity.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.health[key]; h != nil {
		now := r.clock.Now()
		h.credentialChanged(now)
		r.touched(h, now)
	}
}
