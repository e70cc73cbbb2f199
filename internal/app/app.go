// Package app builds shunt from a configuration and runs it: the graph of packages, the background work, reloads in a
// fixed order, the listener, and an end that loses nothing. It decides nothing about requests.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"shunt/internal/account"
	"shunt/internal/admin"
	"shunt/internal/clock"
	"shunt/internal/config"
	"shunt/internal/gateway"
	"shunt/internal/oauth"
	"shunt/internal/observe"
	"shunt/internal/pool"
	"shunt/internal/upstream"
	"shunt/internal/usage"
)

// Options are what a configuration does not say.
type Options struct {
	Version string
	Env     []string // as [os.Environ] gives it
	Clock   clock.Clock
	Log     *slog.Logger
	// Level is the logger's level, which follows log.level at each reload; nil leaves it alone.
	Level *slog.LevelVar
	// Dial opens connections to providers; nil is the network.
	Dial upstream.DialFunc
	// OnAnswer, if set, sees the record of every inference request.
	OnAnswer func(*observe.Record)
}

// App is one running shunt.
type App struct {
	options   Options
	health    *observe.Health
	registry  *pool.Registry
	keeper    *account.Keeper
	store     *account.Store
	oauth     *oauth.Client
	admin     *admin.Admin       // nil: off
	refreshes chan chan struct{} // has follow put the account store into use, and then close the channel
	serving   atomic.Pointer[serving]
	transport *upstream.Transport
	poller    *usage.Poller // nil: off
	requests  requestLog
	quotas    *quotaMemory     // nil: off
	metrics   *observe.Metrics // nil: off
	traces    *observe.Traces  // set by Run; nil: off
	gateway   *gateway.Gateway
	server    *http.Server
	abort     context.CancelCauseFunc // ends the requests that are being served

	config  atomic.Pointer[config.Config] // written by New and follow only
	refused bool                          // the last reload was; follow's own
}

func newTransport(cfg *config.Config, dial upstream.DialFunc) *upstream.Transport {
	if cfg.Server.Transport == config.TransportNetHTTP {
		return upstream.NewNetHTTPTransport(dial)
	}
	return upstream.NewTransport(dial)
}

// New builds an App from a valid configuration. It starts nothing that an end of the process would leave behind, but
// opens the request log; [App.Run] closes it.
func New(cfg *config.Config, o Options) (*App, error) {
	a := &App{options: o, refreshes: make(chan chan struct{}), health: observe.NewHealth(o.Log, o.Clock), registry: pool.NewRegistry(o.Clock, quotaTables())}
	a.config.Store(cfg)
	a.transport = newTransport(cfg, o.Dial)
	a.poller = newPoller(a, &cfg.Server.Pool)
	a.metrics = a.newMetrics(cfg)
	var err error
	if a.keeper, err = newKeeper(a); err != nil {
		return nil, err
	}
	if err := a.requests.open(cfg.Log.Requests, a.health); err != nil {
		return nil, err
	}
	if path := cfg.Server.Pool.StatePath; path != "" {
		if a.quotas, err = recall(path, a.registry, a.health, o.Clock); err != nil {
			o.Log.Warn("what is known of quota is lost: shunt starts without it", "error", err)
		}
	}
	served := gateway.Options{Version: o.Version, Log: o.Log, Record: a.record, Dialects: dialects}
	if a.admin = a.newAdmin(cfg); a.admin != nil {
		served.Admin, served.Metrics = a.admin, a.admin.Readers(a.metrics.Handler())
	}
	if cfg.Server.Usage {
		served.Usage = a.usage()
	}
	if cfg.Server.OAuthUsage {
		served.ClientUsage = a.clientUsage(families[0])
	}
	a.gateway = gateway.New(served, a.assemble(cfg))
	server := &cfg.Server
	requests, abort := context.WithCancelCause(context.Background())
	a.abort = abort
	a.server = &http.Server{
		Handler:           a.gateway,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: server.Timeouts.ReadHeader,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    server.Limits.MaxRequestHeaderBytes + server.Limits.MaxURLLength + headerSlack,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
	}
	return a, nil
}

const (
	idleTimeout = 10 * time.Minute // of a client's connection between requests
	headerSlack = 64 << 10         // bytes above the limits that the gateway itself refuses with an answer of its own
)

func (a *App) record(r *observe.Record) {
	r.Log(context.Background(), a.options.Log)
	a.requests.write(r)
	if a.admin != nil {
		a.admin.Note(r)
	}
	if a.metrics != nil {
		a.metrics.Count(r)
	}
	if a.traces != nil {
		a.traces.Add(r)
	}
	if a.options.OnAnswer != nil {
		a.options.OnAnswer(r)
	}
}

// Listen opens the configured address.
func (a *App) Listen() (net.Listener, error) {
	bind := a.config.Load().Server.Bind
	network := "tcp6"
	if bind.Addr().Is4() {
		network = "tcp4" // 0.0.0.0 is not [::]
	}
	l, err := net.Listen(network, bind.String())
	if err != nil {
		return nil, fmt.Errorf("listen (server.bind): %w", err)
	}
	return l, nil
}

// Run serves on the listener until ctx ends, and then lets open answers finish for server.shutdown_timeout_seconds and
// refreshes be written (TOK-5). A value from hup reloads at once (CFG-50). The listener is closed.
func (a *App) Run(ctx context.Context, l net.Listener, hup <-chan struct{}) error {
	endScrapes, err := a.serveScrapes()
	if err == nil {
		err = a.openTraces(ctx)
	}
	if err != nil {
		return errors.Join(err, l.Close(), endScrapes(), a.close())
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var tasks sync.WaitGroup
	tasks.Go(func() { a.keeper.Run(background) })
	tasks.Go(func() { a.follow(background, hup) })
	if a.poller != nil {
		tasks.Go(func() { a.poller.Run(background) })
	}
	if a.quotas != nil {
		tasks.Go(func() { a.quotas.keep(background) })
	}
	pages, closePages := context.WithCancel(ctx) // open pages never finish by themselves
	defer closePages()
	if a.admin != nil {
		tasks.Go(func() { a.admin.Run(pages) })
	}

	failed, served := make(chan error, 1), l
	if timeout := a.config.Load().Server.Timeouts.WriteStall; timeout > 0 {
		served = stallListener{l, timeout}
	}
	go func() { failed <- a.server.Serve(served) }()
	a.options.Log.Info("shunt is listening", "address", l.Addr().String(), "version", a.options.Version)
	select {
	case err = <-failed:
		a.abort(upstream.ErrShutdown)
		err = errors.Join(err, a.server.Close())
	case <-ctx.Done():
		err = a.drain(failed)
	}
	stop()
	closePages()
	tasks.Wait()
	return errors.Join(err, a.close(), endScrapes())
}

// drain ends the server: no new requests, open ones may finish in time.
func (a *App) drain(served <-chan error) error {
	patience := a.config.Load().Server.ShutdownTimeout
	a.options.Log.Info("shutting down: open answers may finish", "timeout", patience)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if a.server.Shutdown(ctx) != nil {
		a.abort(upstream.ErrShutdown)
		a.options.Log.Warn("open answers were cut: server.shutdown_timeout_seconds is over")
	}
	err := a.server.Close()
	if served := <-served; served != http.ErrServerClosed {
		err = errors.Join(err, served)
	}
	return err
}

// refreshPatience is how long an end waits for refreshes in flight; each takes at most 30 s (TOK-7c).
const refreshPatience = 35 * time.Second

func (a *App) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), refreshPatience)
	defer cancel()
	err := errors.Join(a.gateway.Wait(ctx), a.keeper.Close(ctx))
	a.transport.Close()
	if a.quotas != nil {
		a.quotas.save()
	}
	a.closeTraces()
	return errors.Join(err, a.requests.close())
}

// Conditions are the named conditions that hold at present.
func (a *App) Conditions() []observe.Condition { return a.health.List() }

// Pool is the state of a provider's accounts.
func (a *App) Pool(provider string) []pool.Status { return a.registry.Pool(provider).Snapshot() }
