package app

import (
	"context"
	"slices"
	"sync"

	"shunt/internal/account"
	"shunt/internal/config"
	"shunt/internal/dialect"
	"shunt/internal/gateway"
	"shunt/internal/upstream"
)

// reload applies a new configuration, or reports why the old one stays in effect (CFG-50).
func (a *App) reload(r config.Reload) {
	log := a.options.Log
	if r.Err != nil {
		detail := "the running configuration stays: " + r.Err.Error()
		if a.reloadFailed { // a condition is logged only when it begins
			log.Warn(configCondition, "detail", detail)
		}
		a.reloadFailed = true
		a.health.Set(configCondition, detail)
		return
	}
	a.reloadFailed = false
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
		log.Error("could not open the configured request log", "error", err)
	}
	a.config.Store(r.Config)
	a.gateway.Swap(a.assemble(r.Config))
	log.Info("configuration reloaded", "file", r.Config.Path)
}

const configCondition = "configuration not reloaded"

// follow applies changes of the configuration (CFG-50) and of the account store (ACC-4) until ctx ends. Nothing else does, so
// that changes are applied in order.
func (a *App) follow(ctx context.Context, hup <-chan struct{}) {
	running := a.config.Load()
	reloads := make(chan config.Reload)
	var watch sync.WaitGroup
	defer watch.Wait()
	watch.Go(func() {
		config.Watch(ctx, config.Options{Path: running.Path, Env: a.options.Env, Families: ConfigFamilies(a.families)}, running, hup, func(r config.Reload) {
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
		case done := <-a.rereads:
			a.gateway.Swap(a.assemble(a.config.Load()))
			close(done)
		}
	}
}

// assemble builds the upstreams of a configuration. Live state stays in the registry and the keeper.
func (a *App) assemble(cfg *config.Config) *gateway.State {
	listings := map[string]account.Listing{}
	for i := range cfg.Providers {
		if p := &cfg.Providers[i]; p.Pool() {
			listings[p.Name] = account.Listing{Family: a.families.of(p).Name, Specs: specsOf(p)}
		}
	}
	resolved, warnings := a.keeper.Resolve(listings)
	for _, w := range warnings {
		a.options.Log.Warn(w)
	}
	upstreams := make(map[string]upstream.Upstream, len(cfg.Providers))
	pools := map[string]*upstream.Pool{}
	for i := range cfg.Providers {
		p := &cfg.Providers[i]
		if p.Pool() {
			pools[p.Name] = a.pool(cfg, p, resolved[p.Name])
			upstreams[p.Name] = pools[p.Name]
		} else {
			upstreams[p.Name] = newSingle(p, a.families.responsesOf(p), a.requestsTo(p, dialect.Accepts(p.Accepts)), a.transport)
		}
	}
	if a.poller != nil {
		a.poller.Follow(a.polled(cfg, resolved))
	}
	a.logAccountChanges(cfg, resolved)
	a.serving.Store(&serving{cfg, resolved, pools})
	return &gateway.State{Config: cfg, Upstreams: upstreams}
}

// logAccountChanges logs the accounts of each pool whose accounts have changed.
func (a *App) logAccountChanges(cfg *config.Config, resolved map[string][]*account.Account) {
	before := a.serving.Load()
	for i := range cfg.Providers {
		p := &cfg.Providers[i]
		if !p.Pool() {
			continue
		}
		names := accountNames(resolved[p.Name])
		if before != nil {
			if known, ok := before.accounts[p.Name]; ok && slices.Equal(accountNames(known), names) {
				continue
			}
		}
		if len(names) == 0 {
			a.options.Log.Warn("the pool has no account yet: `shunt login "+a.families.of(p).StoreName()+" --name NAME` adds one", "provider", p.Name)
			continue
		}
		a.options.Log.Info("accounts", "provider", p.Name, "accounts", names)
	}
}

func accountNames(accounts []*account.Account) []string {
	names := make([]string, len(accounts))
	for i, a := range accounts {
		names[i] = a.Name()
	}
	return names
}

// serving is the running configuration with its accounts.
type serving struct {
	config   *config.Config
	accounts map[string][]*account.Account // by provider
	pools    map[string]*upstream.Pool     // the same
}
