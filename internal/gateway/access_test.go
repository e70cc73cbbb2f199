package gateway_test

import (
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/config"
	"shunt/internal/gateway"
	"shunt/internal/observe"
	"shunt/internal/upstream"
)

// door is a gateway whose upstreams remember what they were shown.
type door struct {
	*testing.T
	gateway *gateway.Gateway
	config  *config.Config
	shown   http.Header // to the last upstream; nil: none was called
	record  *observe.Record
}

// Tokens of the tests: two clients', an admin's, and a read key.
var tokens = []string{"SHUNT_CLIENT_TOKENS=ann:ann-token, bob:bob-token", "SHUNT_ADMIN_TOKENS=root:root-token-of-16", "READ=0123456789abcdef0123456789abcdef"}

// threeWays has an upstream of each kind of credential, and a chain that begins with the client's own.
const threeWays = `
[server]
default_provider = "pass"
[[upstreams]]
name = "pass"
provider = "anthropic"
[[upstreams]]
name = "key"
provider = "anthropic"
auth = { mode = "api_key", env = "KEY", header = "x_api_key" }
[[upstreams]]
name = "pool"
provider = "anthropic"
auth = "claude_oauth"
[[routes]]
model = "key"
provider = "key"
[[routes]]
model = "pool"
provider = "pool"
[[models]]
id = "chain"
upstream_model = { pass = "a", key = "b" }
`

const closed = "[server.auth]\nheader = \"x-team-token\"\n"

func open(t *testing.T, toml string) *door {
	t.Helper()
	d := &door{T: t}
	d.config = d.load(toml)
	d.gateway = gateway.New(gateway.Options{
		Dialects: dialects,
		Version:  "v1", Log: slog.New(slog.DiscardHandler), Record: func(r *observe.Record) { d.record = r },
		Usage: &gateway.UsageEndpoint{Pools: func() []gateway.PoolUsage { return nil }},
		ClientUsages: []gateway.ClientUsage{{
			Paths: []string{"/api/oauth/usage"}, Accounts: func() []gateway.AccountUsage { return nil },
			Append: func([]byte, http.Header, map[string]gateway.WindowUsage) []byte { return []byte("{}") },
		}},
	}, d.state())
	return d
}

func (d *door) load(toml string) *config.Config {
	d.Helper()
	file := filepath.Join(d.TempDir(), "shunt.toml")
	if err := os.WriteFile(file, []byte(toml), 0o600); err != nil {
		d.Fatal(err)
	}
	cfg, _, err := config.Load(config.Options{Path: file, Env: append(tokens, "KEY=key", "HOME=/nowhere"), Families: families})
	if err != nil {
		d.Fatal(err)
	}
	return cfg
}

func (d *door) state() *gateway.State {
	upstreams := map[string]upstream.Upstream{}
	for _, p := range d.config.Providers {
		upstreams[p.Name] = upstreamFunc(func(w http.ResponseWriter, r *upstream.Request) upstream.Outcome {
			d.shown = r.Client.Header
			r.Record.Status = http.StatusOK
			return upstream.Outcome{}
		})
	}
	return &gateway.State{Config: d.config, Upstreams: upstreams}
}

// send sends a request to a model if the path is one of inference, and else a GET. Headers are given as "Name: value".
func (d *door) send(path, model, from string, headers ...string) *httptest.ResponseRecorder {
	d.Helper()
	d.shown, d.record = nil, nil
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if model != "" {
		r = httptest.NewRequest(http.MethodPost, path, strings.NewReader(`{"model":"`+model+`"}`))
	}
	r.Host, r.RemoteAddr = "localhost", from
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	before := r.Header.Clone()
	w := httptest.NewRecorder()
	d.gateway.ServeHTTP(w, r)
	if diff := cmp.Diff(before, r.Header); diff != "" {
		d.Errorf("the client's header was changed: %s", diff)
	}
	return w
}

const local = "127.0.0.1:5000"

// AUTH-1 to AUTH-3: requests that use a credential of the operator's or show the configuration need a client's token, in any of
// three places. Others do not.
func TestClientTokens(t *testing.T) {
	d := open(t, "[server.admin]\n[[server.admin.read_keys]]\nid = \"wall\"\nkey = \"${READ}\"\n"+closed+threeWays)
	credentials := map[string]struct {
		headers []string
		client  string // empty: unauthenticated
	}{
		"none":                   {nil, ""},
		"header":                 {[]string{"X-Team-Token: ann-token"}, "ann"},
		"bearer":                 {[]string{"Authorization: bEARER bob-token"}, "bob"},
		"key":                    {[]string{"X-Api-Key: bob-token"}, "bob"},
		"header goes first":      {[]string{"X-Api-Key: bob-token", "X-Team-Token: ann-token"}, "ann"},
		"any valid place":        {[]string{"X-Team-Token: wrong", "Authorization: Bearer theirs", "X-Api-Key: bob-token"}, "bob"},
		"wrong":                  {[]string{"X-Team-Token: ann-tokem"}, ""},
		"a part":                 {[]string{"X-Team-Token: ann-toke"}, ""},
		"empty":                  {[]string{"X-Team-Token: "}, ""},
		"basic":                  {[]string{"Authorization: Basic bob-token"}, ""},
		"the usual header":       {[]string{"X-Shunt-Token: ann-token"}, ""},
		"an admin's":             {[]string{"X-Team-Token: root-token-of-16", "X-Shunt-Admin-Token: root-token-of-16"}, ""},
		"a read key":             {[]string{"X-Api-Key: 0123456789abcdef0123456789abcdef"}, ""},
		"the pair":               {[]string{"X-Team-Token: ann:ann-token"}, ""},
		"the client's own, only": {[]string{"Authorization: Bearer theirs"}, ""},
	}
	for name, c := range credentials {
		for _, r := range []struct {
			path, model string
			gated       bool
		}{
			{"/v1/messages", "key", true},
			{"/v1/messages", "pool", true},
			{"/v1/messages", "chain", true},
			{"/v1/messages", "pass", false},
			{"/v1/messages/count_tokens", "pool", true},
			{"/v1/messages/count_tokens", "chain", true},
			{"/v1/messages/count_tokens", "pass", false},
			{"/v1/models", "", true},
			{"/routes", "", true},
			{"/usage", "", true},
			{"/api/oauth/usage", "", false},
			{"/", "", false},
			{"/health", "", false},
		} {
			w := d.send(r.path, r.model, local, c.headers...)
			refused := r.gated && c.client == ""
			if (w.Code == http.StatusUnauthorized) != refused || !refused && w.Code != http.StatusOK {
				t.Errorf("%s: %s %s: %d %s", name, r.path, r.model, w.Code, w.Body)
			}
			if refused {
				checkError(t, w.Body.String(), "authentication_error")
				if !strings.Contains(w.Body.String(), "x-team-token") {
					t.Errorf("%s: the header is not named: %s", name, w.Body)
				}
			}
			if refused && d.shown != nil {
				t.Errorf("%s: %s %s reached an upstream", name, r.path, r.model)
			}
			if r.model != "" && d.record.Client != c.client {
				t.Errorf("%s: %s: client %q, want %q", name, r.path, d.record.Client, c.client)
			}
		}
	}
}

// AUTH-3: without [server.auth] everything is open. If every route is closed, the body of an unauthenticated request is not read.
func TestNobodyIsAsked(t *testing.T) {
	d := open(t, threeWays)
	for _, model := range []string{"key", "pool", "chain", "pass"} {
		if w := d.send("/v1/messages", model, local); w.Code != http.StatusOK {
			t.Errorf("open, %s: %d", model, w.Code)
		}
	}
	d = open(t, closed+"[providers.anthropic]\nauth = \"claude_oauth\"\n")
	if w := d.send("/v1/messages", `" no JSON`, local); w.Code != http.StatusUnauthorized {
		t.Errorf("closed: %d %s", w.Code, w.Body)
	}
}

// WIRE-2, WIRE-3: tokens for shunt, and the header for them, are not sent upstream; the client's other credentials are.
func TestOwnTokensStayHere(t *testing.T) {
	d := open(t, "[server.admin]\nheader = \"x-boss\"\n[[server.admin.read_keys]]\nid = \"wall\"\nkey = \"${READ}\"\n"+closed+threeWays)
	const key = "0123456789abcdef0123456789abcdef"
	for _, c := range []struct{ sent, shown []string }{
		{[]string{"Authorization: Bearer theirs", "X-Api-Key: their-key"}, []string{"Authorization: Bearer theirs", "X-Api-Key: their-key"}},
		{[]string{"X-Team-Token: ann-token", "Authorization: Bearer theirs"}, []string{"Authorization: Bearer theirs"}},
		{[]string{"X-Team-Token: whatever", "X-Boss: whatever", "X-App: cli"}, []string{"X-App: cli"}},
		{[]string{"Authorization: Bearer ann-token", "X-Api-Key: their-key"}, []string{"X-Api-Key: their-key"}},
		{[]string{"Authorization: bearer  ann-token"}, nil},
		{[]string{"Authorization: ann-token"}, nil},
		{[]string{"Authorization: Token\tann-token"}, nil},
		{[]string{"Authorization: Bearer theirs", "X-Api-Key: bob-token"}, []string{"Authorization: Bearer theirs"}},
		{[]string{"X-Api-Key: root-token-of-16"}, nil},
		{[]string{"Authorization: Bearer root-token-of-16"}, nil},
		{[]string{"X-Api-Key: " + key, "Authorization: Bearer " + key}, nil},
		{[]string{"X-Api-Key: their-key", "X-Api-Key: bob-token"}, nil},
		{[]string{"Authorization: Bearer ann:ann-token"}, nil},
		{[]string{"X-Api-Key: bob:bob-token"}, nil},
		{[]string{`Authorization: Bearer "ann-token"`}, nil},
		{[]string{"Authorization: Bearer theirs, Bearer ann-token"}, nil},
		{[]string{"Authorization: Bearer theirs,ann-token"}, nil},
		{[]string{"Authorization: Bearer theirs;token='ann-token'"}, nil},
		{[]string{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ann:ann-token"))}, nil},
		{[]string{"Authorization: basic  " + base64.RawURLEncoding.EncodeToString([]byte("ann-token:?>~"))}, nil},
		{[]string{"X-Api-Key: Basic " + base64.StdEncoding.EncodeToString([]byte("x:ann-token"))}, nil},
		{[]string{"Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+key))}, nil},
		{[]string{"Proxy-Authorization: Bearer ann-token"}, nil},
		{[]string{"X-Custom: ann-token", "Anthropic-Beta: a,bob-token"}, nil},
		{[]string{"X-Custom: x" + key + "x"}, nil},
		{[]string{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("me:their-key"))}, []string{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("me:their-key"))}},
		{[]string{"X-App: ann-tokens", "User-Agent: my-ann-token"}, []string{"X-App: ann-tokens", "User-Agent: my-ann-token"}}, // short ones stand alone
	} {
		d.send("/v1/messages", "pass", local, c.sent...)
		want := http.Header{}
		for _, line := range c.shown {
			name, value, _ := strings.Cut(line, ": ")
			want.Add(name, value)
		}
		if diff := cmp.Diff(want, d.shown); diff != "" {
			t.Errorf("%q: %s", c.sent, diff)
		}
	}
	// A reload takes the table away; the admin surface is still what it was.
	d.config = d.load(threeWays)
	d.gateway.Swap(d.state())
	if d.send("/v1/messages", "pass", local, "X-Api-Key: root-token-of-16", "X-Boss: root-token-of-16"); len(d.shown) > 0 {
		t.Errorf("after a reload: %v", d.shown)
	}
}

// [server.access_control]: denied addresses get nothing, and those that are not allowed only what is open to anyone.
func TestAccessControl(t *testing.T) {
	const lists = "[server]\nbind = \"0.0.0.0:3001\"\n[server.access_control]\ndeny_cidrs = [\"10.9.0.0/16\", \"fd00:9::/32\"]\n"
	const allow = "allow_cidrs = [\"10.0.0.0/8\", \"fd00::/8\"]\n"
	const local = "trust_forwarded_for = true\n"
	const trust = local + "trusted_proxies = [\"192.168.0.0/16\", \"10.1.1.0/24\"]\n"
	for _, c := range []struct {
		lists, from   string
		forwarded     []string
		small, others int
	}{
		{lists, "10.9.1.1:1", nil, 403, 403},
		{lists, "10.8.1.1:1", nil, 200, 200},
		{lists, "[::ffff:10.9.1.1]:1", nil, 403, 403},
		{lists, "[fd00:9::1%eth0]:1", nil, 403, 403},
		{lists, "pipe", nil, 403, 403},
		{lists + allow, "10.1.1.1:1", nil, 200, 200},
		{lists + allow, "[::ffff:10.1.1.1]:1", nil, 200, 200},
		{lists + allow, "10.9.1.1:1", nil, 403, 403},
		{lists + allow, "192.168.1.1:1", nil, 200, 403},
		{lists + allow, "192.168.1.1:1", []string{"10.1.1.1"}, 200, 403},
		{lists + allow + local, "192.168.1.1:1", []string{"10.2.1.1"}, 200, 403},
		{lists + allow + local, "10.9.1.1:1", []string{"10.2.1.1"}, 403, 403},
		{lists + allow + local, "127.0.0.1:1", []string{"10.2.1.1"}, 200, 200},
		{lists + allow + local, "[::1]:1", []string{"8.8.8.8"}, 200, 403},
		{lists + allow + trust, "192.168.1.1:1", []string{"10.2.1.1"}, 200, 200},
		{lists + allow + trust, "192.168.1.1:1", []string{"10.9.1.1, 10.2.1.1"}, 200, 200},
		{lists + allow + trust, "192.168.1.1:1", []string{"10.2.1.1, 10.9.1.1"}, 403, 403},
		{lists + allow + trust, "192.168.1.1:1", []string{"10.2.1.1", "8.8.8.8"}, 200, 403},
		{lists + allow + trust, "192.168.1.1:1", []string{"10.2.1.1, 10.1.1.1", "192.168.3.3"}, 200, 200},
		{lists + allow + trust, "192.168.1.1:1", []string{"[fd00::1]:443"}, 200, 200},
		{lists + allow + trust, "192.168.1.1:1", []string{"10.2.1.1:443"}, 200, 200},
		{lists + allow + trust, "10.1.1.1:1", []string{"unknown"}, 403, 403},
		{lists + allow + trust, "10.1.1.1:1", nil, 200, 200},
	} {
		d := open(t, c.lists)
		var headers []string
		for _, line := range c.forwarded {
			headers = append(headers, "X-Forwarded-For: "+line)
		}
		for path, want := range map[string]int{"/": c.small, "/health": c.small, "/routes": c.others} {
			w := d.send(path, "", c.from, headers...)
			if w.Code != want {
				t.Errorf("%q from %s for %q: %s: %d, want %d", c.lists, c.from, c.forwarded, path, w.Code, want)
			}
			if want == 403 {
				checkError(t, w.Body.String(), "permission_error")
			}
		}
	}
}

// AUTH-4: if tokens are required, web pages may send requests; if not, they may not. The Host of a loopback address counts
// either way.
func TestWebPagesWithTokens(t *testing.T) {
	for toml, want := range map[string]int{closed: http.StatusOK, "": http.StatusForbidden} {
		for _, header := range []string{"Sec-Fetch-Site: cross-site", "Origin: https://page.example"} {
			if w := open(t, toml).send("/health", "", local, header); w.Code != want {
				t.Errorf("%q, %s: %d, want %d", toml, header, w.Code, want)
			}
		}
	}
	r := httptest.NewRequest(http.MethodGet, "http://evil.example/health", nil)
	w := httptest.NewRecorder()
	open(t, closed).gateway.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("a rebound name: %d", w.Code)
	}
}

// USE-1, USE-2: who may read the usage.
func TestWhoReadsUsage(t *testing.T) {
	const ann, proxied = "X-Team-Token: ann-token", "X-Forwarded-For: 127.0.0.1"
	const everywhere = "[server]\nbind = \"0.0.0.0:3001\"\n"
	for _, c := range []struct {
		name, toml, path string
		headers          []string
		want             int
	}{
		{"usage, without a token", closed, "/usage", nil, 401},
		{"usage, a client", closed, "/usage", []string{ann}, 200},
		{"usage, the table gone", "", "/usage", []string{ann}, 403},
		{"client usage, on loopback", "", "/api/oauth/usage", nil, 200},
		{"client usage, on loopback with tokens", closed, "/api/oauth/usage", nil, 200},
		{"client usage, through a proxy", "", "/api/oauth/usage", []string{proxied}, 403},
		{"client usage, through another proxy", "", "/api/oauth/usage", []string{"Via: 1.1 proxy"}, 403},
		{"client usage, through a proxy, without a token", closed, "/api/oauth/usage", []string{proxied}, 401},
		{"client usage, through a proxy, a client", closed, "/api/oauth/usage", []string{proxied, ann}, 200},
		{"client usage, everywhere, without a token", everywhere + closed, "/api/oauth/usage", nil, 401},
		{"client usage, everywhere, a client", everywhere + closed, "/api/oauth/usage", []string{ann}, 200},
		{"client usage, everywhere, the table gone", everywhere, "/api/oauth/usage", []string{ann}, 403},
	} {
		if w := open(t, c.toml).send(c.path, "", local, c.headers...); w.Code != c.want {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
	url, _ := start(t, "", &echo{})
	for _, path := range []string{"/usage", "/api/oauth/usage"} {
		if response, _ := raw(t, url, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); response.StatusCode != http.StatusNotFound {
			t.Errorf("%s without its table: %d", path, response.StatusCode)
		}
	}
}
