package app

import (
	"net/http"

	"shunt/internal/account"
	"shunt/internal/config"
	"shunt/internal/family"
	"shunt/internal/gateway"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/usage"
)

// newPoller returns the poller of the accounts' usage, or nil if polling is off (QUO-20).
func (a *App) newPoller(c *config.Pool) *usage.Poller {
	if c.UsageRefresh == 0 {
		return nil
	}
	return usage.New(usage.Options{
		Clock: a.options.Clock, Log: a.options.Log, Health: a.health, Interval: c.UsageRefresh, Transport: a.transport,
	})
}

// polled returns the accounts whose usage is polled (QUO-21): those that are not disabled and whose provider reports it.
func (a *App) polled(cfg *config.Config, resolved map[string][]*account.Account) []usage.Entry {
	var entries []usage.Entry
	for i := range cfg.Providers {
		p := &cfg.Providers[i]
		if p.Pool() && a.families.of(p).Usage == nil {
			continue
		}
		for _, account := range resolved[p.Name] {
			if c, _ := p.Account(account.Name()); c.Disabled {
				continue
			}
			entries = append(entries, usage.Entry{
				Provider: p.Name, Family: a.families.of(p), Base: p.BaseURL, Account: account, Pool: a.registry.Pool(p.Name),
			})
		}
	}
	return entries
}

// usageEndpoint returns GET /usage (USE-1).
func (a *App) usageEndpoint() *gateway.UsageEndpoint {
	return &gateway.UsageEndpoint{
		Windows: windowNames(a.families[0]),
		Pools:   func() []gateway.PoolUsage { return a.poolUsage(func(*config.Provider) bool { return true }) },
	}
}

// clientUsages returns the endpoints at which clients poll their usage (USE-2, GPT-10): those of the families that have one and
// whose programs the gateway serves.
func (a *App) clientUsages(c *config.Server) (endpoints []gateway.ClientUsage) {
	for _, f := range a.families {
		served := c.OAuthUsage || f.Dialect.Name() != dialects[0].Name() && c.OpenAIEndpoint.Present
		if served && f.Usage != nil && f.Usage.Append != nil {
			endpoints = append(endpoints, a.clientUsage(f))
		}
	}
	return endpoints
}

func (a *App) clientUsage(f *family.Family) gateway.ClientUsage {
	return gateway.ClientUsage{
		Paths: f.Usage.ClientPaths, Windows: windowNames(f),
		Accounts: func() (accounts []gateway.AccountUsage) {
			for _, p := range a.poolUsage(func(p *config.Provider) bool { return a.families.of(p) == f }) {
				accounts = append(accounts, p.Accounts...)
			}
			return accounts
		},
		Append: func(dst []byte, h http.Header, windows map[string]gateway.WindowUsage) []byte {
			var u quota.Usage
			for i, w := range f.Windows.Windows() {
				if shown, ok := windows[w.Name]; ok {
					u.Windows[i] = quota.WindowUsage{Utilization: shown.Utilization, Has: true, Reset: shown.Reset}
				}
			}
			return f.Usage.Append(dst, h, u)
		},
	}
}

func windowNames(f *family.Family) (names []string) {
	for _, w := range f.Windows.Windows() {
		names = append(names, w.Name)
	}
	return names
}

// poolUsage returns the usage of the pools that match.
func (a *App) poolUsage(match func(*config.Provider) bool) (pools []gateway.PoolUsage) {
	providers := a.config.Load().Providers
	for i := range providers {
		p := &providers[i]
		if !p.Pool() || !match(p) {
			continue
		}
		pools = append(pools, gateway.PoolUsage{Name: p.Name, Windows: windowNames(a.families.of(p)), Accounts: enabledUsage(a.Pool(p.Name))})
	}
	return pools
}

// enabledUsage returns the usage of the accounts that are not disabled.
func enabledUsage(accounts []pool.Status) (shown []gateway.AccountUsage) {
	for i := range accounts {
		if !accounts[i].Disabled {
			shown = append(shown, accountUsage(&accounts[i]))
		}
	}
	return shown
}

func accountUsage(s *pool.Status) gateway.AccountUsage {
	u := gateway.AccountUsage{
		Identity: s.Key.String(), Priority: s.Priority, Available: s.Available, NearQuota: s.NearQuota,
		Capped: !s.Paused && !s.CappedUntil.IsZero(), Windows: map[string]gateway.WindowUsage{},
	}
	for i, w := range s.Quota.Table().Windows() {
		used, reported := s.Quota.Utilization(i)
		if !reported {
			continue
		}
		reset, _ := s.Quota.Reset(i)
		scoped := s.In(w.Scope)
		u.Windows[w.Name] = gateway.WindowUsage{
			Utilization: used, Reset: reset, Available: scoped.Group != pool.Out && scoped.Cooldown == 0,
		}
	}
	return u
}
