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
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

// manage calls the admin API of the gateway, with an administrator's token.
func (w *world) manage(method, path, body string) plain {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), method, gatewayURL+"/admin/api/"+path, strings.NewReader(body))
	w.must(err)
	request.Header.Set("X-Shunt-Admin-Token", adminToken)
	response, err := w.client.Do(request)
	w.must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return plain{response.StatusCode, response.Header, string(text), err}
}

// logIn adds an account of the provider to the store by way of the admin API, as a browser does, and returns the response
// that completes it.
func (w *world) logIn(name, account string) plain {
	w.Helper()
	begun := w.manage("POST", "accounts/claude", fmt.Sprintf(`{"name":%q,"mode":"oauth"}`, name))
	var login struct {
		AuthorizeURL string `json:"authorize_url"`
	}
	w.must(json.Unmarshal([]byte(begun.body), &login))
	transport := &http.Transport{DialContext: w.upstream.Dial, DisableKeepAlives: true}
	code, err := sim.Browser{Account: account, Client: &http.Client{Transport: transport}}.Authorize(w.Context(), login.AuthorizeURL)
	w.must(err)
	return w.manage("POST", "accounts/claude/"+name+"/complete", fmt.Sprintf(`{"code":%q}`, code))
}

func withAuthorizePage(w *world) {
	w.env = append(w.env, "SHUNT_CLAUDE_AUTHORIZE_URL="+providerURL+sim.AuthorizePath)
}

// ADM-5: an account that is live serves by the time the response says so, and one that is removed serves no more.
func TestLoginIsLiveAtOnce(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(2)}, surface+poolOf(""), func(w *world) {
		w.wants("status without an account", w.ask("", plainModel, true).status, http.StatusServiceUnavailable)
		for round := range 3 { // at whatever moment, as far as the watch of the store is concerned
			time.Sleep(time.Duration(round) * 370 * time.Millisecond)
			for _, name := range []string{"a", "b"} {
				w.wants("response", w.logIn(name, name).body, `{"name":"`+name+`","stored":true,"live":true}`+"\n")
				w.wants("accounts", w.state(name).Name, name)
				w.mustServe("", plainModel)
			}
			first, second := w.mustServe("", plainModel), w.mustServe("", plainModel)
			w.wants("served by both", first != second, true)
			w.wants("removed", w.manage("DELETE", "accounts/claude/a", "").status, http.StatusOK)
			w.wants("served by", w.mustServe("", plainModel), "b")
			w.wants("served by", w.mustServe("", plainModel), "b")
			w.wants("removed", w.manage("DELETE", "accounts/claude/b", "").status, http.StatusOK)
			w.wants("status without an account", w.ask("", plainModel, true).status, http.StatusServiceUnavailable)
		}
	}, withAdmin, withAuthorizePage, func(w *world) { w.remove("a"); w.remove("b") })
}

// ADM-5: a login in place of one that needs it counts at once.
func TestLoginAgainIsLiveAtOnce(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, surface+poolOf(""), func(w *world) {
		w.provider.Inject("a", sim.CredentialForbidden().Times(1))
		w.ask("", plainModel, true)
		w.wants("needs a login", strings.Contains(w.manage("GET", "pool", "").body, `"needs_login":true`), true)
		w.wants("response", w.logIn("a", "a").body, `{"name":"a","stored":true,"live":true}`+"\n")
		w.wants("needs a login", strings.Contains(w.manage("GET", "pool", "").body, `"needs_login":false`), true)
		w.wants("cooldown", w.state("a").Cooldown, time.Duration(0))
		w.wants("served by", w.mustServe("", plainModel), "a")
	}, withAdmin, withAuthorizePage)
}

// ADM-5: an account that no running pool uses is stored and not live: one that is not listed, is disabled, comes from
// elsewhere, or is an alias of another.
func TestLoginThatIsNotLive(t *testing.T) {
	toml := surface + poolOf(listed("a")+listed("off", "disabled = true")+listed("env", `token_env = "SETUP"`)+listed("alias", "priority = 200"))
	inWorld(t, sim.Config{Accounts: accountsOf(2)}, toml, func(w *world) {
		for name, live := range map[string]bool{"other": false, "off": false, "env": false, "a": true} {
			w.wants(name, w.logIn(name, "a").body, fmt.Sprintf(`{"name":%q,"stored":true,"live":%v}`, name, live)+"\n")
		}
		w.wants("an alias", w.logIn("alias", "a").body, `{"name":"alias","stored":true,"live":false}`+"\n")
	}, withAdmin, withAuthorizePage, func(w *world) { w.env = append(w.env, "SETUP="+w.provider.SetupToken("b")) })
}

// FO-13: when the response says that an account's cooldown is over, the next request goes to it. Rejected statuses have gone
// with it; what is known to be used has not.
func TestClearedCooldownServesAtOnce(t *testing.T) {
	for name, fault := range map[string]sim.Fault{
		"a throttle": sim.Throttled("300"), "a rejection": sim.Rejected(messages.FiveHour).RetryAfter("3600"),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(2)}, surface+poolOf(""), func(w *world) {
				home := w.home("s")
				w.provider.Inject(home, fault.Times(1))
				w.wants("served at home", w.mustServe("s", plainModel) == home, false)
				w.wants("available", w.state(home).Available, false)
				cleared := w.manage("DELETE", "pool/anthropic/accounts/"+home+"/cooldown", "")
				var after admin.AccountState
				w.must(json.Unmarshal([]byte(cleared.body), &after))
				if cleared.status != 200 || !after.Available || after.Cooldown != 0 || after.Status5h != nil && *after.Status5h == "rejected" {
					t.Errorf("%d %s", cleared.status, cleared.body)
				}
				// Near its quota it is not the first choice, but one.
				w.wants("served at home", w.mustServe("s", plainModel) == home, !after.NearQuota)
			}, withAdmin)
		})
	}
}

// ADM-1: the credentials of the admin surface open no inference route, and clients' tokens open nothing of the surface.
func TestCredentialsOpenTheirOwnSideOnly(t *testing.T) {
	const client = "a-client-token-that-is-long-enough"
	toml := surface + "[[server.admin.write_keys]]\nid = \"script\"\nkey = \"${WRITE_KEY}\"\n[server.auth]\n[server.usage]\n" + poolOf("")
	const writeKey = "a-key-that-may-write-0123456789-abcdef"
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, toml, func(w *world) {
		headers := func(token string) map[string]http.Header {
			return map[string]http.Header{
				"x-shunt-admin-token": with(minimal, "X-Shunt-Admin-Token", token), "x-api-key": with(minimal, "X-Api-Key", token),
				"x-shunt-token": with(minimal, "X-Shunt-Token", token), "bearer": with(minimal, "Authorization", "Bearer "+token),
			}
		}
		for _, token := range []string{adminToken, readKey, writeKey} {
			for place, h := range headers(token) {
				w.wants("inference, "+place, w.send(sim.MessagesPath, h, bodyFor(plainModel, false)).status, http.StatusUnauthorized)
				for _, path := range []string{"/v1/models", "/usage"} {
					w.wants(path+", "+place, w.get(http.MethodGet, path, h).status, http.StatusUnauthorized)
				}
			}
		}
		w.wants("requests at the provider", w.seen(), 0)
		for place, h := range headers(client) {
			if place != "x-shunt-admin-token" {
				w.wants("inference, "+place, w.send(sim.MessagesPath, h, bodyFor(plainModel, false)).status, http.StatusOK)
			}
			for _, path := range []string{"/admin/api/pool", "/admin/api/accounts", "/admin/live", "/metrics"} {
				for _, method := range []string{http.MethodGet, http.MethodHead} {
					if status := w.get(method, path, h).status; status != http.StatusUnauthorized && status != http.StatusTooManyRequests {
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
			w.wants(c.method+" "+c.path+" with a read key", w.get(c.method, c.path, http.Header{"X-Api-Key": {readKey}}).status, c.reader)
		}
		synctest.Wait()
		if log := w.log.String(); strings.Contains(log, client) || strings.Contains(log, readKey) || strings.Contains(log, adminToken) {
			t.Error("a credential is in the log")
		}
	}, withAdmin, clientTokens("ann:"+client), func(w *world) { w.env = append(w.env, "WRITE_KEY="+writeKey) })
}
