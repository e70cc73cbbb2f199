package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/apptest"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

func clientTokens(list string) func(*world) {
	return func(w *world) { w.Env = append(w.Env, "SHUNT_CLIENT_TOKENS="+list) }
}

var asAnn = http.Header{"X-Shunt-Token": {"ann-secret"}}

// AUTH-2, AUTH-3, OBS-1: a colleague's token opens the pool, and the log has only its holder's name; no other request reaches the provider.
func TestColleaguesComeInWithTokens(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf("[server.auth]\n"), func(w *world) {
		body := simtest.Body(simtest.PlainModel, false)
		w.Want("a stranger", w.Send(sim.MessagesPath, simtest.Minimal, body).Status, http.StatusUnauthorized)
		w.Want("the model list for a stranger", w.get(http.MethodGet, "/v1/models", nil).Status, http.StatusUnauthorized)
		w.Want("a client's own credential", w.Send(sim.MessagesPath, simtest.With(simtest.Minimal, "Authorization", "Bearer theirs"), body).Status, http.StatusUnauthorized)
		w.Want("requests at the provider", w.Seen(), 0)
		w.Want("ann", w.Send(sim.MessagesPath, simtest.With(simtest.Minimal, "X-Shunt-Token", "ann-secret"), body).Status, http.StatusOK)
		w.Want("ann's name", w.Last().Client, "ann")
		w.Want("bob", w.Send(sim.MessagesPath, simtest.With(simtest.Minimal, "Authorization", "Bearer bob-secret"), body).Status, http.StatusOK)
		w.Want("bob's name", w.Last().Client, "bob")
		w.Want("the model list for ann", w.get(http.MethodGet, "/v1/models", asAnn).Status, http.StatusOK)
		for _, r := range w.Provider.Requests() {
			for name, values := range r.Header {
				if strings.Contains(strings.Join(values, " "), "-secret") {
					w.Errorf("the provider sees a token of shunt's in %s", name)
				}
			}
		}
		if strings.Contains(w.Log.String(), "-secret") || !strings.Contains(w.Log.String(), "client=ann") {
			w.Errorf("the log: %s", w.Log)
		}
	}, clientTokens("ann:ann-secret, bob:bob-secret"))
}

// CFG-43, CFG-50: a reload that would leave shunt open where its operator meant it to be closed does not happen.
func TestTokensChangeWithTheConfiguration(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf("[server.auth]\n"), func(w *world) {
		status := func(token string) int {
			return w.Send(sim.MessagesPath, simtest.With(simtest.Minimal, "X-Shunt-Token", token), simtest.Body(simtest.PlainModel, false)).Status
		}
		w.Want("before", status("ann-secret"), http.StatusOK)
		w.Reload(apptest.PoolOf("[server.auth]\ntokens_env = \"NOT_SET\"\n"))
		w.Want("after a refused reload, ann", status("ann-secret"), http.StatusOK)
		w.Want("after a refused reload, a stranger", status("x"), http.StatusUnauthorized)
		w.Reload(apptest.PoolOf("[server.auth]\ntokens_env = \"OTHERS\"\n"))
		w.Want("after a reload, ann", status("ann-secret"), http.StatusUnauthorized)
		w.Want("after a reload, eve", status("eve-secret"), http.StatusOK)
	}, clientTokens("ann:ann-secret"), func(w *world) { w.Env = append(w.Env, "OTHERS=eve:eve-secret") })
}

// USE-1, USE-2: both usage endpoints report what the pool knows, and neither names its accounts.
func TestUsageIsTold(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf("[server.auth]\n[server.usage]\n[server.oauth_usage]\n"), func(w *world) {
		const before = `{"remaining":null,"resets_at":null}`
		unknown := `{"status":"ok","windows":{"5h":` + before + `,"7d":` + before + `,"fable":` + before + `}}`
		w.Want("usage at first", w.get(http.MethodGet, "/usage", asAnn).Body, `{"pool":`+unknown+`,"providers":{"anthropic":`+unknown+"}}\n")
		w.Want("bars at first", w.get(http.MethodGet, "/api/oauth/usage", nil).Body, "{}\n")
		w.Want("usage without a token", w.get(http.MethodGet, "/usage", nil).Status, http.StatusUnauthorized)
		w.Want("bars from afar", w.get(http.MethodGet, "/api/oauth/usage", http.Header{"X-Forwarded-For": {"8.8.8.8"}}).Status, http.StatusUnauthorized)
		seen := w.Seen()
		w.Send(sim.MessagesPath, simtest.With(simtest.Minimal, "X-Shunt-Token", "ann-secret"), simtest.Body(simtest.PlainModel, false))
		usage, bars := w.get(http.MethodGet, "/usage", asAnn).Body, w.get(http.MethodGet, "/api/oauth/usage", nil).Body
		if !strings.Contains(usage, `"5h":{"remaining":0.`) && !strings.Contains(usage, `"5h":{"remaining":1,`) {
			w.Errorf("usage: %s", usage)
		}
		if !strings.Contains(bars, `{"five_hour":{"utilization":`) || !strings.Contains(bars, `"seven_day":{"utilization":`) {
			w.Errorf("bars: %s", bars)
		}
		w.Want("requests at the provider", w.Seen()-seen, 1)
	}, clientTokens("ann:ann-secret"))
}

// The usage endpoints are there only with their tables, and that is settled at the start (CFG-51).
func TestUsageIsOffByDefault(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		for range 2 {
			got := []int{w.get(http.MethodGet, "/usage", asAnn).Status, w.get(http.MethodGet, "/api/oauth/usage", nil).Status}
			if diff := cmp.Diff([]int{http.StatusNotFound, http.StatusNotFound}, got); diff != "" {
				w.Error(diff)
			}
			w.Reload(apptest.PoolOf("[server.auth]\n[server.usage]\n[server.oauth_usage]\n"))
		}
		w.Want("warned of the restart", w.Logged("next start", "server.oauth_usage"), 1)
	}, clientTokens("ann:ann-secret"))
}
