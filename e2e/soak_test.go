package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/internal/sim"
)

var (
	soakFor  = flag.Duration("soak", time.Minute, "duration for which TestSoak sends requests")
	soakSeed = flag.Uint64("soak.seed", 0, "seed of its requests and faults; 0 picks one")
)

const soakSessions = 24

// footprint is shunt's use of resources while no request is in flight.
type footprint struct {
	resident                int64 // bytes
	descriptors, goroutines int
}

func (f footprint) String() string {
	return fmt.Sprintf("%.1f MiB, %d descriptors, %d goroutines", float64(f.resident)/(1<<20), f.descriptors, f.goroutines)
}

// Sessions send requests to ten accounts while every kind of fault hits the accounts. Every response belongs to its request and
// its account, none hangs (FO, WIRE-12b), shunt does not leak memory (FO-14, WIRE-13), its metrics match what the sessions saw
// (OBS-2), and cooldowns end after the faults do.
func TestSoak(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64N(1_000_000) + 1
	}
	t.Logf("%v with -soak.seed=%d", *soakFor, seed)

	var accounts []string
	for i := range 10 {
		accounts = append(accounts, fmt.Sprintf("a%d", i))
	}
	config := sim.Config{
		Seed: 1, Accounts: subscriptions(accounts...), Record: 1, Output: sim.Range{Min: 20, Max: 80},
		Pace: sim.Pace{FirstByte: 20 * time.Millisecond, Delta: 5 * time.Millisecond},
	}
	for i := range config.Accounts {
		config.Accounts[i].FiveHour.Size, config.Accounts[i].SevenDay.Size = 1<<40, 1<<40
	}
	upstream := sim.New(config)
	server, err := sim.Start(echoing(upstream))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	p := &provider{upstream, server.URL, config.Output}
	metrics := freeAddress(t)
	g := startConfigured(t, p, newStore(t, p, accounts...), fmt.Sprintf(
		"[server.timeouts]\nupstream_ttfb_ms = 3000\nupstream_ttfb_nonstream_ms = 3000\nupstream_idle_ms = 2500\n[server.metrics]\nbind = %q\n[providers.anthropic]\nbase_url = %q\n%s\n",
		metrics, p.url, pool), "SHUNT_SERVER__SSE_KEEPALIVE_SECONDS=1", "SHUNT_LOG__LEVEL=warn")

	l := newLoad(g.url, soakSessions)
	var stalled atomic.Int64
	half := func(n uint64) footprint {
		ctx, cancel := context.WithTimeout(t.Context(), *soakFor/2)
		defer cancel()
		var faults sync.WaitGroup
		faults.Go(func() { injectFaults(ctx, upstream, rand.New(rand.NewPCG(seed, n)), &stalled) })
		l.run(ctx, soakSessions, seed+n)
		faults.Wait()
		f := g.settled(t, metrics)
		t.Logf("after %d requests: %v", l.total, f)
		return f
	}
	middle := half(1)
	end := half(2)
	if end.resident > middle.resident+middle.resident/4+8<<20 || end.goroutines > middle.goroutines+5 || end.descriptors > middle.descriptors+soakSessions {
		t.Errorf("shunt grows: %v in the middle, %v at the end", middle, end)
	}

	for _, account := range accounts {
		upstream.Clear(account)
	}
	available := scrape(t, metrics).sum("shunt_account_available")
	for deadline := time.Now().Add(45 * time.Second); available < float64(len(accounts)) && time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		available = scrape(t, metrics).sum("shunt_account_available")
	}
	rng := rand.New(rand.NewPCG(seed, 3))
	for i := range soakSessions {
		l.send(fmt.Sprintf("afterwards-%d", i), rng)
	}
	g.settled(t, metrics)
	totals := scrape(t, metrics)
	if available != float64(len(accounts)) || totals.sum("shunt_account_cooldown_seconds") != 0 || totals.sum("shunt_conditions") != 0 {
		t.Errorf("afterwards %v of %d accounts are available, with %v s of cooldowns and %v conditions",
			available, len(accounts), totals.sum("shunt_account_cooldown_seconds"), totals.sum("shunt_conditions"))
	}
	l.report(t, stalled.Load(), p)
	l.agree(t, totals)
	g.stop(t)
	if n := len(g.records(t)); n != l.total {
		t.Errorf("%d lines in the request log for %d requests", n, l.total)
	}
}

// settled waits until no request is in flight and their goroutines have ended, and returns the footprint then.
func (g *gateway) settled(t *testing.T, metrics string) (f footprint) {
	t.Helper()
	lowest := 1 << 30
	for quiet := 0; quiet < 5; time.Sleep(200 * time.Millisecond) { // one second in which no goroutine ends
		s := scrape(t, metrics)
		now := int(s["go_goroutines"])
		if now < lowest || s["shunt_requests_in_flight"] != 0 {
			lowest, quiet = min(lowest, now), 0
		} else {
			quiet++
		}
		f = footprint{g.resident(t), g.descriptors(t), lowest}
	}
	return f
}

// report fails the test if responses were wrong, or if some kind of fault never happened.
func (l *load) report(t *testing.T, stalled int64, p *provider) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	c := p.Counters("")
	t.Logf("%d requests: %d complete, %d aborted by the upstream, %d by the client; by status %v; the upstream: %v, %d connections reset, %d stalls, %d refreshes",
		l.total, l.completed, l.aborted, l.abandoned, l.byStatus, c.ByStatus, c.Aborted, stalled, c.Refreshes)
	for _, problem := range l.problems {
		t.Error(problem)
	}
	if l.numProblems > 0 {
		t.Errorf("%d of %d responses were wrong", l.numProblems, l.total)
	}
	if l.completed*10 < l.total*8 {
		t.Errorf("only %d of %d requests got a complete response", l.completed, l.total)
	}
	for _, status := range []int{http.StatusUnauthorized, http.StatusTooManyRequests, 529} {
		if c.ByStatus[status] == 0 {
			t.Errorf("the upstream never returned %d", status)
		}
	}
	if stalled == 0 || c.Aborted == 0 || l.aborted == 0 || l.abandoned == 0 || c.Refreshes == 0 {
		t.Error("a kind of fault never happened")
	}
}

// agree compares the totals of the metrics with what the sessions saw. A client that closes a stream does not see how it would
// have ended.
func (l *load) agree(t *testing.T, totals series) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := totals.sum("shunt_requests_total"); int(n) != l.total {
		t.Errorf("metrics count %v requests, the sessions sent %d", n, l.total)
	}
	for status, seen := range l.byStatus {
		if n := totals.sum("shunt_requests_total", label("status", status)); int(n) != seen {
			t.Errorf("metrics count %v responses of status %d, the sessions saw %d", n, status, seen)
		}
	}
	for account, seen := range l.served {
		if n := totals.sum("shunt_upstream_attempts_total", label("account", account), label("reason", "success")); int(n) != seen {
			t.Errorf("metrics count %v successes of %s, the sessions saw %d", n, account, seen)
		}
	}
	if n := int(totals.sum("shunt_streams_cut_total")); n < l.aborted || n > l.aborted+l.abandoned {
		t.Errorf("metrics count %d aborted streams, the sessions saw %d and closed %d", n, l.aborted, l.abandoned)
	}
	if n := int(totals.sum("shunt_clients_gone_total")); n > l.abandoned {
		t.Errorf("metrics count %d clients that went away, want at most %d", n, l.abandoned)
	}
}
