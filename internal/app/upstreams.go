package app

import (
	"shunt/internal/account"
	"shunt/internal/config"
	"shunt/internal/dialect"
	"shunt/internal/family"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/upstream"
)

func (a *App) pool(cfg *config.Config, p *config.Provider, accounts []*account.Account) *upstream.Pool {
	f := a.families.of(p)
	roster := a.registry.Pool(p.Name).Configure(members(&cfg.Server.Pool, p, f.Windows, accounts), policy(&cfg.Server.Pool))
	return upstream.NewPool(upstream.PoolOptions{
		Name: p.Name, Family: f, Base: p.BaseURL, Requests: a.requestsTo(p, f.Accepts), Scheduler: roster, Accounts: accounts,
		Transport: a.transport, Clock: a.options.Clock, Log: a.options.Log,
	})
}

// policy returns the policy of every pool.
func policy(c *config.Pool) pool.Policy {
	return pool.Policy{
		Planned: c.Present, Hard: c.HardThreshold, AvoidBurnRate: c.BurnRateAvoidance, RampInitial: c.RampInitialConcurrency,
		ReturnWhenCold: c.ReturnHome == config.ReturnWhenCold, CacheTTL: c.CacheTTL,
	}
}

// members returns the accounts of a pool with their settings.
func members(defaults *config.Pool, p *config.Provider, windows *quota.Table, accounts []*account.Account) []pool.Account {
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

// setting converts limits by the names of windows to limits by their places in a table.
func setting(windows *quota.Table, f config.Fractions) quota.Setting {
	s := quota.Setting{All: f.All}
	for i, w := range windows.Windows() {
		s.Window[i] = f.Window(w.Name)
	}
	return s
}

func newSingle(p *config.Provider, responses *family.Family, requests upstream.RequestOptions, t *upstream.Transport) *upstream.Single {
	return upstream.NewSingle(upstream.SingleOptions{
		Name: p.Name, Base: p.BaseURL, Requests: requests, Credential: credential(p), Family: responses, Transport: t,
	})
}

// requestsTo returns what requests to a provider contain.
func (a *App) requestsTo(p *config.Provider, accepts dialect.Accepts) upstream.RequestOptions {
	o := upstream.RequestOptions{Agent: "shunt/" + a.options.Version, Accepts: accepts}
	for _, h := range p.Headers {
		o.Headers = append(o.Headers, family.HeaderField{Name: h.Name, Value: h.Value.Reveal()})
	}
	return o
}

// credential returns the credential that a provider without accounts receives: the zero value is the client's own.
func credential(p *config.Provider) upstream.Credential {
	switch {
	case p.Auth == config.None:
		return upstream.NoCredential()
	case p.Auth != config.APIKey:
		return upstream.Credential{}
	case p.APIKeyHeader == config.XAPIKey:
		return upstream.APIKey(p.APIKey)
	case p.APIKeyHeader == config.XGoogAPIKey:
		return upstream.GoogAPIKey(p.APIKey)
	}
	return upstream.Bearer(p.APIKey)
}
