package usage_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"shunt/internal/account"
	"shunt/internal/clock"
	"shunt/internal/family/claude"
	"shunt/internal/oauth"
	"shunt/internal/observe"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/sim"
	"shunt/internal/store"
	"shunt/internal/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a poller with all that it touches: a simulated provider, the logins of its accounts, and the pools. It lives
// in a bubble of virtual time.
type world struct {
	*testing.T
	clock    clock.Clock
	began    time.Time
	provider *sim.Provider
	store    *store.Memory
	env      map[string]string
	keeper   *account.Keeper
	registry *pool.Registry
	health   *observe.Health
	poller   *usage.Poller
	start    func() // the poller, once; what a test sets up before time passes is there at the first poll
	stop     func() // and wait for its end

	mu  sync.Mutex
	log bytes.Buffer
}

func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

const (
	interval = 5 * time.Minute
	base     = "http://127.0.0.1:8001/proxy"
)

type setting struct {
	accounts int
	interval time.Duration  // 0: the usual one
	speed    float64        // of the clock; 0: the machine's
	specs    []account.Spec // of the pool "claude" at first; nil: the whole store
	before   func(w *world) // anything is asked
}

// inWorld runs a test with accounts a, b, c ... in the store. The poller runs.
func inWorld(t *testing.T, s setting, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if s.interval == 0 {
			s.interval = interval
		}
		var c clock.Clock
		if s.speed != 0 {
			c = clock.Accelerated(s.speed)
		}
		accounts := make([]sim.Account, s.accounts)
		for i := range accounts {
			name := fmt.Sprintf("%c", 'a'+i%26) + strings.Repeat("x", i/26)
			accounts[i] = sim.Account{Name: name, FiveHour: sim.Window{Fill: 0.25}, SevenDay: sim.Window{Fill: 0.5}, Fable: sim.Window{Fill: 0.75}}
		}
		w := &world{T: t, clock: c, store: new(store.Memory), env: map[string]string{}, registry: pool.NewRegistry(c, map[string]*quota.Table{"claude": claude.Family.Windows})}
		w.provider = sim.New(sim.Config{Clock: c, Accounts: accounts, Record: 1 << 14})
		listener := sim.Listen("127.0.0.1:8001")
		server := sim.Serve(listener, http.StripPrefix("/proxy", w.provider))
		transport := &http.Transport{DialContext: listener.Dial, DisableKeepAlives: true}
		for _, a := range accounts {
			w.put(a.Name, w.provider.Credentials(a.Name))
		}
		log := slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
		w.health = observe.NewHealth(log, c)
		vendor := claude.Family.Vendor
		vendor.TokenURL = base + sim.TokenPath
		w.keeper = account.NewKeeper(account.Options{
			Clock: c, Log: log, Health: w.health, Families: []account.Family{{
				Name: "claude", Format: claude.Family.Credentials, Refresher: oauth.NewClient(vendor, transport), Dir: "/store",
			}},
			Getenv: func(name string) string { return w.env[name] },
			Open:   func(string) store.Store { return w.store },
		})
		w.poller = usage.New(usage.Options{Clock: c, Log: log, Health: w.health, Interval: s.interval, Transport: transport})
		if s.before != nil {
			s.before(w)
		}
		w.follow(map[string][]account.Spec{"claude": s.specs})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		w.began = c.Now()
		w.start = sync.OnceFunc(func() {
			go func() { w.poller.Run(ctx); close(ended) }()
		})
		w.stop = func() { w.start(); cancel(); <-ended }

		test(w)

		w.stop()
		if err := w.keeper.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if text := w.logged() + fmt.Sprint(w.health.List()); strings.Contains(text, "sk-ant-") {
			t.Errorf("TOK-8: a token in the log or a condition:\n%s", text)
		}
	})
}

func (w *world) put(name string, credentials []byte) {
	if _, err := w.store.Put(context.Background(), name+".json", credentials); err != nil {
		w.Fatal(err)
	}
}

// follow has the poller and the pools take configured accounts, by the names of the pools.
func (w *world) follow(specs map[string][]account.Spec) {
	w.Helper()
	listings := map[string]account.Listing{}
	for name, listed := range specs {
		listings[name] = account.Listing{Family: "claude", Specs: listed}
	}
	resolved, _ := w.keeper.Resolve(listings)
	at, err := url.Parse(base)
	if err != nil {
		w.Fatal(err)
	}
	var entries []usage.Entry
	for name, accounts := range resolved {
		var members []pool.Account
		for _, a := range accounts {
			members = append(members, pool.Account{Name: a.Name(), Key: a.Key(), Soft: quota.Soft(quota.DefaultHard)})
			entries = append(entries, usage.Entry{Provider: name, Family: &claude.Family, Base: at, Account: a, Pool: w.registry.Pool(name)})
		}
		w.registry.Pool(name).Configure(members, pool.Policy{})
	}
	w.poller.Follow(entries)
}

// runs lets time pass on the world's clock, and everything settle.
func (w *world) runs(d time.Duration) {
	w.start()
	time.Sleep(w.clock.Scale(d))
	synctest.Wait()
}

// asks are the calls of the usage endpoint with an account's tokens, whatever became of them.
func (w *world) asks(account string) (calls []sim.Request) {
	for _, r := range w.provider.Requests() {
		if r.Path == "/proxy"+sim.UsagePath && r.Account == account {
			calls = append(calls, r)
		}
	}
	return calls
}

// times is when calls came, after the poller began, in whole seconds.
func (w *world) times(calls []sim.Request) (seconds []int) {
	for _, c := range calls {
		seconds = append(seconds, int(c.Received.Sub(w.began)/time.Second))
	}
	return seconds
}

// expect checks when an account has been polled, in whole seconds after the poller began.
func (w *world) expect(account string, seconds ...int) {
	w.Helper()
	if got := w.times(w.asks(account)); !slices.Equal(got, seconds) {
		w.Errorf("%s was asked about at %v, want %v", account, got, seconds)
	}
}

func (w *world) state(pool, account string) quota.State {
	w.Helper()
	for _, s := range w.registry.Pool(pool).Snapshot() {
		if s.Name == account {
			return s.Quota
		}
	}
	w.Fatalf("no account %s", account)
	return quota.State{}
}

// used is what a pool knows of an account's windows: 5h, 7d, fable; -1 is unknown.
func (w *world) used(pool, account string) (fractions [claude.WindowCount]float64) {
	w.Helper()
	s := w.state(pool, account)
	for i := range fractions {
		fraction, known := s.Utilization(i)
		if !known {
			fraction = -1
		}
		fractions[i] = fraction
	}
	return fractions
}

func (w *world) conditions() (names []string) {
	for _, c := range w.health.List() {
		names = append(names, c.Name+": "+c.Detail)
	}
	return names
}
