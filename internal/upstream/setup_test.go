package upstream_test

import (
	"net/url"
	"slices"
	"time"

	"shunt/internal/account"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/secret"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
	"shunt/internal/upstream"
)

// setup describes the upstreams of a world. A changed one is a copy.
type setup struct {
	chain  []target // a single target is not a chain
	times  upstream.Times
	policy pool.Policy
	routes map[string]int // models that one upstream of the chain serves alone
}

// target is an upstream: a pool, or a single credential.
type target struct {
	name, base string
	pool       bool
	accounts   []member            // of the pool; nil: all that are in the store
	credential upstream.Credential // of a single one; the zero value passes the client's
	models     map[string]string   // names for the upstream, by the client's
}

// member is an account of a pool.
type member struct {
	account.Spec
	disabled bool
	cap      float64 // its maximal utilization; 0: none
}

func newSetup(chain ...target) setup {
	return setup{chain: chain, times: upstream.Times{
		TTFB: 2 * time.Minute, TTFBNonstream: 10 * time.Minute, KeepAlive: 15 * time.Second, Idle: 5 * time.Minute,
	}}
}

// poolOf returns a pool named anthropic. Without accounts, it has all that are in the store.
func poolOf(accounts ...member) setup {
	return newSetup(target{name: simtest.Pool, base: simtest.ProviderURL, pool: true, accounts: accounts})
}

// singleOf returns an upstream named anthropic with one credential.
func singleOf(c upstream.Credential) setup {
	return newSetup(target{name: simtest.Pool, base: simtest.ProviderURL, credential: c})
}

var positions = []string{"one", "two", "three", "four"}

// chainOf returns a chain of upstreams named one, two, three ..., in that order.
func chainOf(chain ...target) setup {
	chain = slices.Clone(chain)
	for i := range chain {
		chain[i].name = positions[i]
	}
	return newSetup(chain...)
}

// poolAt, keyAt and passAt return the three kinds of upstreams.
func poolAt(base string, names ...string) target {
	p := target{base: base, pool: true}
	for _, name := range names {
		p.accounts = append(p.accounts, named(name))
	}
	return p
}

func keyAt(base string) target { return target{base: base, credential: apiKey} }

func passAt(base string) target { return target{base: base} }

var (
	apiKey      = upstream.Bearer(secret.New(simtest.PaidKey))
	passthrough = upstream.Credential{}
)

// paid is a provider with one paid key.
var paid = sim.Config{Accounts: simtest.WithKey(0)}

// withKey returns a provider with n subscriptions, and the paid key.
func withKey(n int) sim.Config { return sim.Config{Accounts: simtest.WithKey(n)} }

// keyNotInStore keeps the provider's paid key out of the account store, where every other account is.
func keyNotInStore(w *world) { w.Remove("k") }

// poolAndKey returns the chain of most users: their subscriptions, and a key for when those are used up.
func poolAndKey(accounts ...string) setup {
	return chainOf(poolAt(simtest.ProviderURL, accounts...), keyAt(simtest.ProviderURL))
}

func (s setup) keepAlive(interval time.Duration) setup { s.times.KeepAlive = interval; return s }
func (s setup) idle(limit time.Duration) setup         { s.times.Idle = limit; return s }
func (s setup) ttfb(limit time.Duration) setup         { s.times.TTFB = limit; return s }

func (s setup) ramp(initial int) setup {
	s.policy.Planned, s.policy.RampInitial = true, initial
	return s
}

// at returns the setup with another base URL for every upstream.
func (s setup) at(base string) setup {
	s.chain = slices.Clone(s.chain)
	for i := range s.chain {
		s.chain[i].base = base
	}
	return s
}

func (p *target) url(w *world) *url.URL {
	u, err := url.Parse(p.base)
	w.Must(err)
	return u
}

func (p *target) specs() []account.Spec {
	var specs []account.Spec
	for _, m := range p.accounts {
		specs = append(specs, m.Spec)
	}
	return specs
}

// members returns the scheduler's accounts.
func (p *target) members(accounts []*account.Account) []pool.Account {
	members := make([]pool.Account, len(accounts))
	for i, a := range accounts {
		members[i] = pool.Account{Name: a.Name(), Key: a.Key(), Soft: quota.Soft(quota.DefaultHard)}
		for _, m := range p.accounts {
			if m.Name != a.Name() {
				continue
			}
			members[i].Disabled = m.disabled
			if m.cap != 0 {
				members[i].Caps = quota.Cap(quota.Setting{All: &m.cap})
			}
		}
	}
	return members
}

// named returns an account.
func named(name string) member { return member{Spec: account.Spec{Name: name}} }

// known returns an account whose UUID is configured.
func known(name, uuid string) member { return member{Spec: account.Spec{Name: name, UUID: uuid}} }

// disabled returns an account that is switched off.
func disabled(name string) member { return member{Spec: account.Spec{Name: name}, disabled: true} }
