package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

// WIRE-12b: shunt gives up an upstream whose stream stalls, although its own pings keep the client waiting. Claude Code sends the
// turn again and shows that response.
func TestStalledUpstream(t *testing.T) {
	t.Parallel()
	p := startProvider(t, sim.Config{Accounts: subscriptions("a", "b")})
	var stalled atomic.Int64
	p.Inject("", stall(&stalled).Times(1))
	g := startGateway(t, p, newStore(t, p, "a", "b"), pool+"\n[server.timeouts]\nupstream_idle_ms = 2000\n", "SHUNT_SERVER__SSE_KEEPALIVE_SECONDS=1")
	p.shown(t, newClaude(t, g.url, clientToken).prompt(t, "say hi"))
	g.stop(t)
	records := g.records(t)
	if stalled.Load() != 1 || len(records) < 2 || len(records) > 3 || records[0].End == "" || records[len(records)-1].End != "" {
		t.Errorf("%d stalls; records %+v", stalled.Load(), records)
	}
}

// FO-0c: a request that fails on every account reaches at most two accounts and cools them down only briefly. Sessions on the
// other accounts stay there.
func TestOneBadRequest(t *testing.T) {
	const poison = "claude-poison"
	for _, c := range []struct {
		name  string
		fault sim.Fault
		most  int // upstream requests; after a reset the same account gets one more (FO-0a)
	}{
		{"500", sim.ServerError(500), 2},
		{"reset", sim.ResetConnection(), 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var names []string
			for i := range 10 {
				names = append(names, fmt.Sprintf("a%d", i))
			}
			p := startProvider(t, sim.Config{Accounts: subscriptions(names...)})
			g := startGateway(t, p, newStore(t, p, names...), pool)
			sessions := make([]string, 30)
			serve := func(session string) string {
				response := g.send(t, session, model)
				if response.StatusCode != http.StatusOK {
					t.Errorf("%s: %d", session, response.StatusCode)
				}
				return response.Header.Get("X-Shunt-Account")
			}
			for i := range sessions {
				sessions[i] = serve(fmt.Sprint("session-", i))
			}

			p.Inject("", c.fault.Model(poison))
			if status := g.send(t, "bad", poison).StatusCode; status < 500 {
				t.Errorf("the bad request: %d", status)
			}
			sent, hit := 0, map[string]bool{}
			for _, r := range p.messages() {
				if r.Model == poison {
					sent++
					hit[accountOf(r.Header)] = true
				}
			}
			if sent == 0 || sent > c.most || len(hit) > 2 {
				t.Errorf("the bad request was sent upstream %d times, to %d accounts", sent, len(hit))
			}

			used := map[string]bool{}
			for i, before := range sessions {
				now := serve(fmt.Sprint("session-", i))
				used[now] = true
				if now != before && !hit[before] {
					t.Errorf("session %d moved from %s to %s", i, before, now)
				}
			}
			if len(used) < 6 {
				t.Errorf("30 sessions use %d of 10 accounts", len(used))
			}
		})
	}
}

// TOK-9, FO-8b: while the provider rejects every token, each account is refreshed once, and no client is told to log in.
func TestAuthenticationOutage(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	p := startProvider(t, sim.Config{Accounts: subscriptions(names...)})
	p.Inject("", sim.Failure(http.StatusUnauthorized, messages.TypeAuthentication, "Invalid authentication credentials"))
	g := startGateway(t, p, newStore(t, p, names...), pool)
	for i := range 20 {
		if status := g.send(t, fmt.Sprint("session-", i), model).StatusCode; status != http.StatusBadGateway {
			t.Errorf("request %d: %d", i, status)
		}
	}
	for _, name := range names {
		if n := p.Counters(name).Refreshes; n > 1 {
			t.Errorf("%s was refreshed %d times", name, n)
		}
	}
}

// RTE-2: shunt rejects a model name of many megabytes and keeps none of it in memory.
func TestHugeModelName(t *testing.T) {
	t.Parallel()
	p := startProvider(t, sim.Config{Accounts: subscriptions("a")})
	g := startGateway(t, p, newStore(t, p, "a"), pool)
	name := strings.Repeat("m", 31<<20)
	const requests = 24
	for i := range requests {
		body := fmt.Sprintf(`{"model":"%d-%s","max_tokens":20,"messages":[]}`, i, name)
		if response := g.post(t, "session", body); response.StatusCode != http.StatusBadRequest {
			t.Errorf("a model of %d bytes: %d", len(name), response.StatusCode)
		}
	}
	if n := g.resident(t); n > 256<<20 {
		t.Errorf("%d MiB of resident memory after %d requests", n>>20, requests)
	}
	if n := len(p.messages()); n > 0 {
		t.Errorf("%d of them reached the provider", n)
	}
}
