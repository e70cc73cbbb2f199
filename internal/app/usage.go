package app

import (
	"shunt/internal/config"
	"shunt/internal/family"
	"shunt/internal/gateway"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

// usage returns what GET /usage shows (USE-1).
func (a *App) usage() *gateway.Usage {
	u := &gateway.Usage{Pools: func() []gateway.PoolUsage {
		return a.poolUsage(func(*config.Provider) bool { return true })
	}}
	for _, f := range families {
		u.Windows = append(u.Windows, windowNames(f)...)
	}
	return u
}

// clientUsage returns the endpoint at which the clients of a family poll their usage (USE-2).
func (a *App) clientUsage(f *family.Family) *gateway.ClientUsage {
	return &gateway.ClientUsage{
		Path: "/" + f.Usage.Path, Windows: windowNames(f),
		Accounts: func() (accounts []gateway.AccountUsage) {
			for _, p := range a.poolUsage(func(p *config.Provider) bool { return familyOf(p) == f }) {
				accounts = append(accounts, p.Accounts...)
			}
			return accounts
		},
		Append: func(dst []byte, windows map[string]gateway.WindowUsage) []byte {
			var u quota.Usage
			for i, w := range f.Windows.Windows() {
				if shown, ok := windows[w.Name]; ok {
					u.Windows[i] = quota.WindowUsage{Utilization: shown.Utilization, Has: true, Reset: shown.Reset}
				}
			}
			return f.Usage.Append(dst, u)
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
		pools = append(pools, gateway.PoolUsage{Name: p.Name, Accounts: enabledUsage(a.Pool(p.Name))})
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
