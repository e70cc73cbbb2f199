package app

import (
	"shunt/internal/account"
	"shunt/internal/config"
	"shunt/internal/family/claude"
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

// defaultPriority is that of an account which the configuration does not list (CFG-12).
const defaultPriority = 100

// members joins what the configuration says of accounts with who they are.
func members(defaults *config.Pool, p *config.Provider, accounts []*account.Account) []pool.Account {
	all := make([]pool.Account, len(accounts))
	for i, a := range accounts {
		c, listed := p.Account(a.Name())
		if !listed {
			c = &config.Account{Priority: defaultPriority}
		}
		all[i] = pool.Account{
			Name: a.Name(), Key: a.Key(), Priority: c.Priority, Disabled: c.Disabled,
			Soft: quota.Soft(defaults.HardThreshold, setting(c.Thresholds), setting(defaults.Thresholds)),
			Caps: quota.Cap(setting(c.MaxUtilization), setting(defaults.MaxUtilization)),
		}
	}
	return all
}

func setting(f config.Fractions) quota.Setting {
	return quota.Setting{All: f.All, Window: [quota.MaxWindows]*float64{
		claude.FiveHour: f.FiveHour, claude.SevenDay: f.SevenDay, claude.Fable: f.Fable,
	}}
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
			if c, listed := p.Account(account.Name()); listed && c.Disabled {
				continue
			}
			entries = append(entries, usage.Entry{Provider: p.Name, Family: families[0], Base: p.BaseURL, Account: account, Pool: a.registry.Pool(p.Name)})
		}
	}
	return entries
}
