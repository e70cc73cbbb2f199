package usage_test

import (
	"cmp"
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
	"shunt/internal/sim/simtest"
	"shunt/internal/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a poller with everything that it uses: the logins of a simulated provider's accounts, and the pools.
type world struct {
	*simtest.World
	clock    clock.Clock
	began    time.Time
	env      map[string]string
	keeper   *account.Keeper
	registry *pool.Registry
	health   *observe.Health
	poller   *usage.Poller
	start    func() // the poller, once; what a test sets up before time passes is there at the first poll
	stop     func() // and wait for its end
}

const (
	interval    = 5 * time.Minute
	providerURL = simtest.ProviderURL + "/proxy"
)

type setting struct {
	accounts int
	interval time.Duration  // 0: the usual one
	speed    float64        // of the clock; 0: the machine's
	specs    []account.Spec // of the pool "claude" at first; nil: the whole store
	before   func(w *world) // before the first poll
}

// inWorld runs a test of a poller, with accounts a, b, c ... in the store.
func inWorld(t *testing.T, s setting, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var c clock.Clock
		if s.speed != 0 {
			c = clock.Accelerated(s.speed)
		}
		accounts := make([]sim.Account, s.accounts)
		for i := range accounts {
			name := fmt.Sprintf("%c", 'a'+i%26) + strings.Repeat("x", i/26)
			accounts[i] = sim.Account{Name: name, FiveHour: sim.Window{Fill: 0.25}, SevenDay: sim.Window{Fill: 0.5}, Fable: sim.Window{Fill: 0.75}}
		}
		simtest.InBubble(t, sim.Config{Clock: c, Accounts: accounts, Record: 1 << 14}, func(base *simtest.World) {
			w := newWorld(base, c, s.interval)
			if s.before != nil {
				s.before(w)
			}
			w.follow(map[string][]account.Spec{"claude": s.specs})
			ctx, cancel := context.WithCancel(w.Context())
			ended := make(chan struct{})
			w.began = c.Now()
			w.start = sync.OnceFunc(func() {
				go func() { w.poller.Run(ctx); close(ended) }()
			})
			w.stop = func() { w.start(); cancel(); <-ended }
			test(w)
			w.stop()
			w.Must(w.keeper.Close(w.Context()))
		})
	})
}

func newWorld(base *simtest.World, c clock.Clock, every time.Duration) *world {
	w := &world{
		World: base, clock: c, env: map[string]string{},
		registry: pool.NewRegistry(c, map[string]*quota.Table{claude.Family.Name: claude.Family.Windows}),
	}
	log := slog.New(slog.NewTextHandler(w.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.health = observe.NewHealth(log, c)
	w.Tested = simtest.Live{Registry: w.registry, Health: w.health}
	w.Serve("127.0.0.1:8001", http.StripPrefix("/proxy", w.Provider))
	transport := &http.Transport{DialContext: w.Dial, DisableKeepAlives: true}
	vendor := claude.Family.Vendor
	vendor.TokenURL = providerURL + sim.TokenPath
	w.keeper = account.NewKeeper(account.Options{
		Clock: c, Log: log, Health: w.health, Families: []account.Family{{
			Name: claude.Family.Name, Format: claude.Family.Credentials, Refresher: oauth.NewClient(vendor, transport), Dir: w.Store,
		}},
		Getenv: func(name string) string { return w.env[name] },
	})
	w.poller = usage.New(usage.Options{Clock: c, Log: log, Health: w.health, Interval: cmp.Or(every, interval), Transport: transport})
	return w
}

// follow configures the poller and the pools with accounts, by the names of the pools.
func (w *world) follow(specs map[string][]account.Spec) {
	w.Helper()
	listings := map[string]account.Listing{}
	for name, listed := range specs {
		listings[name] = account.Listing{Family: "claude", Specs: listed}
	}
	resolved, _ := w.keeper.Resolve(listings)
	at, err := url.Parse(providerURL)
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

// runs lets time pass on the poller's clock.
func (w *world) runs(d time.Duration) {
	w.start()
	time.Sleep(w.clock.Scale(d))
	synctest.Wait()
}

// polls returns the requests to the usage endpoint with tokens of an account, in whatever way they ended.
func (w *world) polls(account string) (calls []sim.Request) {
	for _, r := range w.Provider.Requests() {
		if r.Path == "/proxy"+sim.UsagePath && r.Account == account {
			calls = append(calls, r)
		}
	}
	return calls
}

// times returns when requests were received, in whole seconds after the poller began.
func (w *world) times(calls []sim.Request) (seconds []int) {
	for _, c := range calls {
		seconds = append(seconds, int(c.Received.Sub(w.began)/time.Second))
	}
	return seconds
}

// expect checks when an account has been polled, in whole seconds after the poller began.
func (w *world) expect(account string, seconds ...int) {
	w.Helper()
	if got := w.times(w.polls(account)); !slices.Equal(got, seconds) {
		w.Errorf("%s was polled at %v, want %v", account, got, seconds)
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

// used returns the used fractions of an account's windows as its pool has them: 5h, 7d, fable; -1 is unknown.
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
