package config

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/secret"
)

// CFG-20 to CFG-23, CFG-30, CFG-31: upstreams are in the order of the file, each with the keys of its preset that it does not set;
// models have their upstreams in that order. Accounts need not exist, and one may be named in several upstreams without a warning.
func TestUpstreams(t *testing.T) {
	config, warnings, err := Load(Options{Families: claude, Path: "testdata/upstreams.toml", Env: []string{
		"PAID_KEY=sk-paid", "MOONSHOT_API_KEY=sk-kimi", "OTHER_KEY=sk-other",
	}})
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	anthropic := &url.URL{Scheme: "https", Host: "api.anthropic.com"}
	kimi := &url.URL{Scheme: "https", Host: "api.moonshot.ai", Path: "/anthropic"}
	providers := []Provider{
		{Name: "pool", Preset: "anthropic", BaseURL: anthropic, Auth: claudeOAuth, Family: "claude"},
		{Name: "one", Preset: "anthropic", BaseURL: anthropic, Auth: claudeOAuth, Family: "claude", Accounts: []Account{{Name: "primary", Priority: 100}}},
		{Name: "a_few-3", Preset: "anthropic", BaseURL: anthropic, Auth: claudeOAuth, Family: "claude", Accounts: []Account{
			{Name: "primary", Priority: 100},
			{Name: "ci", Priority: 100, TokenEnv: "CI_TOKEN", UUID: "1"},
			{Name: "spare", Priority: 200, MaxUtilization: Fractions{All: ptr(0.5)}},
		}},
		{Name: "client", Preset: "anthropic", BaseURL: anthropic, Auth: Passthrough},
		{Name: "paid", Preset: "anthropic", BaseURL: anthropic, Auth: APIKey, APIKeyEnv: "PAID_KEY", APIKey: secret.New("sk-paid"), APIKeyHeader: XAPIKey},
		{Name: "kimi", Preset: "kimi", BaseURL: kimi, Auth: APIKey, APIKeyEnv: "MOONSHOT_API_KEY", APIKey: secret.New("sk-kimi")},
		{
			Name: "another-kimi", Preset: "kimi", BaseURL: &url.URL{Scheme: "https", Host: "api.moonshot.cn", Path: "/anthropic"},
			Auth: APIKey, APIKeyEnv: "OTHER_KEY", APIKey: secret.New("sk-other"),
		},
		{Name: "open-kimi", Preset: "kimi", BaseURL: kimi, Auth: Passthrough},
		{
			Name: "vercel", Preset: "vercel", BaseURL: &url.URL{Scheme: "https", Host: "ai-gateway.vercel.sh"},
			Auth: APIKey, APIKeyEnv: "OTHER_KEY", APIKey: secret.New("sk-other"), APIKeyHeader: XAPIKey,
		},
		{Name: "gateway", BaseURL: &url.URL{Scheme: "https", Host: "gateway.internal:8443", Path: "/api"}, Auth: Passthrough},
	}
	for i := range providers {
		p := &providers[i]
		p.Kind = Anthropic
		if p.Preset == "anthropic" {
			p.Accepts = presets[0].accepts
		}
		if p.APIKeyHeader == "" {
			p.APIKeyHeader = Bearer
		}
	}
	if diff := cmp.Diff(providers, config.Providers, equal); diff != "" {
		t.Errorf("providers: -want +got:\n%s", diff)
	}
	models := []Model{
		{ID: "claude-sonnet-5-5", DisplayName: "Sonnet, pinned", Upstreams: []Target{{"one", "claude-sonnet-5-5"}}},
		{ID: "chain", Upstreams: []Target{{"pool", "claude-opus-4-5"}, {"paid", "claude-opus-4-5"}, {"kimi", "kimi-k2"}}},
		{ID: "listed[1m]"},
		{ID: "listed[1m]"},
	}
	if diff := cmp.Diff(models, config.Models); diff != "" {
		t.Errorf("models: -want +got:\n%s", diff)
	}
	routes := []Route{{"turbo", "kimi", "kimi-k2-turbo"}, {"as-it-is", "gateway", ""}}
	if diff := cmp.Diff(routes, config.Routes); diff != "" {
		t.Errorf("routes: -want +got:\n%s", diff)
	}
	prefixes := []Prefix{{"kimi-k2-", "open-kimi"}, {"kimi-", "kimi"}}
	if diff := cmp.Diff(prefixes, config.Prefixes); diff != "" {
		t.Errorf("prefixes: -want +got:\n%s", diff)
	}
}

// CFG-2, CFG-4, CFG-21: auth may use any TOML syntax, and its strings may refer to variables.
func TestWaysToWriteAuth(t *testing.T) {
	const upstream = "[server]\ndefault_provider = 'a'\n[[upstreams]]\nname = 'a'\nprovider = 'anthropic'\n"
	want := []Account{{Name: "x", Priority: 100}, {Name: "y", Priority: 100, Disabled: true}}
	for _, auth := range []string{
		"auth = { mode = 'claude_oauth', accounts = ['x', { name = 'y', disabled = true }] }",
		"auth = { mode = '${MODE}', accounts = ['${X}', { name = '${Y}', disabled = true }] }",
		"auth.mode = 'claude_oauth'\nauth.accounts = [{ name = 'x' }, { name = 'y', disabled = true }]",
		"[upstreams.auth]\nmode = 'claude_oauth'\n[[upstreams.auth.accounts]]\nname = 'x'\n[[upstreams.auth.accounts]]\nname = 'y'\ndisabled = true",
	} {
		p, _ := mustLoad(t, upstream+auth, "MODE=claude_oauth", "X=x", "Y=y").Provider("a")
		if diff := cmp.Diff(want, p.Accounts); diff != "" || !p.Pool() {
			t.Errorf("%s\n%s: -want +got:\n%s", auth, p.Auth, diff)
		}
	}
}

// CFG-30, CFG-31: models and routes also work with [providers.*], and without any provider in the file.
func TestRoutesToProviders(t *testing.T) {
	const file = `
		models = [{ id = "m", upstream_model = { anthropic = "n" } }]
		routes = [{ model = "r", provider = "anthropic" }]
		route_prefixes = [{ prefix = "p", provider = "anthropic" }]
	`
	for _, content := range []string{file, file + "providers.other.base_url = 'https://other.example'"} {
		c := mustLoad(t, content)
		if diff := cmp.Diff([]Target{{"anthropic", "n"}}, c.Route("m", c.Server.DefaultProviders)); diff != "" || len(c.Routes) != 1 || len(c.Prefixes) != 1 {
			t.Errorf("%s\n%s %v %v", content, diff, c.Routes, c.Prefixes)
		}
	}
}

// CFG-22, FAM-3: a preset needs nothing but its key to be an upstream.
func TestPresets(t *testing.T) {
	for _, from := range (families{}).presets() {
		p, ok := mustLoad(t, "server.default_provider = 'x'\n[[upstreams]]\nname = 'x'\nprovider = '"+from.name+"'", from.keyEnv+"=key").Provider("x")
		want := Provider{
			Name: "x", Preset: from.name, Kind: from.kind, Auth: from.auth, APIKeyEnv: from.keyEnv, APIKeyHeader: Bearer, Accepts: from.accepts,
		}
		if from.keyEnv != "" {
			want.APIKey = secret.New("key")
		}
		if from.keyHeader != "" {
			want.APIKeyHeader = from.keyHeader
		}
		var err error
		if want.BaseURL, err = url.Parse(from.baseURL); err != nil || want.BaseURL.Scheme != "https" && from.auth != None {
			t.Errorf("%s: %s: %v", from.name, from.baseURL, err)
		}
		if !ok || cmp.Diff(&want, p, equal) != "" {
			t.Errorf("%s: -want +got:\n%s", from.name, cmp.Diff(&want, p, equal))
		}
	}
}

const upstreamsFile = `
[server]
default_provider = "claude"
[[upstreams]]
name = "claude"
provider = "anthropic"
auth = "claude_oauth"
[[upstreams]]
name = "my-key"
provider = "anthropic"
auth = { mode = "api_key", env = "KEY", header = "x_api_key" }
[[upstreams]]
name = "a-b"
provider = "anthropic"
auth = { mode = "claude_oauth", account = "main" }
[[upstreams]]
name = "a_b"
provider = "anthropic"
[[models]]
id = "m"
upstream_model = { claude = "m" }
`

// CFG-3: the environment sets the keys of an upstream by its name, and overrides the preset too.
func TestUpstreamEnvironment(t *testing.T) {
	c := mustLoad(
		t, upstreamsFile,
		"SHUNT_UPSTREAMS__CLAUDE__BASE_URL=http://127.0.0.1:9/x",
		"SHUNT_UPSTREAMS__CLAUDE__AUTH__ACCOUNT=spare",
		"SHUNT_UPSTREAMS__MY_KEY__AUTH__ENV=OTHER",
		"SHUNT_UPSTREAMS__MY_KEY__PROVIDER=kimi",
		"OTHER=other",
	)
	if p, _ := c.Provider("claude"); p.BaseURL.String() != "http://127.0.0.1:9/x" || len(p.Accounts) != 1 || p.Accounts[0].Name != "spare" {
		t.Errorf("claude = %+v", p)
	}
	if p, _ := c.Provider("my-key"); p.APIKey.Reveal() != "other" || p.BaseURL.Host != "api.moonshot.ai" || p.APIKeyHeader != XAPIKey {
		t.Errorf("my-key = %+v", p)
	}
	for _, variable := range []string{"SHUNT_UPSTREAMS__CLAUDE__AUTH=passthrough", "SHUNT_UPSTREAMS__CLAUDE__AUTH__MODE=passthrough"} {
		if p, _ := mustLoad(t, upstreamsFile, variable, "KEY=key").Provider("claude"); p.Auth != Passthrough {
			t.Errorf("%s: %+v", variable, p)
		}
	}
}

// CFG-3: as with providers, a variable that matches no key of an existing upstream is an error that does not show the value.
func TestBadUpstreamEnvironment(t *testing.T) {
	for _, c := range []struct{ variable, want string }{
		{"SHUNT_UPSTREAMS__CLAUD__BASE_URL=hush", "SHUNT_UPSTREAMS__CLAUD__BASE_URL: unknown key; did you mean SHUNT_UPSTREAMS__CLAUDE__BASE_URL?"},
		{"SHUNT_UPSTREAMS__OTHER__BASE_URL=hush", "SHUNT_UPSTREAMS__OTHER__BASE_URL: unknown key; a variable can set only a key that the reference lists, in a table that is built in or in the file"},
		{"SHUNT_PROVIDERS__CLAUDE__BASE_URL=hush", "SHUNT_PROVIDERS__CLAUDE__BASE_URL: unknown key; a variable can set only a key that the reference lists, in a table that is built in or in the file"},
		{"SHUNT_PROVIDERS__ANTHROPIC__BASE_URL=hush", "SHUNT_PROVIDERS__ANTHROPIC__BASE_URL: unknown key; a variable can set only a key that the reference lists, in a table that is built in or in the file"},
		{"SHUNT_UPSTREAMS__A_B__PROVIDER=hush", "SHUNT_UPSTREAMS__A_B__PROVIDER: could set the key of more than one table; rename one of them or set the key in the file"},
		{"SHUNT_UPSTREAMS__CLAUDE__AUTH__ACCOUNTS=hush", "SHUNT_UPSTREAMS__CLAUDE__AUTH__ACCOUNTS: upstreams.auth.accounts is a list, which only the file can set"},
		{"SHUNT_MODELS__M__ID=hush", "SHUNT_MODELS__M__ID: models is a list, which only the file can set"},
		{"SHUNT_ROUTES__0__MODEL=hush", "SHUNT_ROUTES__0__MODEL: routes is a list, which only the file can set"},
		{"SHUNT_ROUTE_PREFIXES__0__PREFIX=hush", "SHUNT_ROUTE_PREFIXES__0__PREFIX: route_prefixes is a list, which only the file can set"},
		{"SHUNT_UPSTREAMS__CLAUDE__AUTH=hush", `SHUNT_UPSTREAMS__CLAUDE__AUTH: must be "passthrough", "api_key", "none" or "claude_oauth"`},
		{"SHUNT_UPSTREAMS__MY_KEY__AUTH=passthrough", `shunt.toml:11: upstreams.auth.env: belongs to an API key; write mode = "api_key" or remove it` + "\n" +
			`shunt.toml:11: upstreams.auth.header: belongs to an API key; write mode = "api_key" or remove it`},
		{"SHUNT_UPSTREAMS__MY_KEY__AUTH__ENV=MISSING", "SHUNT_UPSTREAMS__MY_KEY__AUTH__ENV: the environment variable MISSING is not set; set it to the key or name another"},
		{"SHUNT_UPSTREAMS__CLAUDE__BASE_URL=https://hush.example", `SHUNT_UPSTREAMS__CLAUDE__BASE_URL: must name anthropic.com, a subdomain of it or a loopback host, because auth = "claude_oauth" sends account credentials there`},
		{"SHUNT_UPSTREAMS__CLAUDE__NAME=other", `shunt.toml:3: server.default_provider: names a provider that does not exist; known: other, my-key, a-b, a_b` + "\n" +
			`shunt.toml:21: models.upstream_model.claude: is not a provider; known: other, my-key, a-b, a_b`},
	} {
		file := write(t, upstreamsFile)
		_, _, err := Load(Options{Families: claude, Path: file, Env: []string{c.variable, "KEY=key"}})
		if err == nil || strings.ReplaceAll(err.Error(), file, "shunt.toml") != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.variable, err, c.want)
		}
	}
}
