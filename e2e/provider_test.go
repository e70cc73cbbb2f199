package e2e

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"shunt/internal/sim"
)

// provider is the simulated provider on a port of its own.
type provider struct {
	*sim.Provider
	url    string
	output sim.Range // the length of its answers
}

func startProvider(t *testing.T, config sim.Config) *provider {
	t.Helper()
	config.Seed, config.RecordBodies = 1, true
	p := sim.New(config)
	server, err := sim.Start(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return &provider{p, server.URL, config.Output}
}

// paidKey is a provider's account that is no subscription, with its key.
const paidKey = "sk-ant-api03-simulated"

func payingAccount() sim.Account { return sim.Account{Name: "key", APIKey: paidKey} }

// messages are the requests for inference that have come so far.
func (p *provider) messages() (list []sim.Request) {
	for _, r := range p.Requests() {
		if strings.HasPrefix(r.Path, sim.MessagesPath+"?") || r.Path == sim.MessagesPath {
			list = append(list, r)
		}
	}
	return list
}

// served are those that were answered to the end with 200.
func (p *provider) served() (list []sim.Request) {
	for _, r := range p.messages() {
		if r.Status == http.StatusOK && r.Outcome == sim.Complete {
			list = append(list, r)
		}
	}
	return list
}

// answered checks that Claude Code showed exactly the answer to the last request that was served, and nothing else. It
// returns that request.
func (p *provider) answered(t *testing.T, got turn) sim.Request {
	t.Helper()
	served := p.served()
	if len(served) == 0 {
		t.Fatalf("nothing was served; Claude Code: %+v", got)
	}
	last := served[len(served)-1]
	if got.code != 0 || got.stderr != "" {
		t.Errorf("Claude Code exited with %d, stderr %q", got.code, got.stderr)
	}
	if want := p.expected(t, last.Body); got.stdout != want {
		t.Errorf("Claude Code shows\n%s\nwant\n%s", got.stdout, want)
	}
	return last
}

// expected is the text that the provider answers to a body, whoever asks: a twin of it is asked.
func (p *provider) expected(t *testing.T, body []byte) string {
	t.Helper()
	twin, err := sim.Start(sim.New(sim.Config{Seed: 1, Output: p.output, Accounts: []sim.Account{payingAccount()}}))
	if err != nil {
		t.Fatal(err)
	}
	defer twin.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, twin.URL+sim.MessagesPath, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("x-api-key", paidKey)
	r.Header.Set("anthropic-version", "2023-06-01")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := sim.ReadResponse(resp)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Verify(body); err != nil {
		t.Fatal(err)
	}
	return answer.Text
}

// The yardstick of all that follows: Claude Code is content with the simulated provider itself.
func TestClaudeCodeAcceptsTheSimulator(t *testing.T) {
	p := startProvider(t, sim.Config{Accounts: []sim.Account{payingAccount()}, Encodings: []string{"zstd", "br", "gzip"}})
	user := newClaude(t, p.url, paidKey)
	first := p.answered(t, user.ask(t, "say hi"))
	second := p.answered(t, user.reply(t, "again"))
	if first.Session() == "" || first.Session() != second.Session() || first.Seq == second.Seq {
		t.Errorf("sessions %q, %q", first.Session(), second.Session())
	}
}
