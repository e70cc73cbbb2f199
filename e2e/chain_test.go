package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

// poolAndKey returns the configuration of two upstreams, the pool and then the paid key, with models.
func poolAndKey(p *provider, models ...string) string {
	toml := fmt.Sprintf(`
[[upstreams]]
name = "pool"
provider = "anthropic"
base_url = %q
auth = "claude_oauth"

[[upstreams]]
name = "paid"
provider = "anthropic"
base_url = %[1]q
auth = { mode = "api_key", env = "PAID_KEY", header = "x_api_key" }
`, p.url)
	return toml + strings.Join(models, "")
}

func mapped(id string, upstreams ...string) string {
	return fmt.Sprintf("[[models]]\nid = %q\n[models.upstream_model]\n%s\n", id, strings.Join(upstreams, "\n"))
}

// startChain starts a provider with accounts and a paid key, a gateway with both, and a user of the gateway.
func startChain(t *testing.T, models ...string) (*provider, *gateway, *claude) {
	t.Helper()
	p := startProvider(t, sim.Config{Accounts: append(subscriptions("a", "b"), paidAccount())})
	g := startConfigured(t, p, newStore(t, p, "a", "b"), poolAndKey(p, models...), "PAID_KEY="+paidKey, "SHUNT_SERVER__DEFAULT_PROVIDER=pool")
	return p, g, newClaude(t, g.url, clientToken)
}

// reported returns the models and the text that Claude Code reports for a turn in its JSON output.
func reported(t *testing.T, got turn) (models []string, text string) {
	t.Helper()
	for line := range strings.Lines(got.stdout) {
		var event struct {
			Type    string `json:"type"`
			Result  string `json:"result"`
			Message struct {
				Model string `json:"model"`
			} `json:"message"`
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		switch event.Type {
		case "assistant":
			models = append(models, event.Message.Model)
		case "result":
			text = event.Result
		}
	}
	return slices.Compact(models), text
}

// RTE-3, CHN-3: a model with the gateway's own name is served by the upstream that it is mapped to, and Claude Code sees that
// name only.
func TestMappedModel(t *testing.T) {
	p, _, user := startChain(t, mapped("house", `paid = "claude-opus-4-5"`))
	for _, requested := range []string{"house", "house[1m]"} { // Claude Code removes the suffix itself
		got := user.prompt(t, "say hi", "--model", requested, "--output-format", "stream-json", "--verbose")
		models, text := reported(t, got)
		served := p.served()
		last := served[len(served)-1]
		if last.Account != "key" || last.Model != "claude-opus-4-5" || text != p.expected(t, last.Body) {
			t.Errorf("%s: served as %s by %s, shows %q", requested, last.Model, last.Account, text)
		}
		if !slices.Equal(models, []string{"house"}) {
			t.Errorf("%s: Claude Code reports %v", requested, models)
		}
	}
	// Other models go to the default upstream.
	if last := p.shown(t, user.prompt(t, "say hi")); last.Account == "key" || last.Model != model {
		t.Errorf("%s by %s", last.Model, last.Account)
	}
}

// CHN-1, CHN-2: if an upstream does not have a model, the next one serves it. If none has it, Claude Code gets a 404: it sends
// the request once more, without a stream, and shows the user the chosen model.
func TestUnknownModel(t *testing.T) {
	p, _, user := startChain(t, mapped("house", `pool = "nonesuch"`, `paid = "claude-opus-4-5"`), mapped("nobody", `pool = "nonesuch"`, `paid = "nonesuch"`))
	if last := p.shown(t, user.prompt(t, "say hi", "--model", "house")); last.Account != "key" {
		t.Errorf("served by %s", last.Account)
	}
	before := len(p.messages())
	got := user.prompt(t, "say hi", "--model", "nobody")
	if got.code == 0 || !strings.Contains(got.stdout, "(nobody)") {
		t.Errorf("Claude Code: %+v", got)
	}
	var accounts []string
	for _, r := range p.messages()[before:] {
		accounts = append(accounts, r.Account)
	}
	if len(accounts) != 4 || accounts[1] != "key" || accounts[3] != "key" {
		t.Errorf("requests reached: %v", accounts)
	}
}

// CHN-1: a conversation moves to the paid key when the pool's quota is used up, and back once there is quota again.
func TestPoolExhausted(t *testing.T) {
	p, g, user := startChain(t, mapped(model, `pool = "`+model+`"`, `paid = "`+model+`"`))
	first := p.shown(t, user.prompt(t, "say hi"))
	if first.Account == "key" {
		t.Fatal("the key served first")
	}
	for _, account := range []string{"a", "b"} {
		p.Fill(account, messages.FiveHour, 1)
	}
	for _, prompt := range []string{"again", "and again"} {
		if next := p.shown(t, user.followUp(t, prompt)); next.Account != "key" || next.Session() != first.Session() || next.AccountUUID != "" {
			t.Errorf("served by %s in session %s, want session %s", next.Account, next.Session(), first.Session())
		}
	}
	for _, account := range []string{"a", "b"} {
		p.Fill(account, messages.FiveHour, 0)
	}
	if last := p.shown(t, user.followUp(t, "at last")); last.Account == "key" || last.Session() != first.Session() {
		t.Errorf("served by %s in session %s", last.Account, last.Session())
	}
	for _, r := range p.messages() {
		if credential := fmt.Sprint(r.Header["Authorization"], r.Header["X-Api-Key"]); strings.Contains(credential, clientToken) || (r.Account == "key") != strings.Contains(credential, paidKey) {
			t.Errorf("%s received credential %s", r.Account, credential)
		}
	}
	g.stop(t)
	var providers []string
	for _, r := range g.records(t) {
		providers = append(providers, r.Provider)
		if r.Status != http.StatusOK {
			t.Errorf("%+v", r)
		}
	}
	if got := strings.Join(providers, " "); got != "pool paid paid pool" {
		t.Errorf("served by %s", got)
	}
}
