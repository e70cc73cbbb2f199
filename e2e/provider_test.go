package e2e

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"shunt/internal/sim"
)

// provider is a running simulated provider.
type provider struct {
	*sim.Provider
	url    string
	output sim.Range // length of its responses
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

// paidKey is the API key of paidAccount, which is not a subscription.
const paidKey = "sk-ant-api03-simulated"

func paidAccount() sim.Account { return sim.Account{Name: "key", APIKey: paidKey} }

// messages returns the inference requests received so far.
func (p *provider) messages() (list []sim.Request) {
	for _, r := range p.Requests() {
		if strings.HasPrefix(r.Path, sim.MessagesPath+"?") || r.Path == sim.MessagesPath {
			list = append(list, r)
		}
	}
	return list
}

// served returns those with a complete response of status 200.
func (p *provider) served() (list []sim.Request) {
	for _, r := range p.messages() {
		if r.Status == http.StatusOK && r.Outcome == sim.Complete {
			list = append(list, r)
		}
	}
	return list
}

// shown checks that Claude Code shows exactly the response to the last served request and returns that request.
func (p *provider) shown(t *testing.T, got turn) sim.Request {
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

// expected returns the text of the provider's response to a body, which a second provider with the same seed gives as well.
func (p *provider) expected(t *testing.T, body []byte) string {
	t.Helper()
	twin, err := sim.Start(sim.New(sim.Config{Seed: 1, Output: p.output, Accounts: []sim.Account{paidAccount()}}))
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
	response, err := sim.ReadResponse(resp)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Verify(body); err != nil {
		t.Fatal(err)
	}
	return response.Text
}

// Claude Code works with the simulated provider itself, without a gateway. The other tests rely on that.
func TestClaudeCodeAcceptsTheSimulator(t *testing.T) {
	p := startProvider(t, sim.Config{Accounts: []sim.Account{paidAccount()}, Encodings: []string{"zstd", "br", "gzip"}})
	user := newClaude(t, p.url, paidKey)
	first := p.shown(t, user.prompt(t, "say hi"))
	second := p.shown(t, user.followUp(t, "again"))
	if first.Session() == "" || first.Session() != second.Session() || first.Seq == second.Seq {
		t.Errorf("sessions %q, %q", first.Session(), second.Session())
	}
}
