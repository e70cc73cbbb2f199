package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

const (
	usersToken = "the-token-of-a-user-of-this-gateway"
	withTokens = "[server.auth]\n"
)

// recorder is a proxy in front of a gateway that counts inference requests and keeps the header of their latest response.
type recorder struct {
	url      string
	requests atomic.Int64
	header   atomic.Pointer[http.Header]
}

func record(t *testing.T, g *gateway) *recorder {
	t.Helper()
	target, err := url.Parse(g.url)
	if err != nil {
		t.Fatal(err)
	}
	w := &recorder{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.URL.Path == sim.MessagesPath {
				w.header.Store(&r.Header)
			}
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.URL.Path == sim.MessagesPath {
			w.requests.Add(1)
		}
		proxy.ServeHTTP(out, r)
	}))
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// pooled starts a provider with the accounts a and b, after an optional change, and a gateway that pools them.
func pooled(t *testing.T, tables string, change func(*provider), env ...string) *gateway {
	t.Helper()
	p := startProvider(t, sim.Config{Accounts: subscriptions("a", "b")})
	if change != nil {
		change(p)
	}
	return startConfigured(t, p, newStore(t, p, "a", "b"), fmt.Sprintf("[providers.anthropic]\nbase_url = %q\n%s\n%s", p.url, pool, tables), env...)
}

// toBoth injects a fault into both accounts.
func toBoth(f sim.Fault) func(*provider) {
	return func(p *provider) { p.Inject("a", f); p.Inject("b", f) }
}

// limited starts a pool whose account a is out of quota for half an hour and whose account b, a setup token from the environment,
// fails with f. The first account is tried first, because the window of the other is nearly used up.
func limited(t *testing.T, first string, f sim.Fault) *gateway {
	t.Helper()
	p := startProvider(t, sim.Config{Accounts: subscriptions("a", "b")})
	g := startConfigured(t, p, newStore(t, p, "a"), fmt.Sprintf("[providers.anthropic]\nbase_url = %q\n%s\n"+
		"[[providers.anthropic.accounts]]\nname = \"a\"\n[[providers.anthropic.accounts]]\nname = \"b\"\ntoken_env = \"TOKEN_OF_B\"\nuuid = %q\n", p.url, pool, p.UUID("b")),
		"TOKEN_OF_B="+p.SetupToken("b"))
	second := map[string]string{"a": "b", "b": "a"}[first]
	p.Fill(second, messages.FiveHour, 0.985)
	for i := 0; p.Counters(second).Requests == 0; i++ {
		g.send(t, fmt.Sprint("session-", i), model)
	}
	p.Inject("a", quotaHit(1800))
	p.Inject("b", f)
	return g
}

// When shunt itself rejects a request, Claude Code shows the cause and what to do, at once. It does not tell the user to log in to
// Claude Code, which would not help (ERR-3, FO-8b, ACC-5, CAP-4).
func TestGatewayErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		start func(t *testing.T) *gateway
		token string
		env   string // for Claude Code
		says  []string
		most  int64 // the largest number of requests
		quota bool  // the response's header reports the limit and its reset
	}{
		{
			name: "wrong token", // AUTH-2
			start: func(t *testing.T) *gateway {
				return pooled(t, withTokens, nil, "SHUNT_CLIENT_TOKENS=user:"+usersToken)
			},
			token: "not-the-token-of-anyone-here",
			says:  []string{"this gateway needs a token: set ANTHROPIC_AUTH_TOKEN to one that its operator gave you"},
			most:  1,
		},
		{
			name: "no account",
			start: func(t *testing.T) *gateway {
				p := startProvider(t, sim.Config{})
				return startGateway(t, p, newStore(t, p), pool)
			},
			says: []string{"anthropic", "no account", "shunt login claude"},
			most: 1,
		},
		{
			name: "all paused",
			start: func(t *testing.T) *gateway {
				g := pooled(t, "[server.admin]\n", nil, "SHUNT_ADMIN_TOKENS=ops:"+dashboardToken)
				g.pauseAll(t)
				return g
			},
			says: []string{"every account of provider 'anthropic' is paused", "shunt accounts resume"},
			most: 1,
		},
		{
			name: "login needed: 401", // FO-8b
			start: func(t *testing.T) *gateway {
				return pooled(t, "", func(p *provider) {
					toBoth(sim.Unauthorized())(p)
					toBoth(sim.InvalidGrant())(p)
				})
			},
			says: []string{"anthropic", "shunt login claude --name "},
			most: 1,
		},
		{
			name:  "login needed: 403", // FO-8b
			start: func(t *testing.T) *gateway { return pooled(t, "", toBoth(sim.CredentialForbidden())) },
			says:  []string{"anthropic", "shunt login claude --name "},
			most:  1,
		},
		{
			name: "capped", // CAP-4
			start: func(t *testing.T) *gateway {
				g := pooled(t, "[server.pool]\ndefault_max_utilization = 0.5\n", func(p *provider) {
					p.Fill("a", messages.FiveHour, 0.9)
					p.Fill("b", messages.FiveHour, 0.9)
				})
				for i := 0; g.send(t, fmt.Sprint("session-", i), model).StatusCode == http.StatusOK && i < 20; i++ {
				} // until both have reported their utilization
				return g
			},
			says: []string{"429", "max_utilization", "the first is back in"},
			most: 1,
		},
		{
			name: "out of quota, then 401", // FO-8, FO-8c, ERR-2b
			start: func(t *testing.T) *gateway {
				return limited(t, "a", sim.Failure(http.StatusUnauthorized, messages.TypeAuthentication, "Invalid bearer token"))
			},
			says:  []string{"429", quotaMessage(1800)},
			most:  1,
			quota: true,
		},
		{
			name: "out of quota, then 403", // FO-8, FO-8c, ERR-2b
			start: func(t *testing.T) *gateway {
				return limited(t, "a", sim.Failure(http.StatusForbidden, messages.TypePermission, "Request not allowed"))
			},
			says:  []string{"429", quotaMessage(1800)},
			most:  1,
			quota: true,
		},
		{
			name: "403, then out of quota", // FO-8, FO-8c
			start: func(t *testing.T) *gateway {
				return limited(t, "b", sim.Failure(http.StatusForbidden, messages.TypePermission, "Request not allowed"))
			},
			says:  []string{"429", quotaMessage(1800)},
			most:  1,
			quota: true,
		},
		{
			name: "address not allowed",
			start: func(t *testing.T) *gateway {
				return pooled(t, "[server.access_control]\nallow_cidrs = [\"192.0.2.0/24\"]\n", nil)
			},
			says: []string{"does not accept requests from your address"},
			most: 1,
		},
		{
			name:  "too large",
			start: func(t *testing.T) *gateway { return pooled(t, "[server.limits]\nmax_request_bytes = 10000\n", nil) },
			says:  []string{"too large"},
			most:  2,
		},
		{
			name: "upstream down", // FO-0b, FO-8
			start: func(t *testing.T) *gateway {
				p := startProvider(t, sim.Config{Accounts: subscriptions("a", "b")})
				g := &provider{p.Provider, "http://" + freeAddress(t), p.output}
				return startGateway(t, g, newStore(t, p, "a", "b"), pool)
			},
			env:  "CLAUDE_CODE_MAX_RETRIES=1",
			says: []string{"502", "2 accounts"},
			most: 2,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := record(t, c.start(t))
			token := c.token
			if token == "" {
				token = clientToken
			}
			user := newClaude(t, w.url, token)
			if c.env != "" {
				user.env = append(user.env, c.env)
			}
			got := user.prompt(t, "say hi")
			shown := got.stdout + got.stderr
			t.Logf("%d requests; exit code %d: %s", w.requests.Load(), got.code, shown)
			if got.code == 0 {
				t.Error("Claude Code reports success")
			}
			for _, words := range c.says {
				if !strings.Contains(shown, words) {
					t.Errorf("Claude Code does not show %q", words)
				}
			}
			if strings.Contains(shown, "/login") {
				t.Error("Claude Code shows /login")
			}
			if c.quota {
				h := *w.header.Load()
				after, err := strconv.Atoi(h.Get("Retry-After"))
				if err != nil || after < 1700 || after > 1800 || h.Get("Anthropic-Ratelimit-Unified-5h-Status") != "rejected" || h.Get("X-Shunt-Pool") != "exhausted" {
					t.Errorf("response header: %v", h)
				}
			}
			if n := w.requests.Load(); n == 0 || n > c.most {
				t.Errorf("%d requests, want at most %d", n, c.most)
			}
		})
	}
}

// admin sends a request to the admin API and returns the response's body.
func (g *gateway) admin(t *testing.T, method, path, body string) []byte {
	t.Helper()
	r, err := http.NewRequest(method, g.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Shunt-Admin-Token", dashboardToken)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %d %s (%v)", method, path, response.StatusCode, content, err)
	}
	return content
}

// send sends a short request for a session and returns the response, whose body it has read.
func (g *gateway) send(t *testing.T, session, model string) *http.Response {
	t.Helper()
	return g.post(t, session, fmt.Sprintf(`{"model":%q,"max_tokens":20,"messages":[{"role":"user","content":"hi"}]}`, model))
}

// post is like send, with another body.
func (g *gateway) post(t *testing.T, session, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+sim.MessagesPath, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Anthropic-Version", "2023-06-01")
	r.Header.Set("X-Claude-Code-Session-Id", session)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	return response
}

// pauseAll pauses every account (ADM-4, PAU-1).
func (g *gateway) pauseAll(t *testing.T) {
	t.Helper()
	var state struct {
		Providers []struct {
			Provider string
			Accounts []struct {
				Ref string `json:"account_ref"`
			}
		}
	}
	if err := json.Unmarshal(g.admin(t, http.MethodGet, "/admin/api/pool", ""), &state); err != nil {
		t.Fatal(err)
	}
	for _, p := range state.Providers {
		for _, a := range p.Accounts {
			g.admin(t, http.MethodPatch, "/admin/api/pool/"+p.Provider+"/accounts/"+url.PathEscape(a.Ref), `{"paused":true}`)
		}
	}
}
