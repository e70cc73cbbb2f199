package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"shunt/internal/sim"
	"shunt/internal/sim/chatgpt"
	"shunt/internal/sim/kimi"
	"shunt/internal/sim/simtest"
)

// credentialKinds are upstreams of every family and kind: their configuration, and the credential that is theirs.
var credentialKinds = []struct{ name, table string }{
	{"claude", "kind = \"anthropic\"\nauth = \"claude_oauth\""},
	{"chatgpt", "kind = \"responses\"\nauth = \"chatgpt_oauth\""},
	{"kimi", "kind = \"anthropic\"\nauth = \"kimi_oauth\""},
	{"responses", "kind = \"responses\"\nauth = \"api_key\"\napi_key_env = \"RESPONSES_KEY\""},
	{"chat", "kind = \"chat\"\nauth = \"api_key\"\napi_key_env = \"CHAT_KEY\""},
	{"none", "kind = \"chat\"\nauth = \"none\""},
	{"open", "kind = \"anthropic\"\nauth = \"passthrough\""},
}

// sight is what one upstream has seen.
type sight struct {
	mu      sync.Mutex
	headers []http.Header
}

func (s *sight) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.headers = append(s.headers, r.Header)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound) // so that the next upstream gets the request
	_, _ = w.Write([]byte(`{"error":{"type":"not_found_error","message":"no such model"}}`))
}

func (s *sight) take() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.headers
	s.headers = nil
	return seen
}

// FAM-1, CHN-4, WIRE-2: in every chain of two, an upstream sees its own credential and nobody else's, whatever the client speaks and
// presents. The operator's headers go where they belong.
func TestCredentialsOfVendors(t *testing.T) {
	for i, first := range credentialKinds {
		for j, second := range credentialKinds {
			if i == j {
				continue
			}
			t.Run(first.name+" "+second.name, func(t *testing.T) {
				c := chatgpt.New(chatgpt.Config{Accounts: []chatgpt.Account{{Name: "c"}}})
				k := kimi.New(kimi.Config{Accounts: []kimi.Account{{Name: "k"}}})
				sights := [2]*sight{{}, {}}
				toml := fmt.Sprintf("[server]\ndefault_provider = [%q, %q]\n[server.openai_endpoint]\nprovider = [%[1]q, %[2]q]\n", first.name, second.name)
				for n, kind := range []struct{ name, table string }{first, second} {
					toml += fmt.Sprintf("[providers.%s]\n%s\nbase_url = \"http://127.0.0.1:%d\"\n[providers.%[1]s.headers]\nx-for = %[1]q\n[model_map.%[1]s]\n\"*\" = \"gpt-5.5\"\n", kind.name, kind.table, 8501+n)
				}
				inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, toml, func(w *world) {
					own := map[string]string{
						"claude": w.Provider.Token("a"), "chatgpt": c.Token("c"), "kimi": k.Token("k"),
						"responses": "paid-key-responses", "chat": "paid-key-chat", "open": "the-clients-own",
					}
					for n := range speakers {
						client := &speakers[n]
						r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, simtest.GatewayURL+client.path, strings.NewReader(client.body("gpt-5.5", true, false)))
						w.Must(err)
						r.Header = http.Header{"Content-Type": {"application/json"}, "Anthropic-Version": {"2023-06-01"}, "Authorization": {"Bearer the-clients-own"}, "X-For": {"the-client"}}
						response, err := w.Client.Do(r)
						w.Must(err)
						response.Body.Close()
						for at, name := range []string{first.name, second.name} {
							seen := sights[at].take()
							if len(seen) == 0 {
								w.Errorf("%s: %s is not tried", client.Inbound.Name(), name)
							}
							for _, h := range seen {
								w.seesOnly(h, name, own, at)
							}
						}
					}
				}, func(w *world) {
					for n, s := range sights {
						w.Serve(fmt.Sprintf("127.0.0.1:%d", 8501+n), s)
					}
					w.Env = append(
						w.Env, "RESPONSES_KEY=paid-key-responses", "CHAT_KEY=paid-key-chat",
						"SHUNT_CODEX_ACCOUNTS_DIR="+stored(w, c.Credentials, "c"), "SHUNT_KIMI_ACCOUNTS_DIR="+stored(w, k.Credentials, "k"),
					)
				})
			})
		}
	}
}

// seesOnly checks the credentials in a header that an upstream got. The client's own goes to the first upstream of a chain only.
func (w *world) seesOnly(h http.Header, upstream string, own map[string]string, position int) {
	w.Helper()
	text := fmt.Sprint(h)
	for name, secret := range own {
		wanted := name == upstream && (name != "open" || position == 0)
		if strings.Contains(text, secret) != wanted {
			w.Errorf("%s at %d: the credential of %s is there: %v", upstream, position, name, !wanted)
		}
	}
	isShunts := h["Content-Type"] == nil // a request of shunt's own, as for the route of an account
	if got := h["X-For"]; !isShunts && (len(got) != 1 || got[0] != upstream) {
		w.Errorf("FAM-4: %s gets x-for: %q", upstream, got)
	}
}
