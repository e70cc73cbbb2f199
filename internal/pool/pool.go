// Package pool is the scheduler: it decides which account serves a request, and remembers how the accounts are.
//
// Its core is pure. [Order] ranks the identities of a pool for a request, and [Observe] turns an identity's health and
// the outcome of an attempt into its next health; both take the present as an argument, so that a decision can be
// replayed from a log. Around them stand a [Registry], the live state of all identities of the process, and a [Pool],
// one provider's configured accounts. The live state belongs to identities and survives every reconfiguration.
//
// The package does no I/O, starts no goroutine and knows neither headers nor status codes nor credentials.
//
// Registry and Pool are safe for concurrent use; one lock guards them all, held for no longer than a decision takes and
// never while a request waits. A [Selection] belongs to the goroutine of its request.
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
	ranked []Ranked // room for a decision

	waiters list.List // of *waiter, in the order of arrival (RMP-2, FO-6)
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

// lineup is who may serve and by which policy. A slice of members is never written once it is in one, but for the health
// that its members point to.
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

// Roster is a pool as one configuration has it: a request that began under that keeps to its accounts, however late it
// asks for one (CFG-50). Whose turn it is, the sessions and all live state are those of the pool.
type Roster struct {
	*Pool
	lineup lineup
}

// Begin is [Pool.Begin] among the accounts of the roster.
func (r *Roster) Begin(req Request) *Selection { return r.begin(req, &r.lineup) }

// Pool is the pool of that name, made on first use. A reload asks again and gets the same one, state and all (SEL-12).
func (r *Registry) Pool(name string) *Pool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pools[name]
	if p == nil {
		p = &Pool{registry: r}
		p.sessions, _ = simplelru.NewLRU[Session, *memory](sessionLimit, nil) // fails for a size below 1 only
		r.pools[name] = p
	}
	return p
}

// Configure replaces the accounts of the pool and the policy by which they are used. Requests that have begun keep what
// they began with, and those that begin on an older roster keep to that.
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

// collapse keeps one representative an identity, in the place where the identity is listed first: an enabled alias
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

// Identity is the identity behind an account of the pool, whichever of its aliases is named (ID-2b).
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

// aliases are the names of an identity in listed order; nil if it has only one (ID-2b).
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

// Observe takes in the outcome of an attempt at an identity.
func (p *Pool) Observe(key identity.Key, o Outcome) {
	p.update(key, func(h *Health, soft quota.Thresholds, now time.Time) { h.observe(&o, soft, now) })
}

// ObserveUsage takes in what the usage endpoint said about an identity, asked at sent.
func (p *Pool) ObserveUsage(key identity.Key, u quota.Usage, sent time.Time) {
	p.update(key, func(h *Health, soft quota.Thresholds, now time.Time) { *h = ObserveUsage(*h, u, sent, soft, now) })
}

func (p *Pool) update(key identity.Key, change func(*Health, quota.Thresholds, time.Time)) {
	p.registry.mu.Lock()
	defer p.registry.mu.Unlock()
	var soft quota.Thresholds // an identity that has left the pool has none, and no reading is below them
	if m := p.member(key); m != nil {
		soft = m.Soft
	}
	h := p.registry.healthOf(key)
	now := p.registry.clock.Now()
	change(h, soft, now)
	p.registry.touched(h, now)
}

// member is the identity's place in the pool, nil if it has none.
func (p *Pool) member(key identity.Key) *Member {
	for i := range p.members {
		if p.members[i].Key == key {
			return &p.members[i]
		}
	}
	return nil
}

// Pause takes an identity out of the list, or back into it (PAU-1). It holds until it is called again, across
// reconfigurations. It reports whether the pool has the identity; without, it does nothing.
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
