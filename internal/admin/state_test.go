package admin_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"shunt/internal/admin"
	"shunt/internal/family/claude"
	"shunt/internal/identity"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

const accountsPath = "/admin/api/pool/anthropic/accounts/"

// states returns the accounts that the API shows, by name.
func (s *surface) states() map[string]admin.AccountState {
	s.Helper()
	var pools admin.Pools
	if err := json.Unmarshal(s.call("GET", "/admin/api/pool", readKey, "").Body.Bytes(), &pools); err != nil {
		s.Fatal(err)
	}
	all := map[string]admin.AccountState{}
	for _, a := range pools.Providers[0].Accounts {
		all[a.Name] = a
	}
	return all
}

// page returns the page that a browser gets after a login.
func (s *surface) page() string {
	s.Helper()
	r := httptest.NewRequest("GET", "/admin", nil)
	r.AddCookie(s.attempt("form", adminToken, "127.0.0.1").Result().Cookies()[0])
	w := httptest.NewRecorder()
	if s.admin.ServeHTTP(w, r); w.Code != 200 {
		s.Fatalf("the page: %d", w.Code)
	}
	return w.Body.String()
}

// ID-2b: an identity is shown once, under the name of its representative and with its other names. Each name can be used to
// pause, resume and clear it.
func TestAliases(t *testing.T) {
	s := newSurface(t)
	soft := quota.Soft(quota.DefaultHard)
	one, other := identity.OfAccount("claude", "u-1", ""), identity.OfStoreEntry("claude", "b")
	s.pool.Configure([]pool.Account{
		{Name: "home", Key: one, Priority: 200, Soft: soft},
		{Name: "b", Key: other, Priority: 100, Soft: soft},
		{Name: "work", Key: one, Priority: 100, Soft: soft},
		{Name: "old", Key: one, Priority: 100, Disabled: true, Soft: soft},
	}, pool.Policy{})
	if all := s.states(); len(all) != 2 || strings.Join(all["work"].Aliases, " ") != "home old" || all["b"].Aliases != nil {
		t.Errorf("%+v", all)
	}
	if w := s.call("GET", "/admin/api/pool", readKey, ""); !strings.Contains(w.Body.String(), `"aliases":["home","old"]`) || strings.Count(w.Body.String(), "aliases") != 1 {
		t.Errorf("%s", w.Body)
	}
	if page := s.page(); !strings.Contains(page, "<strong>work</strong> <small>also home, old</small>") {
		t.Errorf("%s", page)
	}
	for _, name := range []string{"home", "work", "old", s.states()["work"].AccountRef} {
		for _, paused := range []string{"true", "false"} {
			w := s.call("PATCH", accountsPath+name, adminToken, `{"paused":`+paused+`}`)
			if w.Code != 200 || !strings.Contains(w.Body.String(), `"name":"work"`) || !strings.Contains(w.Body.String(), `"paused":`+paused) {
				t.Errorf("paused %s by %s: %d %s", paused, name, w.Code, w.Body)
			}
			if got := s.states()["work"].Paused; got != (paused == "true") {
				t.Errorf("by %s: paused is %v", name, got)
			}
		}
		s.pool.Observe(one, pool.Outcome{Sent: time.Now(), Event: pool.ServerError, Cooldown: time.Hour})
		if w := s.call("DELETE", accountsPath+name+"/cooldown", adminToken, ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"available":true`) {
			t.Errorf("cleared by %s: %d %s", name, w.Code, w.Body)
		}
	}
	for _, name := range []string{"nobody", "a", "", "WORK"} {
		if w := s.call("PATCH", accountsPath+name, adminToken, `{"paused":true}`); w.Code != 404 {
			t.Errorf("by %q: %d", name, w.Code)
		}
	}
}

// FO-13: clearing a cooldown clears rejected statuses too; the response, the API and the next selection agree. The page shows the
// button while there is something to clear.
func TestClearCooldown(t *testing.T) {
	s := newSurface(t)
	const button = `aria-label="Clear cooldown of a"`
	if page := s.page(); strings.Contains(page, button) {
		t.Error("a button to clear the cooldown without a cooldown")
	}
	signal := quota.Signal{Status: "rejected"}
	signal.Windows[claude.FiveHour] = quota.WindowSignal{Status: "rejected", Utilization: 0.5, HasUtilization: true, Reset: time.Now().Add(time.Hour)}
	signal.Windows[claude.Fable] = quota.WindowSignal{Status: "rejected"}
	s.pool.Observe(identity.OfStoreEntry("claude", "a"), pool.Outcome{Sent: time.Now(), Event: pool.Rejected, Cooldown: time.Hour, Signal: signal})
	if a := s.states()["a"]; a.Available || a.Cooldown == 0 || a.Status5h == nil {
		t.Fatalf("%+v", a)
	}
	if page := s.page(); !strings.Contains(page, button) {
		t.Error("there is no button to clear the cooldown")
	}
	w := s.call("DELETE", accountsPath+s.ref("a")+"/cooldown", adminToken, "")
	var after admin.AccountState
	if err := json.Unmarshal(w.Body.Bytes(), &after); err != nil {
		t.Fatal(err)
	}
	for where, a := range map[string]admin.AccountState{"the response": after, "the API": s.states()["a"]} {
		if !a.Available || a.NearQuota || a.Cooldown != 0 || a.FableCooldown != 0 || a.CooldownCause != "" ||
			a.Status != nil || a.Status5h != nil || a.StatusFable != nil || a.Utilization5h == nil || *a.Utilization5h != 0.5 {
			t.Errorf("%s: %s", where, w.Body)
		}
	}
	s.pool.Pause(identity.OfStoreEntry("claude", "b"), true)
	for _, scope := range []quota.Scope{"", claude.FableScope} {
		selection := s.pool.Begin(pool.Criteria{Scope: scope})
		if c, ok := selection.Next(t.Context()); !ok || c.Name != "a" || c.Group != pool.Free {
			t.Errorf("scope %q: chosen: %+v, %v", scope, c, ok)
		}
		selection.Release()
	}
	if page := s.page(); strings.Contains(page, button) {
		t.Error("a button to clear the cooldown after it was cleared")
	}
}

// SEL-8b: an account whose credential was rejected needs a login until the credential changes, even after the cooldown.
func TestNeedsLogin(t *testing.T) {
	s := newSurface(t)
	if s.states()["a"].NeedsLogin {
		t.Error("at first")
	}
	s.pool.Observe(identity.OfStoreEntry("claude", "a"), pool.Outcome{Sent: time.Now(), Event: pool.Forbidden, Cooldown: time.Nanosecond})
	if a := s.states()["a"]; !a.NeedsLogin || s.states()["b"].NeedsLogin {
		t.Errorf("%+v", a)
	}
	if page := s.page(); !strings.Contains(page, `<strong>a</strong> <span class="state bad">login needed`) {
		t.Errorf("%s", page)
	}
}

// ADM-1, ADM-3: HEAD is a GET without a body, even for event streams, and needs the same credential.
func TestHead(t *testing.T) {
	s := newSurface(t)
	for path, want := range map[string]int{
		"/admin/login": 200, "/admin": 303, "/admin/api/pool": 200, "/admin/api/accounts": 200, "/admin/live": 200, "/admin/nothing": 404, "/admin/api/logout": 405,
	} {
		if w := s.call("HEAD", path, readKey, ""); w.Code != want {
			t.Errorf("HEAD %s: %d", path, w.Code)
		}
		if w := s.call("HEAD", path, "", ""); strings.Contains(path, "/api/p") && w.Code != 401 {
			t.Errorf("HEAD %s without a credential: %d", path, w.Code)
		}
	}
	if w := s.call("OPTIONS", "/admin/api/pool", adminToken, ""); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("OPTIONS: %d, allow %q", w.Code, w.Header().Get("Allow"))
	}
	if w := s.call("PUT", "/admin/api/accounts/claude", adminToken, ""); w.Code != 405 || w.Header().Get("Allow") != "POST" {
		t.Errorf("PUT: %d, allow %q", w.Code, w.Header().Get("Allow"))
	}
}
