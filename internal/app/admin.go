package app

import (
	"context"
	"slices"

	"shunt/internal/admin"
	"shunt/internal/config"
	"shunt/internal/pool"
)

// newAdmin returns the web surface, or nil if it is off. A reload does not turn it on or off (CFG-51).
func (a *App) newAdmin(cfg *config.Config) *admin.Admin {
	if !cfg.Server.Admin.Present {
		return nil
	}
	return admin.New(admin.Options{
		Version: a.options.Version, Log: a.options.Log, Clock: a.options.Clock,
		Settings: &cfg.Server.Admin, Loopback: cfg.Server.Bind.Addr().IsLoopback(), Proxies: cfg.Server.Access.Proxies(),
		Providers: a.adminProviders, Health: a.health, Families: a.logins,
		Refresh: a.refresh,
	})
}

// adminProviders returns the providers of the running configuration for the web surface.
func (a *App) adminProviders() []admin.Provider {
	running := a.serving.Load()
	providers := make([]admin.Provider, 0, len(running.config.Providers))
	for i := range running.config.Providers {
		p := &running.config.Providers[i]
		shown := admin.Provider{Name: p.Name, Auth: p.Auth, Planned: running.config.Server.Pool.Present}
		if p.Pool() {
			shown.Pool, shown.Accounts = a.registry.Pool(p.Name), running.accounts[p.Name]
			shown.Family, shown.ScopeOf = a.families.of(p).Name, a.families.of(p).Scope
			shown.Uses = func(name string) bool {
				listed, ok := p.Account(name)
				stored := len(p.Accounts) == 0 || ok && listed.Credentials == "" && listed.TokenEnv == ""
				return stored && slices.ContainsFunc(shown.Pool.Snapshot(), func(s pool.Status) bool { return s.Name == name && !s.Disabled })
			}
		}
		providers = append(providers, shown)
	}
	return providers
}

// refresh makes follow read the account store again. It returns when new requests are served from it, or the context's error.
func (a *App) refresh(ctx context.Context) error {
	done := make(chan struct{})
	select {
	case a.rereads <- done:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
