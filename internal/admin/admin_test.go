package admin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"shunt/internal/account"
	"shunt/internal/admin"
	"shunt/internal/clock"
	"shunt/internal/config"
	"shunt/internal/family/claude"
	"shunt/internal/identity"
	"shunt/internal/oauth"
	"shunt/internal/observe"
	"shunt/internal/observe/observetest"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	adminToken = "admin-token-that-is-long-enough-1234"
	readKey    = "read-key-that-is-long-enough-for-all"
	writeKey   = "write-key-that-is-long-enough-for-it"
	accessSeed = "sk-ant-oat01-planted-secret"
)

// surface is an Admin with a pool of two accounts and a token endpoint that returns planted secrets.
type surface struct {
	*testing.T
	admin *admin.Admin
	pool  *pool.Pool
	store string
	log   observetest.Log
}

func newSurface(t *testing.T) *surface {
	s := &surface{T: t, store: filepath.Join(t.TempDir(), "store")}
	log := slog.New(slog.NewTextHandler(&s.log, nil))
	s.pool = pool.NewRegistry(clock.Clock{}, map[string]*quota.Table{"claude": claude.Family.Windows}).Pool("anthropic")
	soft := quota.Soft(quota.DefaultHard)
	s.pool.Configure([]pool.Account{
		{Name: "a", Key: identity.OfStoreEntry("claude", "a"), Priority: 100, Soft: soft},
		{Name: "b", Key: identity.OfStoreEntry("claude", "b"), Priority: 100, Soft: soft},
	}, pool.Policy{Planned: true})
	vendor := claude.Family.Vendor
	client := oauth.NewClient(vendor, roundTrip(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		status, reply := 200, `{"access_token":"`+accessSeed+`","refresh_token":"`+accessSeed+`-r","expires_in":3600,"account":{"uuid":"u-1"}}`
		if !strings.Contains(string(body), `"the-code"`) {
			status, reply = 400, `{"error":"invalid_grant"}`
		}
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(reply)), Request: r}, nil
	}))
	token := func(name, value string) []config.Token { return []config.Token{{Name: name, Value: secret.New(value)}} }
	s.admin = admin.New(admin.Options{
		Version: "test", Log: log, Health: observe.NewHealth(log, clock.Clock{}), Loopback: true,
		Families: []admin.Family{{Name: "claude", Title: "Claude", Store: account.OpenStore(s.store, claude.Family.Credentials), OAuth: client, Pasted: true, SetupTokens: true, Windows: claude.Family.Windows}},
		Settings: &config.Admin{
			Present: true, Header: "x-shunt-admin-token", SessionTTL: time.Hour, PendingTTL: 10 * time.Minute,
			Tokens: token("ops", adminToken), ReadKeys: token("grafana", readKey), WriteKeys: token("script", writeKey),
		},
		Refresh: func(context.Context) error { return nil },
		Providers: func() []admin.Provider {
			return []admin.Provider{
				{Name: "anthropic", Auth: "claude_oauth", Planned: true, Pool: s.pool, Family: "claude", ScopeOf: scopeOf, Uses: func(name string) bool { return name == "new" }},
				{Name: "paid", Auth: config.APIKey},
			}
		},
	})
	return s
}

func scopeOf(model string) quota.Scope {
	if strings.Contains(model, "fable") {
		return "fable"
	}
	return ""
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// call sends a request with a credential in the admin header.
func (s *surface) call(method, path, credential, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if credential != "" {
		r.Header.Set("X-Shunt-Admin-Token", credential)
	}
	w := httptest.NewRecorder()
	s.admin.ServeHTTP(w, r)
	if strings.Contains(w.Body.String(), accessSeed) {
		s.Errorf("%s %s returns a token: %s", method, path, w.Body)
	}
	return w
}

func (s *surface) ref(name string) string {
	var pools admin.Pools
	if err := json.Unmarshal(s.call("GET", "/admin/api/pool", readKey, "").Body.Bytes(), &pools); err != nil {
		s.Fatal(err)
	}
	for _, a := range pools.Providers[0].Accounts {
		if a.Name == name {
			return a.AccountRef
		}
	}
	s.Fatalf("no account %s in %+v", name, pools)
	return ""
}

// ADM-1: every route without a credential, with a client token, a read key and a write credential.
func TestEveryRouteByTier(t *testing.T) {
	s := newSurface(t)
	ref := s.ref("a")
	for _, c := range []struct {
		method, path, body        string
		anonymous, reader, writer int
	}{
		{"GET", "/admin", "", 303, 303, 303},
		{"GET", "/admin/login", "", 200, 200, 200},
		{"GET", "/admin/assets/admin.css", "", 200, 200, 200},
		{"GET", "/admin/assets/admin.js", "", 200, 200, 200},
		{"GET", "/admin/assets/admin.tmpl", "", 404, 404, 404},
		{"GET", "/admin/api/pool", "", 401, 200, 200},
		{"GET", "/admin/api/pool/anthropic/explain?model=m", "", 401, 200, 200},
		{"GET", "/admin/api/pool/paid/explain", "", 401, 404, 404},
		{"GET", "/admin/api/accounts", "", 401, 200, 200},
		{"PATCH", "/admin/api/pool/anthropic/accounts/" + ref, `{"paused":false}`, 401, 403, 200},
		{"PATCH", "/admin/api/pool/anthropic/accounts/unknown", `{"paused":false}`, 401, 403, 404},
		{"PATCH", "/admin/api/pool/anthropic/accounts/" + ref, `{}`, 401, 403, 400},
		{"PATCH", "/admin/api/pool/anthropic/accounts/" + ref, `{"other":1}`, 401, 403, 400},
		{"DELETE", "/admin/api/pool/anthropic/accounts/" + ref + "/cooldown", "", 401, 403, 200},
		{"POST", "/admin/api/accounts/claude", `{"name":"new","mode":"oauth"}`, 401, 403, 200},
		{"POST", "/admin/api/accounts/claude", `{"name":"Bad Name","mode":"oauth"}`, 401, 403, 400},
		{"POST", "/admin/api/accounts/claude", `{"name":"new","mode":"import"}`, 401, 403, 400},
		{"POST", "/admin/api/accounts/claude/never-begun/complete", `{"code":"a#b"}`, 401, 403, 404},
		{"DELETE", "/admin/api/accounts/claude/nobody", "", 401, 403, 404},
		{"POST", "/admin/api/logout", "", 401, 403, 204},
		{"POST", "/admin/api/pool", "", 405, 405, 405},
		{"GET", "/admin/nothing", "", 404, 404, 404},
		{"GET", "/admin/../v1/messages", "", 404, 404, 404},
		{"GET", "/admin//api/pool", "", 404, 404, 404},
	} {
		for credential, want := range map[string]int{"": c.anonymous, "a-client-token": c.anonymous, readKey: c.reader, writeKey: c.writer, adminToken: c.writer} {
			w := s.call(c.method, c.path, credential, c.body)
			if w.Code != want {
				t.Errorf("%s %s with %q: %d, want %d: %s", c.method, c.path, credential, w.Code, want, w.Body)
			}
			for _, header := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Cache-Control"} {
				if w.Header().Get(header) == "" {
					t.Errorf("%s %s has no %s", c.method, c.path, header)
				}
			}
		}
	}
}

// PAU-1, ADM-4, FO-13: pausing an account and clearing a cooldown take effect immediately, in the response and for the next selection.
func TestPauseAndCooldown(t *testing.T) {
	s := newSurface(t)
	w := s.call("PATCH", "/admin/api/pool/anthropic/accounts/"+s.ref("a"), adminToken, `{"paused":true}`)
	if !strings.Contains(w.Body.String(), `"paused":true`) {
		t.Errorf("%s", w.Body)
	}
	selection := s.pool.Begin(pool.Criteria{})
	if c, _ := selection.Next(t.Context()); c.Name != "b" {
		t.Errorf("chosen: %s", c.Name)
	}
	if c, ok := selection.Next(t.Context()); ok {
		t.Errorf("also chosen: %s", c.Name)
	}
	selection.Release()
	s.pool.Observe(identity.OfStoreEntry("claude", "b"), pool.Outcome{Sent: time.Now(), Event: pool.ServerError, Cooldown: time.Hour})
	w = s.call("DELETE", "/admin/api/pool/anthropic/accounts/"+s.ref("b")+"/cooldown", adminToken, "")
	if !strings.Contains(w.Body.String(), `"cooldown_secs_remaining":0`) || !strings.Contains(w.Body.String(), `"available":true`) {
		t.Errorf("%s", w.Body)
	}
}

// SEL-32: the explanation lists every account in order, the paused one with its reason.
func TestExplain(t *testing.T) {
	s := newSurface(t)
	s.call("PATCH", "/admin/api/pool/anthropic/accounts/"+s.ref("a"), adminToken, `{"paused":true}`)
	var e admin.Explanation
	if err := json.Unmarshal(s.call("GET", "/admin/api/pool/anthropic/explain?model=claude-x&session=s", readKey, "").Body.Bytes(), &e); err != nil {
		t.Fatal(err)
	}
	if len(e.Candidates) != 2 || e.Candidates[0].Name != "b" || e.Candidates[1].Name != "a" || e.Candidates[1].Reason != "paused" || len(e.Candidates[0].Windows) != 3 {
		t.Errorf("%+v", e)
	}
	s.admin.Note(&observe.Record{RequestID: "req_1", Model: "claude-fable-9", Provider: "anthropic", SessionHash: 7})
	if err := json.Unmarshal(s.call("GET", "/admin/api/pool/anthropic/explain?request=req_1", readKey, "").Body.Bytes(), &e); err != nil || e.Model != "claude-fable-9" {
		t.Errorf("%+v %v", e, err)
	}
	if w := s.call("GET", "/admin/api/pool/anthropic/explain?request=req_2", readKey, ""); w.Code != 404 {
		t.Errorf("%d", w.Code)
	}
}

// ADM-5: an account is added with a code that works once, and no response contains a token.
func TestProvisioning(t *testing.T) {
	s := newSurface(t)
	begin := func(mode string) (state string) {
		var begun struct {
			URL string `json:"authorize_url"`
		}
		w := s.call("POST", "/admin/api/accounts/claude", adminToken, `{"name":"new","mode":"`+mode+`"}`)
		if err := json.Unmarshal(w.Body.Bytes(), &begun); err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(begun.URL)
		if err != nil || u.Query().Get("code_challenge_method") != "S256" {
			t.Fatalf("%s %v", begun.URL, err)
		}
		return u.Query().Get("state")
	}
	complete := func(code string) *httptest.ResponseRecorder {
		return s.call("POST", "/admin/api/accounts/claude/new/complete", adminToken, fmt.Sprintf(`{"code":%q}`, code))
	}
	state := begin("oauth")
	if w := complete("the-code"); w.Code != 400 {
		t.Errorf("half a code: %d", w.Code)
	}
	if w := complete("the-code#wrong"); w.Code != 400 {
		t.Errorf("wrong state: %d", w.Code)
	}
	if w := complete("the-code#" + state); w.Code != 200 || !strings.Contains(w.Body.String(), `{"name":"new","stored":true,"live":true}`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := complete("the-code#" + state); w.Code != 404 {
		t.Errorf("replay: %d", w.Code)
	}
	if text, err := os.ReadFile(filepath.Join(s.store, "new.json")); err != nil || !strings.Contains(string(text), accessSeed) {
		t.Errorf("stored: %v", err)
	}
	if w := s.call("GET", "/admin/api/accounts", readKey, ""); !strings.Contains(w.Body.String(), `"kind":"imported"`) || !strings.Contains(w.Body.String(), `"uuid":"u-1"`) {
		t.Errorf("%s", w.Body)
	}

	state = begin("setup_token")
	for range 5 {
		complete("the-code#wrong")
	}
	if w := complete("the-code#" + state); w.Code != 404 {
		t.Errorf("after five tries: %d", w.Code)
	}
	state = begin("setup_token")
	for range 4 {
		if w := complete("a-bad-code#" + state); w.Code != 502 || strings.Contains(w.Body.String(), "invalid_grant") {
			t.Errorf("a code that the provider rejects: %d %s", w.Code, w.Body)
		}
	}
	if w := complete("the-code#" + state); w.Code != 200 {
		t.Errorf("the fifth try, with a good code: %d %s", w.Code, w.Body)
	}
	state = begin("setup_token")
	for range 5 {
		complete("a-bad-code#" + state)
	}
	if w := complete("the-code#" + state); w.Code != 404 {
		t.Errorf("after five codes that the provider rejected: %d", w.Code)
	}
	if w := s.call("DELETE", "/admin/api/accounts/claude/new", adminToken, ""); w.Code != 200 {
		t.Errorf("remove: %d", w.Code)
	}
	if _, err := os.Stat(filepath.Join(s.store, "new.json")); !os.IsNotExist(err) {
		t.Errorf("removed: %v", err)
	}
	if strings.Contains(s.log.String(), accessSeed) {
		t.Error("the log contains a token")
	}
}

// ADM-5: a login that is not completed in time expires.
func TestPendingLoginExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSurface(t)
		w := s.call("POST", "/admin/api/accounts/claude", adminToken, `{"name":"new","mode":"oauth"}`)
		state := regexp.MustCompile(`state=([^"&\\]+)`).FindStringSubmatch(w.Body.String())[1]
		time.Sleep(601 * time.Second)
		if w := s.call("POST", "/admin/api/accounts/claude/new/complete", adminToken, `{"code":"the-code#`+state+`"}`); w.Code != 404 {
			t.Errorf("%d", w.Code)
		}
	})
}

// browser returns a client with cookies and the address of the surface.
func browser(t *testing.T, s *surface) (*http.Client, string) {
	server := httptest.NewServer(s.admin)
	jar, _ := cookiejar.New(nil)
	client := server.Client()
	client.Jar = jar
	t.Cleanup(server.Close)
	return client, server.URL
}

func get(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return string(body)
}

// ADM-2: a browser logs in, changes something with the token of its page but not without it, and logs out.
func TestBrowserSession(t *testing.T) {
	s := newSurface(t)
	client, base := browser(t, s)
	if page := get(t, client, base+"/admin"); !strings.Contains(page, "Admin token") {
		t.Errorf("not redirected to the login form: %s", page)
	}
	for token, want := range map[string]int{"wrong": 401, readKey: 401, adminToken: 200} {
		response, err := client.PostForm(base+"/admin/login", url.Values{"token": {token}})
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%q: %d", token, response.StatusCode)
		}
	}
	page := get(t, client, base+"/admin")
	csrf := regexp.MustCompile(`name="csrf" content="([^"]+)"`).FindStringSubmatch(page)
	if csrf == nil || !strings.Contains(page, ">a</strong>") || !strings.Contains(page, "not seen yet") {
		t.Fatalf("%s", page)
	}
	if strings.Contains(page, "<script>") || strings.Contains(page, "style=") || strings.Contains(page, "onclick") {
		t.Error("the page has inline code, which its security policy forbids")
	}
	pause := func(change func(*http.Request)) int {
		r, _ := http.NewRequest("PATCH", base+"/admin/api/pool/anthropic/accounts/"+s.ref("a"), strings.NewReader(`{"paused":true}`))
		change(r)
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"without the token": {func(*http.Request) {}, 403},
		"a wrong token":     {func(r *http.Request) { r.Header.Set("X-Csrf-Token", "x") }, 403},
		"another origin": {func(r *http.Request) {
			r.Header.Set("X-Csrf-Token", csrf[1])
			r.Header.Set("Origin", "https://evil.example")
		}, 403},
		"a neighbour site": {func(r *http.Request) {
			r.Header.Set("X-Csrf-Token", csrf[1])
			r.Header.Set("Sec-Fetch-Site", "same-site")
		}, 403},
		"the page": {func(r *http.Request) { r.Header.Set("X-Csrf-Token", csrf[1]); r.Header.Set("Origin", base) }, 200},
	} {
		if got := pause(c.change); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	r, _ := http.NewRequest("POST", base+"/admin/api/logout", nil)
	r.Header.Set("X-Csrf-Token", csrf[1])
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if page := get(t, client, base+"/admin"); !strings.Contains(page, "Admin token") {
		t.Error("still logged in")
	}
}

// ADM-2: the attributes of the cookie, and the expiry of a session.
func TestSessionExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSurface(t)
		login := func(token string) *httptest.ResponseRecorder {
			r := httptest.NewRequest("POST", "/admin/login", strings.NewReader("token="+token))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			s.admin.ServeHTTP(w, r)
			return w
		}
		w := login(adminToken)
		cookie := w.Result().Cookies()[0]
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/admin" || cookie.Secure || cookie.MaxAge != 3600 || len(cookie.Value) < 43 {
			t.Errorf("%+v", cookie)
		}
		page := func() int {
			r := httptest.NewRequest("GET", "/admin", nil)
			r.AddCookie(cookie)
			w := httptest.NewRecorder()
			s.admin.ServeHTTP(w, r)
			return w.Code
		}
		if page() != 200 {
			t.Error("not logged in")
		}
		time.Sleep(time.Hour)
		if page() != 303 {
			t.Error("the session did not expire")
		}
	})
}

// ADM-6: an open page receives changes until shunt stops.
func TestLivePage(t *testing.T) {
	s := newSurface(t)
	client, base := browser(t, s)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { s.admin.Run(ctx); close(done) }()
	r, _ := http.NewRequest("GET", base+"/admin/live", nil)
	r.Header.Set("X-Shunt-Admin-Token", readKey)
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	events := bufio.NewScanner(response.Body)
	wait := func(text string) {
		t.Helper()
		for events.Scan() {
			if strings.Contains(events.Text(), text) {
				return
			}
		}
		t.Fatalf("no event contains %q", text)
	}
	wait("not seen yet")
	s.pool.Pause(identity.OfStoreEntry("claude", "b"), true)
	wait("paused")
	s.admin.Note(&observe.Record{Time: time.Now(), RequestID: "req_9", Account: "a", Model: `<img src=x>`, Status: 200, Why: "sticky"})
	wait("req_9")
	stop()
	<-done
	for events.Scan() {
		if strings.Contains(events.Text(), "<img") {
			t.Error("the name of a model is markup")
		}
	}
}
