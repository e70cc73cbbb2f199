package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

const environFile = `
[server]
sse_keepalive_seconds = 1
[providers.claude]
base_url = "https://api.anthropic.com"
auth = "claude_oauth"
[[providers.claude.accounts]]
name = "a"
[providers.my-gateway]
base_url = "https://gateway.example"
[providers.a-b]
base_url = "https://gateway.example"
[providers.a_b]
base_url = "https://gateway.example"
`

// CFG-3: the environment overrides the file, and the file the defaults. Only the file has references (CFG-4).
func TestEnvironment(t *testing.T) {
	working, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	config := mustLoad(
		t, environFile,
		"SHUNT_SERVER__BIND=127.0.0.1:0",
		"SHUNT_SERVER__SSE_KEEPALIVE_SECONDS=7",
		"SHUNT_SERVER__LIMITS__MAX_URL_LENGTH=9",
		"SHUNT_SERVER__DEFAULT_PROVIDER=claude",
		"SHUNT_PROVIDERS__ANTHROPIC__BASE_URL=http://127.0.0.1:9/x",
		"SHUNT_PROVIDERS__MY_GATEWAY__API_KEY_HEADER=x_api_key",
		"SHUNT_LOG__REQUESTS=${HOME}.jsonl",
		"SHUNT_CLAUDE_ACCOUNTS_DIR=/not/configuration",
		"SHUNT_OTHER__KEY=not configuration either",
		"OTHER_SERVER__BIND=not configuration at all",
	)
	s := config.Server
	if s.Bind.Port() != 0 || s.SSEKeepalive != 7*time.Second || s.Limits.MaxURLLength != 9 || s.DefaultProviders[0] != "claude" {
		t.Errorf("server = %+v", s)
	}
	if p, _ := config.Provider("anthropic"); p.BaseURL.String() != "http://127.0.0.1:9/x" {
		t.Errorf("base_url = %v", p.BaseURL)
	}
	if p, _ := config.Provider("my-gateway"); p.APIKeyHeader != XAPIKey {
		t.Errorf("api_key_header = %v", p.APIKeyHeader)
	}
	if want := filepath.Join(working, "${HOME}.jsonl"); config.Log.Requests != want {
		t.Errorf("requests = %s, want %s", config.Log.Requests, want)
	}
}

// CFG-3: a variable that has the form of a key but matches none, or has a wrong value, is an error that does not show the value.
func TestBadEnvironment(t *testing.T) {
	for _, c := range []struct{ variable, want string }{
		{"SHUNT_SERVER__BNID=hush", "SHUNT_SERVER__BNID: unknown key; did you mean SHUNT_SERVER__BIND?"},
		{"SHUNT_server__bind=hush", "SHUNT_server__bind: unknown key; did you mean SHUNT_SERVER__BIND?"},
		{"SHUNT_SERVER__TLS__HEADER=hush", "SHUNT_SERVER__TLS__HEADER: unknown key; a variable can set only a key that the reference lists, in a table that is built in or in the file"},
		{"SHUNT_PROVIDERS__OTHER__BASE_URL=hush", "SHUNT_PROVIDERS__OTHER__BASE_URL: unknown key; a variable can set only a key that the reference lists, in a table that is built in or in the file"},
		{"SHUNT_PROVIDERS__CLAUD__BASE_URL=hush", "SHUNT_PROVIDERS__CLAUD__BASE_URL: unknown key; did you mean SHUNT_PROVIDERS__CLAUDE__BASE_URL?"},
		{"SHUNT_PROVIDERS__A_B__AUTH=hush", "SHUNT_PROVIDERS__A_B__AUTH: could set the key of more than one table; rename one of them or set the key in the file"},
		{"SHUNT_SERVER__ALLOWED_HOSTS=hush", "SHUNT_SERVER__ALLOWED_HOSTS: server.allowed_hosts is a list, which only the file can set"},
		{"SHUNT_PROVIDERS__CLAUDE__ACCOUNTS=hush", "SHUNT_PROVIDERS__CLAUDE__ACCOUNTS: providers.claude.accounts is a list, which only the file can set"},
		{"SHUNT_PROVIDERS__CLAUDE__ACCOUNTS__0__NAME=hush", "SHUNT_PROVIDERS__CLAUDE__ACCOUNTS__0__NAME: providers.claude.accounts is a list, which only the file can set"},
		{"SHUNT_LOG__LEVEL=hush", `SHUNT_LOG__LEVEL: must be "debug", "info", "warn" or "error"`},
		{"SHUNT_LOG__LEVEL=", `SHUNT_LOG__LEVEL: must be "debug", "info", "warn" or "error"`},
		{"SHUNT_SERVER__SHUTDOWN_TIMEOUT_SECONDS=hush", "SHUNT_SERVER__SHUTDOWN_TIMEOUT_SECONDS: must be a whole number from 0 to 31536000 (seconds)"},
		{"SHUNT_SERVER__SHUTDOWN_TIMEOUT_SECONDS=030", "SHUNT_SERVER__SHUTDOWN_TIMEOUT_SECONDS: must be a whole number from 0 to 31536000 (seconds)"},
		{"SHUNT_SERVER__SHUTDOWN_TIMEOUT_SECONDS=3\nother = 4", "SHUNT_SERVER__SHUTDOWN_TIMEOUT_SECONDS: must be a whole number from 0 to 31536000 (seconds)"},
		{"SHUNT_SERVER__SHUTDOWN_TIMEOUT_SECONDS='3'", "SHUNT_SERVER__SHUTDOWN_TIMEOUT_SECONDS: is a string; it must be a whole number from 0 to 31536000 (seconds)"},
		{"SHUNT_SERVER__DEFAULT_PROVIDER=clade", `SHUNT_SERVER__DEFAULT_PROVIDER: names a provider that does not exist; did you mean "claude"?`},
		{"SHUNT_PROVIDERS__MY_GATEWAY__AUTH=api_key", `SHUNT_PROVIDERS__MY_GATEWAY__AUTH: "api_key" needs api_key_env, the name of the environment variable that holds the key`},
		{"SHUNT_PROVIDERS__CLAUDE__BASE_URL=https://hush.example", `SHUNT_PROVIDERS__CLAUDE__BASE_URL: must name anthropic.com, a subdomain of it or a loopback host, because auth = "claude_oauth" sends account credentials there`},
	} {
		_, _, err := Load(Options{Families: claude, Path: write(t, environFile), Env: []string{c.variable}})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.variable, err, c.want)
		}
	}
}

// CFG-2, CFG-3: the problems of the environment follow those of the file, by name.
func TestEnvironmentComesLast(t *testing.T) {
	file := write(t, "[server]\nmax_concurrent_requests = -1\nbind = 3")
	_, _, err := Load(Options{Families: claude, Path: file, Env: []string{"SHUNT_SERVER__BNID=1", "SHUNT_LOG__LEVEL=x", "SHUNT_SERVER__BIND=127.0.0.1:1"}})
	want := file + `:2: server.max_concurrent_requests: must be a whole number from 0 to 2147483647
` + file + `:3: server.bind: is a whole number; it must be an IP address and a port, such as "127.0.0.1:3001" or "[::1]:3001"; host names are not resolved
SHUNT_LOG__LEVEL: must be "debug", "info", "warn" or "error"
SHUNT_SERVER__BNID: unknown key; did you mean SHUNT_SERVER__BIND?`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
