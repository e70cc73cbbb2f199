package upstream_test

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shunt/internal/account"
	"shunt/internal/clock"
	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
	"shunt/internal/family/claude"
	"shunt/internal/oauth"
	"shunt/internal/observe"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
	"shunt/internal/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world serves requests from upstreams, as a gateway does that routes every model to one chain.
type world struct {
	*simtest.World
	setup     setup
	env       map[string]string // of accounts with a TokenEnv
	registry  *pool.Registry
	health    *observe.Health
	keeper    *account.Keeper
	transport *upstream.Transport
	log       *slog.Logger
	chain     atomic.Pointer[[]upstream.Link]
	watching  bool
}

// watchStore has a world follow changes of the account store, and refresh tokens before they expire, as shunt does. Other worlds
// do neither, which makes long times cheap.
func watchStore(w *world) { w.watching = true }

// inWorld runs a test of upstreams that are set up as described. The functions in before may change the world before the
// upstreams are built.
func inWorld(t *testing.T, provider sim.Config, s setup, test func(w *world), before ...func(w *world)) {
	t.Helper()
	simtest.Run(t, provider, func(base *simtest.World) {
		w := &world{World: base, setup: s, env: map[string]string{}}
		w.log = slog.New(slog.NewTextHandler(w.Log, nil))
		w.health = observe.NewHealth(w.log, clock.Clock{})
		w.registry = pool.NewRegistry(clock.Clock{}, map[string]*quota.Table{claude.Family.Name: claude.Family.Windows})
		w.transport = upstream.NewTestTransport(w.Dial)
		w.Tested = simtest.Live{Registry: w.registry, Health: w.health}
		for _, f := range before {
			f(w)
		}
		stop := w.start()
		defer func() {
			w.Client.CloseIdleConnections()
			stop()
		}()
		test(w)
	})
}

// start builds the upstreams and serves from them.
func (w *world) start() (stop func()) {
	vendor := claude.Family.Vendor
	vendor.TokenURL = simtest.ProviderURL + sim.TokenPath
	w.keeper = account.NewKeeper(account.Options{
		Log: w.log, Health: w.health, OnChange: w.registry.CredentialChanged,
		Families: []account.Family{{
			Name: claude.Family.Name, Format: claude.Family.Credentials, Dir: w.Store,
			Refresher: oauth.NewClient(vendor, &http.Transport{DialContext: w.Dial, DisableKeepAlives: true}),
		}},
		Getenv: func(name string) string { return w.env[name] },
	})
	w.build()
	ctx, cancel := context.WithCancel(w.Context())
	var background sync.WaitGroup
	if w.watching {
		background.Go(func() { w.keeper.Run(ctx) })
		background.Go(func() { w.follow(ctx) })
	}
	server := sim.Serve(w.Front, w)
	return func() {
		if err := server.Close(); err != nil {
			w.Error(err)
		}
		cancel()
		background.Wait()
		if err := w.keeper.Close(w.Context()); err != nil {
			w.Error(err)
		}
		w.transport.Close()
	}
}

func (w *world) follow(ctx context.Context) {
	for {
		select {
		case <-w.keeper.Changes():
			w.build()
		case <-ctx.Done():
			return
		}
	}
}

// build builds the upstreams from the accounts that there are now.
func (w *world) build() {
	listings := map[string]account.Listing{}
	for _, p := range w.setup.chain {
		if p.pool {
			listings[p.name] = account.Listing{Family: claude.Family.Name, Specs: p.specs()}
		}
	}
	accounts, warnings := w.keeper.Resolve(listings)
	for _, warning := range warnings {
		w.log.Warn(warning)
	}
	chain := make([]upstream.Link, len(w.setup.chain))
	for i, p := range w.setup.chain {
		chain[i].Name = p.name
		if !p.pool {
			chain[i].Upstream = upstream.NewSingle(upstream.SingleOptions{
				Name: p.name, Base: p.url(w), Credential: p.credential, Family: &claude.Family, Transport: w.transport,
			})
			continue
		}
		chain[i].Upstream = upstream.NewPool(upstream.PoolOptions{
			Name: p.name, Family: &claude.Family, Base: p.url(w), Accounts: accounts[p.name],
			Scheduler: w.registry.Pool(p.name).Configure(p.members(accounts[p.name]), w.setup.policy),
			Transport: w.transport, Log: w.log,
		})
	}
	w.chain.Store(&chain)
}

// ServeHTTP serves a request as the gateway does.
func (w *world) ServeHTTP(rw http.ResponseWriter, client *http.Request) {
	record := &observe.Record{Time: time.Now(), Path: client.URL.Path}
	r := &upstream.Request{
		Client: client, Path: client.URL.Path, Dialect: messages.Dialect{}, CountsTokens: client.URL.Path == sim.CountTokensPath,
		Times: w.setup.times, Record: record,
	}
	body, err := upstream.ReadBody(client.Body, client.ContentLength, 32<<20)
	if err == nil {
		r.Body = body
		defer r.Release()
		r.Scan, err = r.Dialect.Scan(body.Bytes())
	}
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	record.Model, record.Stream = r.Scan.Model, r.Scan.Stream
	r.Identify()
	outcome := upstream.ServeChain(rw, r, w.links(r.Scan.Model))
	if f := outcome.Failure; f != nil {
		record.Status, record.Error = f.Status, f.Message
		writeFailure(rw, f)
	}
	record.Log(client.Context(), w.log)
	w.Record(record)
	if outcome.Aborted && record.Status != 0 {
		_ = http.NewResponseController(rw).Flush()
	}
	if outcome.Aborted || record.Status == 0 {
		panic(http.ErrAbortHandler)
	}
}

func (w *world) links(model string) []upstream.Link {
	links := *w.chain.Load()
	if i, ok := w.setup.routes[model]; ok {
		return []upstream.Link{{Name: links[i].Name, Upstream: links[i].Upstream, Model: model}}
	}
	bare := strings.TrimSuffix(strings.TrimSuffix(model, "[1m]"), "[1M]")
	routed := make([]upstream.Link, len(links))
	for i, link := range links {
		routed[i] = link
		routed[i].Model = bare
		if name, ok := w.setup.chain[i].models[bare]; ok {
			routed[i].Model = name
		}
	}
	return routed
}

func writeFailure(rw http.ResponseWriter, f *upstream.Failure) {
	rw.Header().Set("Content-Type", "application/json")
	if f.Final {
		rw.Header().Set("X-Should-Retry", "false")
	}
	if f.RetryAfter > 0 {
		rw.Header().Set("Retry-After", strconv.Itoa(int((f.RetryAfter+time.Second-1)/time.Second)))
	}
	rw.WriteHeader(f.Status)
	rw.Write(messages.Dialect{}.AppendError(nil, &dialect.Error{Kind: f.Kind, Status: f.Status, Message: f.Message}, "req_1"))
}
