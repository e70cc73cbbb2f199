// Package app builds shunt from a configuration and runs it: the object graph, the background work, reloads in a fixed order,
// the listener, and a shutdown that loses nothing. It decides nothing about requests.
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
	"shunt/internal/family"
	"shunt/internal/gateway"
	"shunt/internal/observe"
	"shunt/internal/pool"
	"shunt/internal/upstream"
	"shunt/internal/usage"
)

// Options are the parameters of an [App] besides its configuration.
type Options struct {
	Version string
	Env     []string // as [os.Environ] returns it
	Clock   clock.Clock
	Log     *slog.Logger
	// Level is the logger's level, which follows log.level at each reload; nil leaves it alone.
	Level *slog.LevelVar
	// Dial opens connections to providers; nil uses the network.
	Dial upstream.DialFunc
	// Families are the families of accounts that it knows. Optional: those of [Registry].
	Families []*family.Family
	// OnRecord, if not nil, is called with the record of every inference request when it has ended.
	OnRecord func(*observe.Record)
}

// App is a shunt.
type App struct {
	options   Options
	families  families
	health    *observe.Health
	registry  *pool.Registry
	keeper    *account.Keeper
	logins    []admin.Family     // by which the web surface adds accounts
	admin     *admin.Admin       // nil: off
	rereads   chan chan struct{} // makes follow read the account store again, and then close the channel
	serving   atomic.Pointer[serving]
	transport *upstream.Transport
	poller    *usage.Poller // nil: off
	requests  requestLog
	quotas    *quotaSaver      // nil: off
	metrics   *observe.Metrics // nil: off
	traces    *observe.Traces  // set by Run; nil: off
	gateway   *gateway.Gateway
	server    *http.Server
	abort     context.CancelCauseFunc // aborts requests in flight

	config       atomic.Pointer[config.Config] // written by New and follow only
	reloadFailed bool                          // the last reload failed; used by follow only
}

// New builds an App from a valid configuration. It starts nothing, but opens the request log; [App.Run] closes it.
func New(cfg *config.Config, o Options) (*App, error) {
	if len(o.Families) == 0 {
		o.Families = Registry()
	}
	a := &App{
		options: o, families: o.Families, rereads: make(chan chan struct{}), health: observe.NewHealth(o.Log, o.Clock),
		transport: newTransport(cfg, o.Dial),
	}
	a.registry = pool.NewRegistry(o.Clock, a.families.tables())
	a.config.Store(cfg)
	a.poller = a.newPoller(&cfg.Server.Pool)
	a.metrics = a.newMetrics(cfg)
	if err := a.openAccounts(); err != nil {
		return nil, err
	}
	if err := a.requests.open(cfg.Log.Requests, a.health); err != nil {
		return nil, err
	}
	if path := cfg.Server.Pool.StatePath; path != "" {
		var err error
		if a.quotas, err = restoreQuotas(newQuotaFile(path, a.families), a.registry, a.health, o.Clock); err != nil {
			o.Log.Warn("the saved quota cannot be restored: shunt starts without it", "error", err)
		}
	}
	a.admin = a.newAdmin(cfg)
	a.gateway = a.newGateway(cfg)
	a.server, a.abort = a.newServer(cfg)
	return a, nil
}

func newTransport(cfg *config.Config, dial upstream.DialFunc) *upstream.Transport {
	if cfg.Server.Transport == config.TransportNetHTTP {
		return upstream.NewNetHTTPTransport(dial)
	}
	return upstream.NewTransport(dial)
}

func (a *App) newGateway(cfg *config.Config) *gateway.Gateway {
	o := gateway.Options{Version: a.options.Version, Log: a.options.Log, Record: a.record, Dialects: dialects}
	if a.admin != nil {
		o.Admin, o.Metrics = a.admin, a.admin.Readers(a.metrics.Handler())
	}
	if cfg.Server.Usage {
		o.Usage = a.usageEndpoint()
	}
	o.ClientUsages, o.ClientLists, o.Fixed = a.clientUsages(&cfg.Server), a.clientLists(), a.fixedEndpoints()
	return gateway.New(o, a.assemble(cfg))
}

const (
	idleTimeout = 10 * time.Minute // of a client's connection between requests
	headerSlack = 64 << 10         // bytes above the limits that the gateway itself enforces, with an error of its own
)

func (a *App) newServer(cfg *config.Config) (*http.Server, context.CancelCauseFunc) {
	limits := &cfg.Server.Limits
	requests, abort := context.WithCancelCause(context.Background())
	return &http.Server{
		Handler:           a.gateway,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: cfg.Server.Timeouts.ReadHeader,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    limits.MaxRequestHeaderBytes + limits.MaxURLLength + headerSlack,
		ErrorLog:          slog.NewLogLogger(a.options.Log.Handler(), slog.LevelWarn),
	}, abort
}

// record logs and counts a request that has ended.
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
	if a.options.OnRecord != nil {
		a.options.OnRecord(r)
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

// Run serves on the listener until ctx ends. Then it lets requests in flight finish for server.shutdown_timeout_seconds, saves
// refreshed credentials (TOK-5), and closes the listener. A value from hup reloads at once (CFG-50).
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
		tasks.Go(func() { a.quotas.run(background) })
	}
	pages, closePages := context.WithCancel(ctx) // open pages never end by themselves
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

// drain ends the server: it accepts no new requests, and lets those in flight finish in time.
func (a *App) drain(served <-chan error) error {
	timeout := a.config.Load().Server.ShutdownTimeout
	a.options.Log.Info("shutting down when requests in flight have finished", "timeout", timeout)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if a.server.Shutdown(ctx) != nil {
		a.abort(upstream.ErrShutdown)
		a.options.Log.Warn("requests in flight were aborted: server.shutdown_timeout_seconds has passed")
	}
	err := a.server.Close()
	if served := <-served; served != http.ErrServerClosed {
		err = errors.Join(err, served)
	}
	return err
}

// refreshTimeout is how long a shutdown waits for refreshes in flight. Each takes at most 30 s (TOK-7c).
const refreshTimeout = 35 * time.Second

func (a *App) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), refreshTimeout)
	defer cancel()
	err := errors.Join(a.gateway.Wait(ctx), a.keeper.Close(ctx))
	a.transport.Close()
	if a.quotas != nil {
		a.quotas.save()
	}
	a.closeTraces()
	return errors.Join(err, a.requests.close())
}

// Conditions returns the health conditions that hold now.
func (a *App) Conditions() []observe.Condition { return a.health.List() }

// Pool returns the state of a provider's accounts.
func (a *App) Pool(provider string) []pool.Status { return a.registry.Pool(provider).Snapshot() }
