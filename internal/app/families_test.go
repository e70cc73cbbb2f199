package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/app"
	"shunt/internal/apptest"
	"shunt/internal/config"
	"shunt/internal/dialect/messages"
	"shunt/internal/family"
	"shunt/internal/family/claude"
	"shunt/internal/family/keyed"
	"shunt/internal/oauth"
	"shunt/internal/observe/observetest"
	"shunt/internal/quota"
	"shunt/internal/secret"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// FAM-1: every registered family has what it needs, and a name of its own.
func TestFamilies(t *testing.T) {
	seen, defined := map[string]bool{}, map[string]int{}
	unique := func(f *family.Family, what, name string, form *regexp.Regexp) {
		t.Helper()
		if seen[what+" "+name] || !form.MatchString(name) {
			t.Errorf("%s: %s %q is not valid or not unique", f.Name, what, name)
		}
		seen[what+" "+name] = true
	}
	for _, f := range append([]*family.Family{&acme}, app.Registry()...) {
		unique(f, "name", f.Name, regexp.MustCompile(`^[a-z][a-z0-9]*$`))
		unique(f, "auth", f.Auth, regexp.MustCompile(`^[a-z][a-z0-9_]*$`))
		if f.Title == "" || f.Kind == "" || len(f.Hosts) == 0 || f.Dialect == nil || f.Credentials == nil {
			t.Errorf("%s lacks a field: %+v", f.Name, f)
		}
		for _, host := range f.Hosts {
			if host == "" || host != strings.ToLower(host) {
				t.Errorf("%s: host %q is not in lower case", f.Name, host)
			}
		}
		for class, rule := range f.Rules {
			if c := family.Class(class); rule == (family.Rule{}) && c != family.Relayed {
				t.Errorf("%s has no rule for %v", f.Name, c)
			}
		}
		for _, w := range f.Windows.Windows() {
			if w.Title == "" || w.Length <= 0 {
				t.Errorf("%s: window %+v lacks a field", f.Name, w)
			}
			unique(f, f.Name+"'s window", w.Name, regexp.MustCompile(`^[a-z0-9]+$`)) // the end of a configuration key
			unique(f, f.Name+"'s window with the field", w.Field, regexp.MustCompile(`^[a-z0-9_-]+$`))
		}
		if f.Windows != nil && f.Quota == nil && f.Usage == nil {
			t.Errorf("%s: nothing reads the windows", f.Name)
		}
		if u := f.Usage; u != nil && (u.Path == "" || u.Parse == nil) {
			t.Errorf("%s: usage %+v lacks a field", f.Name, u)
		}
		if v := f.Vendor; v.AuthorizeURL != "" && (v.TokenURL == "" || v.ManualRedirect == "" && v.Device == nil || v.ClientID == "") {
			t.Errorf("%s: vendor %+v lacks a field", f.Name, v)
		}
		checkFormat(t, f)
		if defined[f.Kind] += 0; f.DefinesKind {
			defined[f.Kind]++
		}
		if p := f.Program; p != nil && (p.Name == "" || p.FindOrigin == nil) {
			t.Errorf("%s: program %+v lacks a field", f.Name, p)
		}
	}
	for _, f := range []*family.Family{&keyed.Responses, &keyed.Chat, &keyed.Gemini} {
		defined[f.Kind]++
	}
	for kind, n := range defined {
		if n != 1 {
			t.Errorf("%d families define the kind %s, want one", n, kind)
		}
	}
}

// checkFormat checks that a family's credentials files keep the logins that it has (ACC-3).
func checkFormat(t *testing.T, f *family.Family) {
	first := oauth.Credential{Access: secret.New("a"), Refresh: secret.New("r"), Expires: time.Unix(1_800_000_000, 0)}
	next := oauth.Credential{Access: secret.New("b"), Refresh: secret.New("s"), Expires: time.Unix(1_800_003_600, 0)}
	setup := oauth.Credential{Access: secret.New("a"), Expires: first.Expires, SetupToken: true}
	check := func(what string, text []byte, want oauth.Credential) oauth.File {
		file, err := f.Credentials.Parse(text)
		if file.UntilRejected { // the tokens say when they expire, and these do not
			want.Expires, want.UntilRejected = time.Time{}, true
		}
		if err != nil || file.Credential != want {
			t.Errorf("%s: %s holds %+v, want %+v (%v)", f.Name, what, file.Credential, want, err)
		}
		return file
	}
	owner := oauth.Owner{Account: "u-1"}
	file := check("a new file", f.Credentials.New(first, owner), first)
	check("a rewritten file", f.Credentials.Rewrite(file, next), next)
	if f.Vendor.SetupLifetime > 0 {
		check("the file of a setup token", f.Credentials.New(setup, owner), setup)
	}
}

// acme is a family that declares little more than it must: two windows with a pair of headers each, and one rule of its own.
var acme = family.Family{
	Name: "acme", Title: "Acme", Kind: "anthropic", Auth: "acme_oauth", Hosts: []string{"acme.example"},
	Dialect:     messages.Dialect{},
	Windows:     acmeWindows,
	Quota:       family.QuotaHeaders{Utilization: "acme-*-used", Reset: "acme-*-reset"}.Reader(acmeWindows),
	Rules:       family.Standard.WithCooldown(family.Overloaded, family.Fixed(20*time.Second)),
	Credentials: claude.Family.Credentials,
	Vendor: oauth.Vendor{
		AuthorizeURL: acmeURL + "/authorize", TokenURL: acmeURL + "/token", ManualRedirect: acmeURL + "/code", ClientID: "shunt",
	},
}

const acmeURL = "http://127.0.0.1:8002"

var acmeWindows = quota.NewTable(
	quota.Window{Name: "1h", Field: "hour", Title: "hourly window", Length: time.Hour},
	quota.Window{Name: "7d", Field: "week", Title: "weekly window", Length: 7 * 24 * time.Hour},
)

// acmeProvider is the provider of two accounts, a and b, whose first request it rejects as overloaded.
type acmeProvider struct {
	mu      sync.Mutex
	refused string // the token of that request
	grants  int
}

func (p *acmeProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case r.URL.Path == "/token":
		var sent struct {
			Refresh string `json:"refresh_token"`
			Code    string `json:"code"`
		}
		_ = json.NewDecoder(r.Body).Decode(&sent)
		p.grants++
		fmt.Fprintf(w, `{"access_token":"new-%s%s","refresh_token":"next","expires_in":7200}`, sent.Refresh, sent.Code)
	case r.URL.Path != "/v1/messages" || !strings.HasPrefix(token, "new-"):
		http.Error(w, token, http.StatusTeapot)
	case p.refused == "":
		p.refused = token
		w.WriteHeader(529)
	default:
		w.Header().Set("Acme-Hour-Used", "0.25")
		w.Header().Set("Acme-Week-Used", "0.5")
		w.Header().Set("Acme-Week-Reset", fmt.Sprint(time.Now().Add(time.Hour).Unix()))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"type":"message","content":[]}`)
	}
}

const acmeConfig = `
[server]
default_provider = "acme"
[server.admin]
[server.auth]
[server.usage]
[server.pool]
default_threshold_1h = 0.7
[providers.acme]
auth = "acme_oauth"
base_url = "` + acmeURL + `"
`

// A second family needs a value and a line in the registry: a pool of its accounts is configured, refreshes their tokens, serves
// requests by the family's rules, shows its windows and accepts new accounts (FAM-1, FAM-6, ADM-5).
func TestSecondFamily(t *testing.T) {
	known := append(app.Registry(), &acme)
	store, file := t.TempDir(), filepath.Join(t.TempDir(), "shunt.toml")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, acmeConfig)
	for _, name := range []string{"a", "b"} {
		write(filepath.Join(store, name+".json"), `{"claudeAiOauth":{"accessToken":"old","refreshToken":"`+name+`","expiresAt":1}}`)
	}
	synctest.Test(t, func(t *testing.T) {
		provider, upstream, front := new(acmeProvider), sim.Listen("127.0.0.1:8002"), sim.Listen("127.0.0.1:3001")
		server := sim.Serve(upstream, provider)
		env := []string{
			"HOME=" + t.TempDir(), "SHUNT_ACME_ACCOUNTS_DIR=" + store, "SHUNT_ADMIN_TOKENS=ops:an-administrators-token", "SHUNT_CLIENT_TOKENS=ann:the-token-of-a-client",
		}
		cfg, _, err := config.Load(config.Options{Path: file, Env: env, Families: app.ConfigFamilies(known)})
		if err != nil {
			t.Fatal(err)
		}
		a, err := app.New(cfg, app.Options{Families: known, Env: env, Log: slog.New(slog.NewTextHandler(new(observetest.Log), nil)), Dial: upstream.Dial})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx, front, nil) }()
		client := http.Client{Transport: &http.Transport{DialContext: front.Dial, DisableKeepAlives: true}}
		send := func(method, path, body string) (status int, response string) {
			r, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1:3001"+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Shunt-Token", "the-token-of-a-client")
			if strings.HasPrefix(path, "/admin") {
				r.Header.Set("X-Shunt-Admin-Token", "an-administrators-token")
			}
			reply, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer reply.Body.Close()
			text, _ := io.ReadAll(reply.Body)
			return reply.StatusCode, string(text)
		}
		wants := func(method, path, body string, status int, parts ...string) string {
			t.Helper()
			got, text := send(method, path, body)
			if got != status {
				t.Errorf("%s %s: status %d, want %d: %s", method, path, got, status, text)
			}
			for _, part := range parts {
				if !strings.Contains(text, part) {
					t.Errorf("%s %s lacks %s: %s", method, path, part, text)
				}
			}
			return text
		}

		wants("POST", "/v1/messages", `{"model":"acme-large","max_tokens":8,"messages":[]}`, 200, `"type":"message"`)
		for _, s := range a.Pool("acme") {
			if want := "new-"+s.Name == provider.refused; (s.Cooldown > 15*time.Second && s.Cooldown <= 20*time.Second) != want {
				t.Errorf("%s cools down for %v", s.Name, s.Cooldown)
			}
		}
		wants("GET", "/admin/api/pool", "", 200, `"windows":[{"window":"1h","utilization":0.25,"reset":null,"status":null,"max_utilization":null,"threshold":0.7},{"window":"7d","utilization":0.5,`,
			`"utilization_7d":0.5`, `"utilization_5h":null`, `"threshold_5h":null,"threshold_7d":0.98,"threshold_fable":null`)
		wants("GET", "/usage", "", 200, `"1h":{"remaining":0.75,`, `"7d":{"remaining":0.5,`)
		wantsWindows(t, wants("GET", "/usage", "", 200), "1h 7d", map[string]string{"acme": "1h 7d"})

		begun := wants("POST", "/admin/api/accounts/acme", `{"name":"new","mode":"oauth"}`, 200, acmeURL+"/authorize?")
		var login struct {
			URL string `json:"authorize_url"`
		}
		_ = json.Unmarshal([]byte(begun), &login)
		page, err := url.Parse(login.URL)
		if err != nil {
			t.Fatal(err)
		}
		wants("POST", "/admin/api/accounts/acme/new/complete", `{"code":"c#`+page.Query().Get("state")+`"}`, 200, `{"name":"new","stored":true,"live":true}`)
		wants("POST", "/admin/api/accounts/acme", `{"name":"new","mode":"setup_token"}`, 400, `mode must be`)
		wants("POST", "/admin/api/accounts/nobody", `{"name":"new","mode":"oauth"}`, 404)
		wants("GET", "/admin/api/accounts", "", 200, `{"family":"acme","name":"new","kind":"imported",`)
		wants("DELETE", "/admin/api/accounts/acme/new", "", 200)

		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if provider.grants != 3 {
			t.Errorf("%d grants, want one for each account", provider.grants)
		}
	})
	text, err := os.ReadFile(filepath.Join(store, "a.json"))
	if err != nil || !strings.Contains(string(text), `"accessToken":"new-a","refreshToken":"next"`) {
		t.Errorf("the refreshed login is not in the store: %s (%v)", text, err)
	}
}

// FAM-6, USE-1: a pool shows the windows of its family, and all pools together show those of their families. A family that no pool
// uses changes nothing. Without a pool, the first family's are shown.
func TestUsageOfFamilies(t *testing.T) {
	const (
		server   = "[server]\ndefault_provider = \"anthropic\"\n[server.auth]\n[server.usage]\n"
		claudes  = "[providers.anthropic]\nauth = \"claude_oauth\"\nbase_url = \"" + simtest.ProviderURL + "\"\n"
		acmes    = "[providers.acme]\nauth = \"acme_oauth\"\nbase_url = \"" + acmeURL + "\"\n"
		open     = "[providers.anthropic]\nauth = \"passthrough\"\nbase_url = \"" + simtest.ProviderURL + "\"\n"
		ofClaude = "5h 7d fable"
	)
	for name, c := range map[string]struct {
		providers, pool string
		each            map[string]string
	}{
		"no pool":       {open, ofClaude, map[string]string{}},
		"one family":    {claudes, ofClaude, map[string]string{"anthropic": ofClaude}},
		"the other":     {open + acmes, "1h 7d", map[string]string{"acme": "1h 7d"}},
		"both families": {claudes + acmes, "1h 5h 7d fable", map[string]string{"anthropic": ofClaude, "acme": "1h 7d"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, server+c.providers, func(w *world) {
				wantsWindows(t, w.get(http.MethodGet, "/usage", asAnn).Body, c.pool, c.each)
			}, clientTokens("ann:ann-secret"), func(w *world) { w.Families = append(app.Registry(), &acme) })
		})
	}
}

// FAM-6: a family that is known but not used changes nothing in the API.
func TestUnusedFamily(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, surface+apptest.PoolOf(""), func(w *world) {
		if list := w.manage("GET", "accounts", "").Body; !strings.HasPrefix(list, `{"accounts":[{"name":"a",`) || strings.Contains(list, "family") {
			w.Errorf("accounts: %s", list)
		}
		if list := w.manage("GET", "pool", "").Body; strings.Contains(list, `"windows"`) {
			w.Errorf("pool: %s", list)
		}
	}, withAdmin, func(w *world) { w.Families = append(app.Registry(), &acme) })
}

// wantsWindows checks which windows a response of GET /usage has, sorted.
func wantsWindows(t *testing.T, body, pool string, each map[string]string) {
	t.Helper()
	type summary struct {
		Windows map[string]any `json:"windows"`
	}
	var usage struct {
		Pool      summary            `json:"pool"`
		Providers map[string]summary `json:"providers"`
	}
	if err := json.Unmarshal([]byte(body), &usage); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	names := func(s summary) string { return strings.Join(slices.Sorted(maps.Keys(s.Windows)), " ") }
	got := map[string]string{}
	for name, s := range usage.Providers {
		got[name] = names(s)
	}
	if diff := cmp.Diff(each, got); diff != "" || names(usage.Pool) != pool {
		t.Errorf("pool: %s, want %s; providers: %s", names(usage.Pool), pool, diff)
	}
}
