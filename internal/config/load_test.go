package config

import (
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"shunt/internal/secret"
)

// equal compares configurations by what they hold.
var equal = cmp.Options{
	cmpopts.EquateComparable(netip.AddrPort{}, netip.Prefix{}, secret.String{}),
	cmpopts.IgnoreUnexported(Config{}),
}

const claudeOAuth Auth = "claude_oauth"

// claude is the family that most tests configure accounts of.
var claude = []Family{{
	Name: "claude", Kind: Anthropic, Auth: claudeOAuth, Hosts: []string{"anthropic.com"},
	Windows: []Window{{"5h", "five-hour window"}, {"7d", "weekly window"}, {"fable", "weekly window of Fable models"}}, Program: "Claude Code",
}}

func ptr[T any](v T) *T { return &v }

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shunt.toml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func mustLoad(t *testing.T, content string, env ...string) *Config {
	t.Helper()
	config, _, err := Load(Options{Families: claude, Path: write(t, content), Env: env})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// CFG-10, CFG-12 and the tables of the server and the log: every key arrives in its field. CFG-46: neither the credentials
// files nor the variable of the setup token exist, and that is not a problem.
func TestGoodFile(t *testing.T) {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	got, warnings, err := Load(Options{Families: claude, Path: "testdata/good.toml", Env: []string{
		"HOME=/home/u", "GATEWAY_HOST=fd00::0:1", "SUBDOMAIN=api", "GATEWAY_KEY=\tsk-gateway\n", "TEAM=dev:t1-of-sixteen-ch, ci:t:2-of-sixteen-c", "BOSS=root:t3-of-sixteen-ch",
		"READ_KEY=0123456789abcdef0123456789abcdef", "WRITE_KEY=fedcba9876543210fedcba9876543210",
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range warnings {
		if w.Key != "server.admin.tokens_file" { // TOK-8b: a checkout has whatever modes it has
			t.Errorf("warning: %v", w)
		}
	}
	want := &Config{
		Path: "testdata/good.toml",
		Server: Server{
			Bind:                  netip.MustParseAddrPort("[::1]:8080"),
			DefaultProviders:      []string{"claude", "openai"},
			CommitAfter:           7 * time.Second,
			MaxConcurrentRequests: 1000,
			Transport:             TransportNetHTTP,
			AllowedHosts:          []string{"shunt.home.arpa", "192.168.1.5", "fd00::1"},
			ShutdownTimeout:       5 * time.Second,
			Limits:                Limits{MaxRequestBytes: 1 << 20, MaxRequestHeaderBytes: 4096, MaxURLLength: 1024},
			Timeouts:              Timeouts{UpstreamTTFB: 1500 * time.Millisecond, ReadHeader: 2 * time.Second, ReadIdle: 3 * time.Second, WriteStall: 4 * time.Second, UpstreamIdle: 4 * time.Second},
			Pool: Pool{
				Present:           true,
				HardThreshold:     0.95,
				Thresholds:        Fractions{All: ptr(0.9), Windows: map[string]float64{"5h": 0.8, "7d": 0.0, "fable": 1.0}},
				MaxUtilization:    Fractions{All: ptr(0.99), Windows: map[string]float64{"5h": 0.98, "7d": 0.97, "fable": 0.96}},
				BurnRateAvoidance: true,
				ReturnHome:        ReturnWhenCold,
				CacheTTL:          time.Hour,
				UsageRefresh:      5 * time.Minute,
				StatePath:         filepath.Join(dir, "state", "quota.json"),

				RampInitialConcurrency: 2,
			},
			Access: Access{
				Allow:             []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.168.0.0/16")},
				Deny:              []netip.Prefix{netip.MustParsePrefix("fd00::/8")},
				TrustForwardedFor: true,
				TrustedProxies:    []netip.Prefix{netip.MustParsePrefix("10.1.2.0/24"), netip.MustParsePrefix("172.16.0.0/12")},
			},
			Clients: Clients{Present: true, Header: "x-team-token", TokensEnv: "TEAM", Tokens: []Token{{"dev", secret.New("t1-of-sixteen-ch")}, {"ci", secret.New("t:2-of-sixteen-c")}}},
			Admin: Admin{
				Present: true, Header: "x-boss-token", TokensEnv: "BOSS", TokensFile: filepath.Join(dir, "pairs.txt"),
				Tokens:     []Token{{"root", secret.New("t3-of-sixteen-ch")}, {"ann", secret.New("hush-3-hush-hush")}, {"ben", secret.New("hush-4-hush-hush")}},
				ReadKeys:   []Token{{"wall", secret.New("0123456789abcdef0123456789abcdef")}},
				WriteKeys:  []Token{{"deploy", secret.New("fedcba9876543210fedcba9876543210")}},
				SessionTTL: time.Minute, PendingTTL: 30 * time.Second,
			},
			OpenAIEndpoint: OpenAIEndpoint{Present: true, Providers: []string{"openai"}},
			Usage:          true, OAuthUsage: true,
			Metrics: Metrics{Present: true, Bind: netip.MustParseAddrPort("0.0.0.0:9464")},
		},
		Providers: []Provider{
			{
				Name: "anthropic", Kind: Anthropic, Auth: Passthrough, APIKeyHeader: Bearer,
				BaseURL: &url.URL{Scheme: "https", Host: "api.anthropic.com"},
			},
			{
				Name: "claude", Kind: Anthropic, Auth: claudeOAuth, Family: "claude", APIKeyHeader: Bearer,
				BaseURL: &url.URL{Scheme: "https", Host: "api.anthropic.com"},
				Accounts: []Account{
					{
						Name: "store-entry", UUID: "0f3c9a52-7a35-4c26-9e0e-9b8d2f1f6a11", OrganizationUUID: "org-1", Priority: -5, Disabled: true,
						Thresholds:     Fractions{All: ptr(0.5), Windows: map[string]float64{"5h": 1.0, "7d": 0.0, "fable": 0.99}},
						MaxUtilization: Fractions{All: ptr(0.9), Windows: map[string]float64{"5h": 0.8, "7d": 0.7, "fable": 0.6}},
					},
					{Name: "relative", Priority: 100, Credentials: filepath.Join(dir, "accounts", "one.json")},
					{Name: "home", Priority: 100, Credentials: "/home/u/.claude/.credentials.json"},
					{Name: "setup-token", Priority: 100, TokenEnv: "CLAUDE_TOKEN", UUID: "1"},
				},
			},
			{
				Name: "my_gateway-2", Kind: Anthropic, Auth: APIKey, APIKeyEnv: "GATEWAY_KEY", APIKey: secret.New("sk-gateway"), APIKeyHeader: XAPIKey,
				BaseURL: &url.URL{Scheme: "https", Host: "gateway.internal:8443", Path: "/api"},
			},
			{
				Name: "openai", Kind: Responses, Auth: None, APIKeyHeader: Bearer,
				BaseURL: &url.URL{Scheme: "https", Host: "gateway.internal", Path: "/v1"},
				Headers: []Header{{"User-Agent", secret.New("shunt")}, {"X-Team", secret.New("shunt api")}},
			},
		},
		ModelMaps: []ModelMap{{"openai", []ModelName{{"claude-*", "gpt-5.5"}}}},
		Log:       Log{Level: slog.LevelDebug, Format: FormatJSON, Requests: "/var/log/shunt/requests.jsonl"},
		OTel:      OTel{Present: true, Endpoint: &url.URL{Scheme: "https", Host: "traces.example", Path: "/otlp"}, ServiceName: "gateway", SampleRatio: 0.25},
	}
	if diff := cmp.Diff(want, got, equal); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// CFG-1, CFG-11: without a file, there are the built-in defaults and the provider anthropic.
func TestDefaults(t *testing.T) {
	got, warnings, err := Load(Options{Families: claude})
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	want := &Config{
		Server: Server{
			Bind:                  netip.MustParseAddrPort("127.0.0.1:3001"),
			DefaultProviders:      []string{"anthropic"},
			SSEKeepalive:          15 * time.Second,
			CommitAfter:           20 * time.Second,
			MaxConcurrentRequests: 1024,
			Transport:             TransportHTTP1,
			AllowedHosts:          []string{},
			ShutdownTimeout:       30 * time.Second,
			Limits:                Limits{MaxRequestBytes: 33554432, MaxRequestHeaderBytes: 65536, MaxURLLength: 8192},
			Timeouts: Timeouts{
				UpstreamTTFB: 2 * time.Minute, UpstreamTTFBNonstream: 10 * time.Minute,
				ReadHeader: 10 * time.Second, ReadIdle: time.Minute, WriteStall: 5 * time.Minute, UpstreamIdle: 5 * time.Minute,
			},
			Pool:    Pool{HardThreshold: 0.98, ReturnHome: ReturnAlways, CacheTTL: 5 * time.Minute},
			Access:  Access{Allow: []netip.Prefix{}, Deny: []netip.Prefix{}, TrustedProxies: []netip.Prefix{}},
			Clients: Clients{Header: "x-shunt-token", TokensEnv: "SHUNT_CLIENT_TOKENS"},
			Admin:   Admin{Header: "x-shunt-admin-token", TokensEnv: "SHUNT_ADMIN_TOKENS", SessionTTL: time.Hour, PendingTTL: 10 * time.Minute},
		},
		Providers: []Provider{{
			Name: "anthropic", Kind: Anthropic, Auth: Passthrough, APIKeyHeader: Bearer,
			BaseURL: &url.URL{Scheme: "https", Host: "api.anthropic.com"},
		}},
		Log:  Log{Level: slog.LevelInfo, Format: FormatAuto},
		OTel: OTel{ServiceName: "shunt", SampleRatio: 1},
	}
	if diff := cmp.Diff(want, got, equal); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// CFG-11: a file that sets some keys of the built-in provider keeps the others.
func TestBuiltInKeepsItsOtherKeys(t *testing.T) {
	p, ok := mustLoad(t, "[providers.anthropic]\nauth = 'claude_oauth'").Provider("anthropic")
	if !ok || p.Auth != claudeOAuth || p.BaseURL.String() != "https://api.anthropic.com" || p.Accounts != nil {
		t.Errorf("anthropic = %+v", p)
	}
}

// CFG-2: a file may begin with a byte order mark, end its lines with CR LF, and use any TOML syntax for tables.
func TestWaysToWrite(t *testing.T) {
	want := mustLoad(t, "[providers.a]\nbase_url = 'https://api.anthropic.com'\nauth = 'claude_oauth'\n[[providers.a.accounts]]\nname = 'x'\nthreshold = 0.5")
	for name, content := range map[string]string{
		"byte order mark": "\ufeff[providers.a]\nbase_url = 'https://api.anthropic.com'\nauth = 'claude_oauth'\naccounts = [{name = 'x', threshold = 0.5}]",
		"CR LF":           "[providers.a]\r\nbase_url = 'https://api.anthropic.com'\r\nauth = 'claude_oauth'\r\n[[providers.a.accounts]]\r\nname = 'x'\r\nthreshold = 0.5\r\n",
		"dotted":          "providers.a.auth = 'claude_oauth'\nproviders.a.'base_url' = 'https://api.anthropic.com'\nproviders.a.accounts = [{threshold = 0.5, name = 'x'}]",
		"inline":          "providers = { a = { auth = 'claude_oauth', accounts = [{ threshold = 5e-1, name = 'x' }], base_url = 'https://api.anthropic.com' } }",
		"list first":      "[[providers.a.accounts]]\nname = 'x'\nthreshold = 0.5\n[providers.a]\nbase_url = 'https://api.anthropic.com'\nauth = 'claude_oauth'",
	} {
		got := mustLoad(t, content)
		if diff := cmp.Diff(want, got, equal, cmpopts.IgnoreFields(Config{}, "Path")); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// SEL-10, CFG-3: [server.pool] is present if the file or the environment names it, and only then.
func TestPoolTableIsPresent(t *testing.T) {
	for content, present := range map[string]bool{
		"": false, "[server]\n[server.limits]": false, "[server.pool]": true, "server.pool = {}": true, "[server.pool]\nhard_threshold = 0.98": true,
	} {
		want := Pool{Present: present, HardThreshold: 0.98, ReturnHome: ReturnAlways, CacheTTL: 5 * time.Minute}
		if diff := cmp.Diff(want, mustLoad(t, content).Server.Pool); diff != "" {
			t.Errorf("%q: -want +got:\n%s", content, diff)
		}
	}
	if got := mustLoad(t, "", "SHUNT_SERVER__POOL__RAMP_INITIAL_CONCURRENCY=3").Server.Pool; !got.Present || got.RampInitialConcurrency != 3 {
		t.Errorf("by the environment: %+v", got)
	}
}

// QUO-20: absent or 0 is off, and the shortest interval is a minute.
func TestUsageRefresh(t *testing.T) {
	for written, want := range map[string]time.Duration{
		"0": 0, "1": time.Minute, "59": time.Minute, "60": time.Minute, "61": 61 * time.Second, "86400": 24 * time.Hour,
	} {
		if got := mustLoad(t, "[server.pool]\nusage_refresh_seconds = "+written).Server.Pool.UsageRefresh; got != want {
			t.Errorf("%s: %v, want %v", written, got, want)
		}
	}
}

// The starter file loads as it is, on any machine; with its settings uncommented, it loads too.
func TestStarter(t *testing.T) {
	config := mustLoad(t, string(Starter()))
	if p, _ := config.Provider(config.Server.DefaultProviders[0]); !p.Pool() {
		t.Errorf("the starter file's provider is %+v, want a pool", p)
	}
	var uncommented strings.Builder
	for line := range strings.Lines(string(Starter())) {
		if rest, ok := strings.CutPrefix(line, "#"); ok && !strings.HasPrefix(rest, " ") {
			line = rest
		}
		uncommented.WriteString(line)
	}
	common, backends, _ := strings.Cut(uncommented.String(), "\n# A pool: ")
	pool, upstreams, _ := strings.Cut(backends, "\n# Instead of ")
	config = mustLoad(t, common+"\n# "+pool, "HOME=/home/u")
	if p, _ := config.Provider("anthropic"); len(p.Accounts) != 4 {
		t.Errorf("the starter file has %d accounts", len(p.Accounts))
	}
	config = mustLoad(t, common+"\n# "+upstreams, "HOME=/home/u", "ANTHROPIC_API_KEY=key")
	if len(config.Providers) != 3 || len(config.Route("claude-opus-4-5", config.Server.DefaultProviders)) != 1 || len(config.Route("claude-sonnet-4-5", config.Server.DefaultProviders)) != 2 {
		t.Errorf("the starter file's upstreams are %+v with the models %+v", config.Providers, config.Models)
	}
}

// CFG-5: a configuration never prints a secret.
func TestConfigHidesSecrets(t *testing.T) {
	config := mustLoad(t, "[providers.a]\nbase_url = 'https://a.example'\nauth = 'api_key'\napi_key_env = 'KEY'", "KEY=hush")
	p, _ := config.Provider("a")
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("loaded", "provider", p)
	if p.APIKey.Reveal() != "hush" || strings.Contains(log.String(), "hush") {
		t.Errorf("key %v in %s", p.APIKey, log.String())
	}
}
