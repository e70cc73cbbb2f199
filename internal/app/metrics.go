package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"shunt/internal/config"
	"shunt/internal/hosts"
	"shunt/internal/oauth"
	"shunt/internal/observe"
)

// newMetrics returns the metrics, or nil if nothing serves them. A reload does not change that (CFG-51).
func (a *App) newMetrics(cfg *config.Config) *observe.Metrics {
	if !cfg.Server.Admin.Present && !cfg.Server.Metrics.Present {
		return nil
	}
	return observe.NewMetrics(a.options.Version, observe.Sources{
		InFlight:     func() int64 { return a.gateway.InFlight() },
		LostLines:    a.requests.lost,
		Conditions:   func() int { return len(a.health.List()) },
		PoolAccounts: a.poolAccounts,
	})
}

// poolAccounts returns the current state of the accounts of all pools.
func (a *App) poolAccounts() []observe.PoolAccount {
	var all []observe.PoolAccount
	providers := a.serving.Load().config.Providers
	for i := range providers {
		if !providers[i].Pool() {
			continue
		}
		name, now := providers[i].Name, a.options.Clock.Now()
		for _, s := range a.Pool(name) {
			shown := observe.PoolAccount{
				Provider: name, Account: s.Name, Available: s.Available, Cooldown: s.Cooldown, InFlight: s.InFlight,
			}
			for w, window := range s.Quota.Table().Windows() {
				used, known := s.Quota.Utilization(w)
				reset, _ := s.Quota.Reset(w)
				shown.Windows = append(shown.Windows, observe.PoolWindow{
					Name: window.Name, Utilization: used, HasUtilization: known, Reset: reset, Soft: s.Soft[w],
					Headroom: s.Quota.WindowHeadroom(w, s.Soft[w], now),
				})
			}
			all = append(all, shown)
		}
	}
	return all
}

// refreshed counts a request to the token endpoint.
func (a *App) refreshed(entry string, err error) {
	if a.metrics == nil {
		return
	}
	provider, account, ok := strings.Cut(entry, "/")
	if !ok || provider == "" { // a file that no entry uses
		provider, account = "", ""
	}
	result := "success"
	switch {
	case errors.Is(err, oauth.ErrInvalidGrant):
		result = "refused"
	case err != nil:
		result = "failed"
	}
	a.metrics.Refreshed(provider, account, result)
}

const (
	scrapeTimeout      = 10 * time.Second // for a scraper to send its request, and again to read the response
	scrapeDrainTimeout = time.Second      // for scrapes in flight at the end
)

// serveScrapes serves GET /metrics at the address of [server.metrics], if there is one, until end is called; end is never nil. A
// loopback address is reached by loopback names and server.allowed_hosts only (AUTH-4).
func (a *App) serveScrapes() (end func() error, _ error) {
	settings := &a.config.Load().Server.Metrics
	if !settings.Present {
		return func() error { return nil }, nil
	}
	l, err := net.Listen("tcp", settings.Bind.String())
	if err != nil {
		return func() error { return nil }, fmt.Errorf("listen (server.metrics.bind): %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metrics.Handler())
	bind := settings.Bind.Addr()
	checked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hosts.Admits(bind, a.config.Load().Server.AllowedHosts, r.Host) {
			http.Error(w, "the metrics can be reached by a loopback name only: use 127.0.0.1 or localhost, or add the name to server.allowed_hosts", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
	server := &http.Server{
		Handler: checked, ReadTimeout: scrapeTimeout, WriteTimeout: scrapeTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(a.options.Log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	a.options.Log.Info("metrics are served", "address", l.Addr().String())
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), scrapeDrainTimeout)
		defer cancel()
		_ = server.Shutdown(ctx) // Close aborts those that are left
		err := server.Close()
		if served := <-served; served != http.ErrServerClosed {
			err = errors.Join(err, fmt.Errorf("serve metrics: %w", served))
		}
		return err
	}, nil
}
