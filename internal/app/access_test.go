package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/sim"
)

func clientTokens(list string) func(*world) {
	return func(w *world) { w.env = append(w.env, "SHUNT_CLIENT_TOKENS="+list) }
}

var asAnn = http.Header{"X-Shunt-Token": {"ann-secret"}}

// AUTH-2, AUTH-3, OBS-1: a colleague's token opens the pool and is in no log but by the name of who holds it; nobody else reaches the provider.
func TestColleaguesComeInWithTokens(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf("[server.auth]\n"), func(w *world) {
		body := bodyFor(plainModel, false)
		w.wants("a stranger", w.send(sim.MessagesPath, minimal, body).status, http.StatusUnauthorized)
		w.wants("the model list for a stranger", w.get(http.MethodGet, "/v1/models", nil).status, http.StatusUnauthorized)
		w.wants("a client's own credential", w.send(sim.MessagesPath, with(minimal, "Authorization", "Bearer theirs"), body).status, http.StatusUnauthorized)
		w.wants("requests at the provider", w.seen(), 0)
		w.wants("ann", w.send(sim.MessagesPath, with(minimal, "X-Shunt-Token", "ann-secret"), body).status, http.StatusOK)
		w.wants("ann's name", w.last().Client, "ann")
		w.wants("bob", w.send(sim.MessagesPath, with(minimal, "Authorization", "Bearer bob-secret"), body).status, http.StatusOK)
		w.wants("bob's name", w.last().Client, "bob")
		w.wants("the model list for ann", w.get(http.MethodGet, "/v1/models", asAnn).status, http.StatusOK)
		for _, r := range w.provider.Requests() {
			for name, values := range r.Header {
				if strings.Contains(strings.Join(values, " "), "-secret") {
					w.Errorf("the provider sees a token of shunt's in %s", name)
				}
			}
		}
		if strings.Contains(w.log.String(), "-secret") || !strings.Contains(w.log.String(), "client=ann") {
			w.Errorf("the log: %s", w.log)
		}
	}, clientTokens("ann:ann-secret, bob:bob-secret"))
}

// CFG-43, CFG-50: a reload that would leave shunt open where its operator meant it to be closed does not happen.
func TestTokensChangeWithTheConfiguration(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf("[server.auth]\n"), func(w *world) {
		status := func(token string) int {
			return w.send(sim.MessagesPath, with(minimal, "X-Shunt-Token", token), bodyFor(plainModel, false)).status
		}
		w.wants("before", status("ann-secret"), http.StatusOK)
		w.reload(poolOf("[server.auth]\ntokens_env = \"NOT_SET\"\n"))
		w.wants("after a refused reload, ann", status("ann-secret"), http.StatusOK)
		w.wants("after a refused reload, a stranger", status("x"), http.StatusUnauthorized)
		w.reload(poolOf("[server.auth]\ntokens_env = \"OTHERS\"\n"))
		w.wants("after a reload, ann", status("ann-secret"), http.StatusUnauthorized)
		w.wants("after a reload, eve", status("eve-secret"), http.StatusOK)
	}, clientTokens("ann:ann-secret"), func(w *world) { w.env = append(w.env, "OTHERS=eve:eve-secret") })
}

// USE-1, USE-2: both usage endpoints tell what the pool has learnt, and neither who is in it.
func TestUsageIsTold(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf("[server.auth]\n[server.usage]\n[server.oauth_usage]\n"), func(w *world) {
		const before = `{"remaining":null,"resets_at":null}`
		unknown := `{"status":"ok","windows":{"5h":` + before + `,"7d":` + before + `,"fable":` + before + `}}`
		w.wants("usage at first", w.get(http.MethodGet, "/usage", asAnn).body, `{"pool":`+unknown+`,"providers":{"anthropic":`+unknown+"}}\n")
		w.wants("bars at first", w.get(http.MethodGet, "/api/oauth/usage", nil).body, "{}\n")
		w.wants("usage without a token", w.get(http.MethodGet, "/usage", nil).status, http.StatusUnauthorized)
		w.wants("bars from afar", w.get(http.MethodGet, "/api/oauth/usage", http.Header{"X-Forwarded-For": {"8.8.8.8"}}).status, http.StatusUnauthorized)
		seen := w.seen()
		w.send(sim.MessagesPath, with(minimal, "X-Shunt-Token", "ann-secret"), bodyFor(plainModel, false))
		usage, bars := w.get(http.MethodGet, "/usage", asAnn).body, w.get(http.MethodGet, "/api/oauth/usage", nil).body
		if !strings.Contains(usage, `"5h":{"remaining":0.`) && !strings.Contains(usage, `"5h":{"remaining":1,`) {
			w.Errorf("usage: %s", usage)
		}
		if !strings.Contains(bars, `{"five_hour":{"utilization":`) || !strings.Contains(bars, `"seven_day":{"utilization":`) {
			w.Errorf("bars: %s", bars)
		}
		w.wants("requests at the provider", w.seen()-seen, 1)
	}, clientTokens("ann:ann-secret"))
}

// The usage endpoints are there only with their tables, and that is settled at the start (CFG-51).
func TestUsageIsOffByDefault(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
		for range 2 {
			got := []int{w.get(http.MethodGet, "/usage", asAnn).status, w.get(http.MethodGet, "/api/oauth/usage", nil).status}
			if diff := cmp.Diff([]int{http.StatusNotFound, http.StatusNotFound}, got); diff != "" {
				w.Error(diff)
			}
			w.reload(poolOf("[server.auth]\n[server.usage]\n[server.oauth_usage]\n"))
		}
		w.wants("told of the restart", w.logged("next start", "server.oauth_usage"), 1)
	}, clientTokens("ann:ann-secret"))
}
