package app

import (
	"shunt/internal/account"
	"shunt/internal/config"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/usage"
)

// policy is what the configuration says of the accounts of every pool.
func policy(c *config.Pool) pool.Policy {
	return pool.Policy{
		Planned: c.Present, Hard: c.HardThreshold, AvoidBurnRate: c.BurnRateAvoidance, RampInitial: c.RampInitialConcurrency,
		ReturnWhenCold: c.ReturnHome == config.ReturnWhenCold, CacheTTL: c.CacheTTL,
	}
}

// members joins what the configuration says of accounts with who they are.
func members(defaults *config.Pool, p *config.Provider, accounts []*account.Account) []pool.Account {
	windows := familyOf(p).Windows
	all := make([]pool.Account, len(accounts))
	for i, a := range accounts {
		c, _ := p.Account(a.Name())
		all[i] = pool.Account{
			Name: a.Name(), Key: a.Key(), Priority: c.Priority, Disabled: c.Disabled,
			Soft: quota.Soft(defaults.HardThreshold, setting(windows, c.Thresholds), setting(windows, defaults.Thresholds)),
			Caps: quota.Cap(setting(windows, c.MaxUtilization), setting(windows, defaults.MaxUtilization)),
		}
	}
	return all
}

// setting maps limits by the name of a window to the windows of a table.
func setting(windows *quota.Table, f config.Fractions) quota.Setting {
	s := quota.Setting{All: f.All}
	for i, w := range windows.Windows() {
		s.Window[i] = f.Window(w.Name)
	}
	return s
}

// newPoller returns what asks for the accounts' usage, nil if that is off (QUO-20).
func newPoller(a *App, c *config.Pool) *usage.Poller {
	if c.UsageRefresh == 0 {
		return nil
	}
	return usage.New(usage.Options{
		Clock: a.options.Clock, Log: a.options.Log, Health: a.health, Interval: c.UsageRefresh, Transport: a.transport,
	})
}

// polled are the accounts whose usage is of interest (QUO-21): those that are not disabled.
func (a *App) polled(cfg *config.Config, resolved map[string][]*account.Account) []usage.Entry {
	var entries []usage.Entry
	for i := range cfg.Providers {
		p := &cfg.Providers[i]
		for _, account := range resolved[p.Name] {
			if c, _ := p.Account(account.Name()); c.Disabled {
				continue
			}
			entries = append(entries, usage.Entry{Provider: p.Name, Family: familyOf(p), Base: p.BaseURL, Account: account, Pool: a.registry.Pool(p.Name)})
		}
	}
	return entries
}
