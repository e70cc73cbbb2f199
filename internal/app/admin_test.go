package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/admin"
	"shunt/internal/apptest"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// manage calls the admin API of the gateway, with an administrator's token.
func (w *world) manage(method, path, body string) simtest.Reply {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), method, simtest.GatewayURL+"/admin/api/"+path, strings.NewReader(body))
	w.Must(err)
	request.Header.Set("X-Shunt-Admin-Token", adminToken)
	response, err := w.Client.Do(request)
	w.Must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return simtest.NewReply(response, text, err)
}

// logIn adds an account of the provider to the store by way of the admin API, as a browser does, and returns the response
// that completes it.
func (w *world) logIn(name, account string) simtest.Reply {
	w.Helper()
	begun := w.manage("POST", "accounts/claude", fmt.Sprintf(`{"name":%q,"mode":"oauth"}`, name))
	var login struct {
		AuthorizeURL string `json:"authorize_url"`
	}
	w.Must(json.Unmarshal([]byte(begun.Body), &login))
	transport := &http.Transport{DialContext: w.Upstream.Dial, DisableKeepAlives: true}
	code, err := sim.Browser{Account: account, Client: &http.Client{Transport: transport}}.Authorize(w.Context(), login.AuthorizeURL)
	w.Must(err)
	return w.manage("POST", "accounts/claude/"+name+"/complete", fmt.Sprintf(`{"code":%q}`, code))
}

func withAuthorizePage(w *world) {
	w.Env = append(w.Env, "SHUNT_CLAUDE_AUTHORIZE_URL="+simtest.ProviderURL+sim.AuthorizePath)
}

// ADM-5: an account that is live serves by the time the response says so, and a removed one no longer serves.
func TestLoginIsLiveAtOnce(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, surface+apptest.PoolOf(""), func(w *world) {
		w.Want("status without an account", w.Request("", simtest.PlainModel, true).Status, http.StatusServiceUnavailable)
		for round := range 3 { // at whatever moment, as far as the watch of the store is concerned
			time.Sleep(time.Duration(round) * 370 * time.Millisecond)
			for _, name := range []string{"a", "b"} {
				w.Want("response", w.logIn(name, name).Body, `{"name":"`+name+`","stored":true,"live":true}`+"\n")
				w.Want("accounts", w.State(name).Name, name)
				w.MustServe("", simtest.PlainModel)
			}
			first, second := w.MustServe("", simtest.PlainModel), w.MustServe("", simtest.PlainModel)
			w.Want("served by both", first != second, true)
			w.Want("removed", w.manage("DELETE", "accounts/claude/a", "").Status, http.StatusOK)
			w.Want("served by", w.MustServe("", simtest.PlainModel), "b")
			w.Want("served by", w.MustServe("", simtest.PlainModel), "b")
			w.Want("removed", w.manage("DELETE", "accounts/claude/b", "").Status, http.StatusOK)
			w.Want("status without an account", w.Request("", simtest.PlainModel, true).Status, http.StatusServiceUnavailable)
		}
	}, withAdmin, withAuthorizePage, func(w *world) { w.Remove("a"); w.Remove("b") })
}

// ADM-5: a login in place of one that needs it counts at once.
func TestLoginAgainIsLiveAtOnce(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, surface+apptest.PoolOf(""), func(w *world) {
		w.Provider.Inject("a", sim.CredentialForbidden().Times(1))
		w.Request("", simtest.PlainModel, true)
		w.Want("needs a login", strings.Contains(w.manage("GET", "pool", "").Body, `"needs_login":true`), true)
		w.Want("response", w.logIn("a", "a").Body, `{"name":"a","stored":true,"live":true}`+"\n")
		w.Want("needs a login", strings.Contains(w.manage("GET", "pool", "").Body, `"needs_login":false`), true)
		w.Want("cooldown", w.State("a").Cooldown, time.Duration(0))
		w.Want("served by", w.MustServe("", simtest.PlainModel), "a")
	}, withAdmin, withAuthorizePage)
}

// ADM-5: an account that no running pool uses is stored and not live: one that is not listed, is disabled, comes from
// elsewhere, or is an alias of another.
func TestLoginThatIsNotLive(t *testing.T) {
	toml := surface + apptest.PoolOf(apptest.Listed("a")+apptest.Listed("off", "disabled = true")+apptest.Listed("env", `token_env = "SETUP"`)+apptest.Listed("alias", "priority = 200"))
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, toml, func(w *world) {
		for name, live := range map[string]bool{"other": false, "off": false, "env": false, "a": true} {
			w.Want(name, w.logIn(name, "a").Body, fmt.Sprintf(`{"name":%q,"stored":true,"live":%v}`, name, live)+"\n")
		}
		w.Want("an alias", w.logIn("alias", "a").Body, `{"name":"alias","stored":true,"live":false}`+"\n")
	}, withAdmin, withAuthorizePage, func(w *world) { w.Env = append(w.Env, "SETUP="+w.Provider.SetupToken("b")) })
}

// FO-13: when the response says that an account's cooldown is over, the next request goes to it. Rejected statuses have gone
// with it; what is known to be used has not.
func TestClearedCooldownServesAtOnce(t *testing.T) {
	for name, fault := range map[string]sim.Fault{
		"a throttle": sim.Throttled("300"), "a rejection": sim.Rejected(messages.FiveHour).RetryAfter("3600"),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, surface+apptest.PoolOf(""), func(w *world) {
				home := w.Home("s")
				w.Provider.Inject(home, fault.Times(1))
				w.Want("served at home", w.MustServe("s", simtest.PlainModel) == home, false)
				w.Want("available", w.State(home).Available, false)
				cleared := w.manage("DELETE", "pool/anthropic/accounts/"+home+"/cooldown", "")
				var after admin.AccountState
				w.Must(json.Unmarshal([]byte(cleared.Body), &after))
				if cleared.Status != 200 || !after.Available || after.Cooldown != 0 || after.Status5h != nil && *after.Status5h == "rejected" {
					t.Errorf("%d %s", cleared.Status, cleared.Body)
				}
				// Near its quota it is not the first choice, but one.
				w.Want("served at home", w.MustServe("s", simtest.PlainModel) == home, !after.NearQuota)
			}, withAdmin)
		})
	}
}

// ADM-1: the credentials of the admin surface open no inference route, and clients' tokens open nothing of the surface.
func TestCredentialsOpenTheirOwnSideOnly(t *testing.T) {
	const client = "a-client-token-that-is-long-enough"
	toml := surface + "[[server.admin.write_keys]]\nid = \"script\"\nkey = \"${WRITE_KEY}\"\n[server.auth]\n[server.usage]\n" + apptest.PoolOf("")
	const writeKey = "a-key-that-may-write-0123456789-abcdef"
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, toml, func(w *world) {
		headers := func(token string) map[string]http.Header {
			return map[string]http.Header{
				"x-shunt-admin-token": simtest.With(simtest.Minimal, "X-Shunt-Admin-Token", token), "x-api-key": simtest.With(simtest.Minimal, "X-Api-Key", token),
				"x-shunt-token": simtest.With(simtest.Minimal, "X-Shunt-Token", token), "bearer": simtest.With(simtest.Minimal, "Authorization", "Bearer "+token),
			}
		}
		for _, token := range []string{adminToken, readKey, writeKey} {
			for place, h := range headers(token) {
				w.Want("inference, "+place, w.Send(sim.MessagesPath, h, simtest.Body(simtest.PlainModel, false)).Status, http.StatusUnauthorized)
				for _, path := range []string{"/v1/models", "/usage"} {
					w.Want(path+", "+place, w.get(http.MethodGet, path, h).Status, http.StatusUnauthorized)
				}
			}
		}
		w.Want("requests at the provider", w.Seen(), 0)
		for place, h := range headers(client) {
			if place != "x-shunt-admin-token" {
				w.Want("inference, "+place, w.Send(sim.MessagesPath, h, simtest.Body(simtest.PlainModel, false)).Status, http.StatusOK)
			}
			for _, path := range []string{"/admin/api/pool", "/admin/api/accounts", "/admin/live", "/metrics"} {
				for _, method := range []string{http.MethodGet, http.MethodHead} {
					if status := w.get(method, path, h).Status; status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
						t.Errorf("%s %s, %s: %d", method, path, place, status)
					}
				}
			}
		}
		for _, c := range []struct {
			method, path string
			reader       int
		}{
			{http.MethodGet, "/admin/api/pool", 200},
			{http.MethodHead, "/admin/api/pool", 200},
			{http.MethodHead, "/admin/live", 200},
			{http.MethodGet, "/metrics", 200},
			{http.MethodHead, "/metrics", 200},
			{http.MethodPatch, "/admin/api/pool/anthropic/accounts/a", 403},
			{http.MethodDelete, "/admin/api/pool/anthropic/accounts/a/cooldown", 403},
			{http.MethodPost, "/admin/api/accounts/claude", 403},
			{http.MethodPost, "/admin/api/accounts/claude/a/complete", 403},
			{http.MethodDelete, "/admin/api/accounts/claude/a", 403},
			{http.MethodPost, "/admin/api/logout", 403},
		} {
			w.Want(c.method+" "+c.path+" with a read key", w.get(c.method, c.path, http.Header{"X-Api-Key": {readKey}}).Status, c.reader)
		}
		synctest.Wait()
		if log := w.Log.String(); strings.Contains(log, client) || strings.Contains(log, readKey) || strings.Contains(log, adminToken) {
			t.Error("a credential is in the log")
		}
	}, withAdmin, clientTokens("ann:"+client), func(w *world) { w.Env = append(w.Env, "WRITE_KEY="+writeKey) })
}
