package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/chatgpt"
	"shunt/internal/sim/script"
)

// serve starts a simulated provider, and returns its origin.
func serve(t *testing.T, p http.Handler) string {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return server.URL
}

// startChatGPT starts a provider of ChatGPT accounts, and returns its base URL and the directory with their logins.
func startChatGPT(t *testing.T, names ...string) (p *chatgpt.Provider, base, dir string) {
	t.Helper()
	config := chatgpt.Config{RateLimitEvent: true}
	for _, name := range names {
		config.Accounts = append(config.Accounts, chatgpt.Account{Name: name})
	}
	p = chatgpt.New(config)
	dir = t.TempDir()
	for _, name := range names {
		writeFile(t, filepath.Join(dir, name+".json"), p.Credentials(name))
	}
	return p, serve(t, p) + chatgpt.BasePath, dir
}

// chatgptPool configures a pool of ChatGPT accounts named chatgpt, which serves Codex.
func chatgptPool(base string) string {
	return fmt.Sprintf("[server.openai_endpoint]\nprovider = \"chatgpt\"\n[providers.chatgpt]\nkind = \"responses\"\nauth = \"chatgpt_oauth\"\nbase_url = %q\n"+
		"[model_map.chatgpt]\n\"claude-*\" = \"gpt-5.5\"\n", base)
}

// inferences returns the accounts of the requests for inference, in order, with their statuses.
func inferences(p *chatgpt.Provider) (served []string) {
	for _, r := range p.RequestsTo(chatgpt.ResponsesPath) {
		served = append(served, fmt.Sprint(r.Account, " ", r.Status))
	}
	return served
}

// shellCall is a call of Codex's tool for commands.
func shellCall(command string) script.Call {
	input, err := json.Marshal(map[string]string{"cmd": command})
	if err != nil {
		panic(err) // a string
	}
	return script.Call{Name: "exec_command", Input: string(input)}
}

// GPT-7, GPT-10: Codex runs a command on a pool of three ChatGPT accounts. The account that serves it is exhausted in the middle:
// Codex does not notice.
func TestCodexOnChatGPT(t *testing.T) {
	p, base, dir := startChatGPT(t, "a", "b", "c")
	claude := startProvider(t, sim.Config{Accounts: subscriptions("x")})
	g := startConfigured(t, claude, newStore(t, claude, "x"), chatgptPool(base), "SHUNT_CODEX_ACCOUNTS_DIR="+dir, "SHUNT_SERVER__DEFAULT_PROVIDER=chatgpt")
	user := newCodex(t, g.url+"/v1", "any", codexModel)

	p.Script(script.Calls(shellCall("echo forty-$((40+2))")).WithCached(0), script.Text("the command said it"))
	first := user.prompt(t, "run the command")
	if first.failure != "" || first.last() != "the command said it" || len(first.commands) != 1 || !strings.Contains(first.commands[0], "forty-42") {
		t.Fatalf("%+v", first)
	}
	home := strings.Fields(inferences(p)[0])[0]
	p.Fill(home, chatgpt.Primary, 1)
	p.Script(script.Calls(shellCall("echo again")), script.Text("done on another account"))
	second := user.followUp(t, "and again")
	if second.failure != "" || second.last() != "done on another account" || len(second.commands) != 1 {
		t.Errorf("%+v", second)
	}
	served := inferences(p)
	if last := served[len(served)-1]; strings.HasPrefix(last, home) || !strings.HasSuffix(last, " 200") {
		t.Errorf("served by %v", served)
	}
	for _, r := range p.RequestsTo(chatgpt.ResponsesPath) {
		if r.Header.Get("Originator") == "" || strings.Contains(r.Header.Get("Authorization"), "any") {
			t.Errorf("%v", r.Header)
		}
	}
}

// GPT-12: when every account is exhausted, Codex shows when the first is back, after one request.
func TestCodexOnExhaustedPool(t *testing.T) {
	p, base, dir := startChatGPT(t, "a", "b")
	for _, name := range p.Accounts() {
		p.Fill(name, chatgpt.Primary, 1)
	}
	claude := startProvider(t, sim.Config{Accounts: subscriptions("x")})
	g := startConfigured(t, claude, newStore(t, claude, "x"), chatgptPool(base), "SHUNT_CODEX_ACCOUNTS_DIR="+dir, "SHUNT_SERVER__DEFAULT_PROVIDER=chatgpt")
	got := newCodex(t, g.url+"/v1", "any", codexModel).prompt(t, "say hi")
	if got.code == 0 || !strings.Contains(got.failure, "limit") {
		t.Errorf("%+v", got)
	}
	g.stop(t)
	if records := g.records(t); len(records) != 1 {
		t.Errorf("%d requests: %+v", len(records), records)
	}
}

// INB-1, INB-2: Codex runs a command on Claude accounts, and continues the conversation.
func TestCodexOnClaude(t *testing.T) {
	p := startProvider(t, sim.Config{Accounts: subscriptions("a", "b")})
	g := startConfigured(t, p, newStore(t, p, "a", "b"), fmt.Sprintf("[server.openai_endpoint]\nprovider = \"anthropic\"\n"+
		"[providers.anthropic]\nbase_url = %q\n%s\n[model_map.anthropic]\n\"gpt-*\" = %q\n", p.url, pool, model))
	user := newCodex(t, g.url+"/v1", "any", codexModel)
	p.Script(script.Calls(shellCall("echo forty-$((40+2))")), script.Text("Claude saw it"))
	first := user.prompt(t, "run the command")
	if first.failure != "" || first.last() != "Claude saw it" || len(first.commands) != 1 || !strings.Contains(first.commands[0], "forty-42") {
		t.Errorf("%+v", first)
	}
	second := user.followUp(t, "more")
	if second.failure != "" || second.last() == "" {
		t.Errorf("%+v", second)
	}
	served := p.served()
	if len(served) < 3 || served[0].Model != model || served[0].Account != served[len(served)-1].Account {
		t.Errorf("%d requests were served", len(served))
	}
}

// DIA-1, RSP-3: Claude Code runs a command on ChatGPT accounts, with its thinking shown, and its reasoning returns.
func TestClaudeCodeOnChatGPT(t *testing.T) {
	p, base, dir := startChatGPT(t, "a", "b")
	claude := startProvider(t, sim.Config{Accounts: subscriptions("x")})
	g := startConfigured(t, claude, newStore(t, claude, "x"), chatgptPool(base), "SHUNT_CODEX_ACCOUNTS_DIR="+dir, "SHUNT_SERVER__DEFAULT_PROVIDER=chatgpt")
	user := newClaude(t, g.url, clientToken)
	bash := script.Call{Name: "Bash", Input: `{"command":"echo forty-$((40+2))","description":"count"}`}
	thinking := script.Calls(bash)
	thinking.Reasoning = "I should run it"
	p.Script(thinking, script.Text("ChatGPT saw it"))
	got := user.prompt(t, "run the command", "--output-format", "stream-json", "--verbose", "--allowedTools=Bash")
	models, text := reported(t, got)
	if text != "ChatGPT saw it" || len(models) == 0 || models[0] != model {
		t.Errorf("models %v, text %q\n%s", models, text, got.stdout)
	}
	if !strings.Contains(got.stdout, "I should run it") || !strings.Contains(got.stdout, "forty-42") {
		t.Errorf("no thinking, or no output of the command:\n%s", got.stdout)
	}
	requests := p.RequestsTo(chatgpt.ResponsesPath)
	if len(requests) < 2 {
		t.Fatalf("%d requests", len(requests))
	}
	last := requests[len(requests)-1]
	if !strings.Contains(string(last.Body), "encrypted_content") || strings.Contains(string(last.Body), "shunt1_") || last.Header.Get("User-Agent") == "" {
		t.Errorf("the reasoning does not return: %s", last.Body)
	}
}

// CHN-1, FAM-3: when the Claude accounts run out of quota in the middle of a session, it continues on a ChatGPT account, and returns
// when they recover.
func TestClaudeCodeContinuesOnChatGPT(t *testing.T) {
	p, base, dir := startChatGPT(t, "a")
	anthropic := startProvider(t, sim.Config{Accounts: subscriptions("x", "y")})
	tables := fmt.Sprintf("[providers.anthropic]\nbase_url = %q\n%s\n", anthropic.url, pool) + chatgptPool(base)
	g := startServer(t, anthropic, newStore(t, anthropic, "x", "y"), `default_provider = ["anthropic", "chatgpt"]`, tables, "SHUNT_CODEX_ACCOUNTS_DIR="+dir)
	user := newClaude(t, g.url, clientToken)
	anthropic.shown(t, user.prompt(t, "say hi"))
	for _, name := range []string{"x", "y"} {
		anthropic.Inject(name, sim.Rejected(messages.FiveHour))
	}
	p.Script(script.Text("now on ChatGPT"))
	if got := user.followUp(t, "more"); got.code != 0 || got.stdout != "now on ChatGPT" {
		t.Errorf("%+v", got)
	}
	requests := p.RequestsTo(chatgpt.ResponsesPath)
	if len(requests) == 0 || !strings.Contains(string(requests[len(requests)-1].Body), "say hi") {
		t.Error("the conversation so far is missing")
	}
}
