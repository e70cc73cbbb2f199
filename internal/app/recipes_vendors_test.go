package app_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/chatgpt"
	"shunt/internal/sim/engine"
	"shunt/internal/sim/keyed"
	"shunt/internal/sim/kimi"
	"shunt/internal/sim/simtest"
)

// vendors are the simulated providers besides Claude.
type vendors struct {
	chatgpt *chatgpt.Provider
	kimi    *kimi.Provider
	openai  *keyed.Provider // of keys
	house   *keyed.Provider
	local   *keyed.Provider
}

// inVendors runs a test in a recipe whose upstreams are led to simulated providers of their vendors.
func inVendors(t *testing.T, toml string, test func(w *world, v *vendors)) {
	t.Helper()
	v := new(vendors)
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, toml, func(w *world) { test(w, v) }, func(w *world) {
		v.chatgpt = chatgpt.New(chatgpt.Config{Accounts: []chatgpt.Account{{Name: "one"}, {Name: "two"}}})
		v.kimi = kimi.New(kimi.Config{Accounts: []kimi.Account{{Name: "k"}}})
		v.openai = keyed.New(keyed.Config{Keys: map[string]string{"openai": "paid-key-openai"}})
		v.house = keyed.New(keyed.Config{Keys: map[string]string{"house": "paid-key-house"}})
		v.local = keyed.New(keyed.Config{Open: true})
		for upstream, p := range map[string]struct {
			address, base string
			handler       http.Handler
		}{
			"chatgpt": {"127.0.0.1:8301", chatgpt.BasePath, v.chatgpt}, "kimi": {"127.0.0.1:8302", kimi.BasePath, v.kimi},
			"openai": {"127.0.0.1:8303", "/v1", v.openai}, "in_house": {"127.0.0.1:8304", "/v1", v.house}, "local": {"127.0.0.1:8305", "/v1", v.local},
		} {
			w.Serve(p.address, p.handler)
			if strings.Contains(toml, `name = "`+strings.ReplaceAll(upstream, "_", "-")+`"`) {
				w.Env = append(w.Env, fmt.Sprintf("SHUNT_UPSTREAMS__%s__BASE_URL=http://%s%s", strings.ToUpper(upstream), p.address, p.base))
			}
		}
		if strings.Contains(toml, `name = "claude"`) {
			w.Env = append(w.Env, "SHUNT_UPSTREAMS__CLAUDE__BASE_URL="+simtest.ProviderURL)
		}
		w.Env = append(w.Env, recipeKeys...)
		w.Env = append(w.Env, "SHUNT_CODEX_ACCOUNTS_DIR="+stored(w, v.chatgpt.Credentials, "one", "two"), "SHUNT_KIMI_ACCOUNTS_DIR="+stored(w, v.kimi.Credentials, "k"))
	})
}

// stored writes the logins of a provider's accounts to an account store, and returns its directory.
func stored(w *world, credentials func(account string) []byte, accounts ...string) string {
	dir := w.TempDir()
	for _, name := range accounts {
		w.Must(os.WriteFile(filepath.Join(dir, name+".json"), credentials(name), 0o600))
	}
	return dir
}

// say sends a request of a client, and returns the upstream that served it.
func (w *world) say(path, session, body string) string {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, simtest.GatewayURL+path, strings.NewReader(body))
	w.Must(err)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer the-clients-own"}, "Session-Id": {session}, "X-Claude-Code-Session-Id": {session}, "Anthropic-Version": {"2023-06-01"}}
	response, err := w.Client.Do(r)
	w.Must(err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		w.Errorf("%s: status %d: %s", path, response.StatusCode, text)
	}
	return response.Header.Get("X-Gateway-Upstream") + "/" + response.Header.Get("X-Gateway-Upstream-Model")
}

const (
	askClaude = `{"model":"claude-opus-4-5","max_tokens":100,"messages":[{"role":"user","content":"hi"}]}`
	askHaiku  = `{"model":"claude-haiku-4-5","max_tokens":100,"messages":[{"role":"user","content":"hi"}]}`
	askCodex  = `{"model":"gpt-5.5","stream":true,"store":false,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}`
	askChat   = `{"model":"gpt-5.5","messages":[{"role":"user","content":"hi"}]}`
)

func codexPool(t *testing.T, toml string) {
	inVendors(t, toml, func(w *world, v *vendors) {
		w.Want("codex", w.say("/v1/responses", "s", askCodex), "chatgpt/gpt-5.5")
		w.Want("chat", w.say("/v1/chat/completions", "s", askChat), "chatgpt/gpt-5.5")
		w.Want("claude", w.say("/v1/messages", "s", askClaude), "chatgpt/gpt-5.5")
		w.Want("haiku", w.say("/v1/messages", "s", askHaiku), "chatgpt/gpt-5.5-mini")
		v.chatgpt.Fill("one", chatgpt.Primary, 1)
		w.Want("on the other account", w.say("/v1/responses", "s", askCodex), "chatgpt/gpt-5.5")
	})
}

func claudeThenChatGPT(t *testing.T, toml string) {
	inVendors(t, toml, func(w *world, v *vendors) {
		w.Want("claude", w.say("/v1/messages", "s", askClaude), "claude/claude-opus-4-5")
		w.Want("codex", w.say("/v1/responses", "s", askCodex), "chatgpt/gpt-5.5")
		w.Provider.Inject("a", sim.Rejected(messages.FiveHour))
		w.Want("without claude", w.say("/v1/messages", "s", askClaude), "chatgpt/gpt-5.5")
		for _, account := range v.chatgpt.Accounts() {
			v.chatgpt.Fill(account, chatgpt.Primary, 1)
		}
		w.Want("without chatgpt", w.say("/v1/messages", "s", askClaude), "kimi/kimi-for-coding")
		w.Provider.Clear("a")
	})
	inVendors(t, toml, func(w *world, v *vendors) {
		for _, account := range v.chatgpt.Accounts() {
			v.chatgpt.Fill(account, chatgpt.Primary, 1)
		}
		w.Want("codex without chatgpt", w.say("/v1/responses", "s", askCodex), "claude/claude-opus-4-5")
	})
}

func keysOfOtherVendors(t *testing.T, toml string) {
	inVendors(t, toml, func(w *world, v *vendors) {
		w.Want("codex", w.say("/v1/responses", "s", askCodex), "openai/gpt-5.5")
		w.Want("local", w.say("/v1/messages", "s", strings.Replace(askClaude, "claude-opus-4-5", "qwen3", 1)), "local/qwen3")
		house := strings.Replace(askChat, "gpt-5.5", "house", 1)
		w.Want("house", w.say("/v1/chat/completions", "s", house), "in-house/qwen3-coder-480b")
		v.house.Inject("house", engine.ResetConnection())
		w.Want("when that is down", w.say("/v1/chat/completions", "s", house), "openai/gpt-5.5")
		requests := v.house.Requests()
		last := requests[len(requests)-1]
		w.Want("its header", last.Header.Get("X-Team"), "platform")
		w.Want("its key", last.Header.Get("Authorization"), "Bearer paid-key-house")
	})
}
