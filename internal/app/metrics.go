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

// newMetrics returns the metrics, or nil where nobody could read them. Whether there are any is settled at the start
// (CFG-51).
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

// poolAccounts are the accounts of all pools as they stand.
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

// refreshed counts a call of the token endpoint.
func (a *App) refreshed(entry string, err error) {
	if a.metrics == nil {
		return
	}
	provider, account, ok := strings.Cut(entry, "/")
	if !ok || provider == "" { // a file that no entry leads to any more
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
	scrapePatience = time.Second      // of an end for a scrape that is under way
	scrapeTimeout  = 10 * time.Second // for a scraper to send its request, and again to read the answer
	tracesPatience = 5 * time.Second  // of an end for the last traces
)

// serveScrapes serves GET /metrics at the address that [server.metrics] gives it, if it does, until end is called. The end
// is never nil. On a loopback address, only loopback names and server.allowed_hosts lead to it (AUTH-4).
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
		ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
		defer cancel()
		_ = server.Shutdown(ctx) // what is left is cut
		err := server.Close()
		if served := <-served; served != http.ErrServerClosed {
			err = errors.Join(err, fmt.Errorf("serve metrics: %w", served))
		}
		return err
	}, nil
}

// openTraces begins the export of traces, if [otel] asks for it.
func (a *App) openTraces(ctx context.Context) (err error) {
	cfg := a.config.Load()
	if !cfg.OTel.Present {
		return nil
	}
	a.traces, err = observe.OpenTraces(ctx, observe.TraceOptions{
		Endpoint: cfg.OTel.Endpoint, Service: cfg.OTel.ServiceName, Version: a.options.Version, Ratio: cfg.OTel.SampleRatio, Health: a.health,
	})
	return err
}

// closeTraces exports the last traces; a collector that does not answer must not make an end a failure.
func (a *App) closeTraces() {
	if a.traces == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), tracesPatience)
	defer cancel()
	if err := a.traces.Close(ctx); err != nil {
		a.options.Log.Warn("the last traces are lost", "error", err)
	}
}
