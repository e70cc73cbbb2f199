package app

import (
	"context"
	"slices"
	"sync"

	"shunt/internal/account"
	"shunt/internal/config"
	"shunt/internal/gateway"
	"shunt/internal/upstream"
)

// reload takes a new configuration into use, or says why the old one stays (CFG-50).
func (a *App) reload(r config.Reload) {
	log := a.options.Log
	if r.Err != nil {
		detail := "the running configuration stays: " + r.Err.Error()
		if a.refused { // the condition tells the log of the first only
			log.Warn(configCondition, "detail", detail)
		}
		a.refused = true
		a.health.Set(configCondition, detail)
		return
	}
	a.refused = false
	a.health.Clear(configCondition)
	for _, w := range r.Warnings {
		log.Warn(w.String())
	}
	for _, key := range config.Changed(a.config.Load(), r.Config) {
		log.Warn("a changed setting takes effect at the next start only", "key", key)
	}
	if a.options.Level != nil {
		a.options.Level.Set(r.Config.Log.Level)
	}
	if err := a.requests.open(r.Config.Log.Requests, a.health); err != nil {
		log.Error("the request log does not follow the configuration", "error", err)
	}
	a.config.Store(r.Config)
	a.gateway.Swap(a.assemble(r.Config))
	log.Info("configuration reloaded", "file", r.Config.Path)
}

const configCondition = "configuration not reloaded"

// follow takes changes of the configuration (CFG-50) and of the account store (ACC-4) into use until ctx ends. It is the
// one place that does, so that two changes never overtake each other.
func (a *App) follow(ctx context.Context, hup <-chan struct{}) {
	running := a.config.Load()
	reloads := make(chan config.Reload)
	var watch sync.WaitGroup
	defer watch.Wait()
	watch.Go(func() {
		config.Watch(ctx, config.Options{Path: running.Path, Env: a.options.Env, Families: Families()}, running, hup, func(r config.Reload) {
			select {
			case reloads <- r:
			case <-ctx.Done():
			}
		})
	})
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-reloads:
			a.reload(r)
		case <-a.keeper.Changes():
			a.gateway.Swap(a.assemble(a.config.Load()))
		case done := <-a.refreshes:
			a.gateway.Swap(a.assemble(a.config.Load()))
			close(done)
		}
	}
}

// assemble builds what a configuration serves from. Live state stays where it is: in the registry and the keeper.
func (a *App) assemble(cfg *config.Config) *gateway.State {
	listings := map[string]account.Listing{}
	for i := range cfg.Providers {
		if p := &cfg.Providers[i]; p.Pool() {
			listings[p.Name] = account.Listing{Family: familyOf(p).Name, Specs: specsOf(p)}
		}
	}
	resolved, warnings := a.keeper.Resolve(listings)
	for _, w := range warnings {
		a.options.Log.Warn(w)
	}
	upstreams := make(map[string]upstream.Upstream, len(cfg.Providers))
	for i := range cfg.Providers {
		p := &cfg.Providers[i]
		if p.Pool() {
			upstreams[p.Name] = a.pool(cfg, p, resolved[p.Name])
		} else {
			upstreams[p.Name] = a.single(p)
		}
	}
	if a.poller != nil {
		a.poller.Follow(a.polled(cfg, resolved))
	}
	a.tellAccounts(resolved)
	a.serving.Store(&serving{cfg, resolved})
	return &gateway.State{Config: cfg, Upstreams: upstreams}
}

// tellAccounts logs which accounts each pool has, when that changes.
func (a *App) tellAccounts(resolved map[string][]*account.Account) {
	before := a.serving.Load()
	for provider, accounts := range resolved {
		names := make([]string, len(accounts))
		for i, account := range accounts {
			names[i] = account.Name()
		}
		if before != nil {
			same := func(old *account.Account, name string) bool { return old.Name() == name }
			if known, ok := before.accounts[provider]; ok && slices.EqualFunc(known, names, same) {
				continue
			}
		}
		if len(names) == 0 {
			a.options.Log.Warn("the pool has no account yet: `shunt login claude --name NAME` adds one", "provider", provider)
			continue
		}
		a.options.Log.Info("accounts", "provider", provider, "accounts", names)
	}
}

// serving is the running configuration with the accounts that it has led to.
type serving struct {
	config   *config.Config
	accounts map[string][]*account.Account // by provider
}

func (a *App) pool(cfg *config.Config, p *config.Provider, accounts []*account.Account) *upstream.Pool {
	roster := a.registry.Pool(p.Name).Configure(members(&cfg.Server.Pool, p, accounts), policy(&cfg.Server.Pool))
	return upstream.NewPool(upstream.PoolOptions{
		Name: p.Name, Family: familyOf(p), Base: p.BaseURL, Scheduler: roster, Accounts: accounts,
		Transport: a.transport, Clock: a.options.Clock, Log: a.options.Log,
	})
}

func (a *App) single(p *config.Provider) *upstream.Single {
	return upstream.NewSingle(p.Name, p.BaseURL, credential(p), responsesOf(p), a.transport)
}

func credential(p *config.Provider) upstream.Credential {
	switch {
	case p.Auth != config.APIKey:
		return upstream.Credential{}
	case p.APIKeyHeader == config.XAPIKey:
		return upstream.APIKey(p.APIKey)
	case p.APIKeyHeader == config.XGoogAPIKey:
		return upstream.GoogAPIKey(p.APIKey)
	}
	return upstream.Bearer(p.APIKey)
}

func specsOf(p *config.Provider) []account.Spec {
	specs := make([]account.Spec, len(p.Accounts))
	for i, c := range p.Accounts {
		specs[i] = account.Spec{
			Name: c.Name, Credentials: c.Credentials, TokenEnv: c.TokenEnv,
			UUID: c.UUID, OrganizationUUID: c.OrganizationUUID,
		}
	}
	return specs
}
