package e2e

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

// clientToken is Claude Code's own credential, which must not pass the gateway.
const clientToken = "sk-ant-client-of-the-gateway"

// poolOf starts a provider with accounts, a gateway that pools them, and a user of the gateway.
func poolOf(t *testing.T, config sim.Config, names ...string) (*provider, *gateway, *claude) {
	t.Helper()
	config.Accounts = subscriptions(names...)
	p := startProvider(t, config)
	g := startGateway(t, p, newStore(t, p, names...), pool)
	return p, g, newClaude(t, g.url, clientToken)
}

// A conversation through the pool: responses are streamed unchanged, every turn of the session goes to the same account (SEL-1),
// with that account's identity in place of the client's (WIRE-1, WIRE-6), and each request is logged in one line (OBS-1).
func TestConversation(t *testing.T) {
	p, g, user := poolOf(t, sim.Config{}, "a", "b", "c")
	first := p.shown(t, user.prompt(t, "say hi"))
	second := p.shown(t, user.followUp(t, "again"))
	third := p.shown(t, user.followUp(t, "and again"))

	for _, r := range []sim.Request{first, second, third} {
		if r.Account != first.Account || r.Session() != first.Session() || !r.Stream {
			t.Errorf("request %d: account %s, session %s, stream %v", r.Seq, r.Account, r.Session(), r.Stream)
		}
		if r.AccountUUID != p.UUID(r.Account) {
			t.Errorf("request %d: account_uuid %q", r.Seq, r.AccountUUID)
		}
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), clientToken) {
				t.Errorf("the client's token was forwarded in %s", name)
			}
		}
	}
	g.stop(t)
	records := g.records(t)
	if len(records) != 3 {
		t.Errorf("%d lines in the request log", len(records))
	}
	for _, r := range records {
		if r.Account != first.Account || r.Status != http.StatusOK || r.Attempts != 1 || r.Model != model || r.Session != records[0].Session || len(r.Session) != 8 ||
			r.Tokens == nil || r.Tokens.Output == 0 || r.End != "" || r.TTFB <= 0 || r.Duration < r.TTFB {
			t.Errorf("record: %+v", r)
		}
	}
}

// A session moves before its account's window is used up: a response reports high utilization, and the next turn goes to
// another account without any 429 (SEL-6).
func TestMovesBeforeLimit(t *testing.T) {
	p, _, user := poolOf(t, sim.Config{}, "a", "b")
	first := p.shown(t, user.prompt(t, "say hi"))
	p.Fill(first.Account, messages.FiveHour, 0.985)
	if last := p.shown(t, user.followUp(t, "the turn that reports it")); last.Account != first.Account {
		t.Fatalf("moved to %s too early", last.Account)
	}
	if moved := p.shown(t, user.followUp(t, "the turn that moves")); moved.Account == first.Account {
		t.Error("the session did not move")
	}
	if rejections := p.Counters("").ByStatus[http.StatusTooManyRequests]; rejections != 0 {
		t.Errorf("%d requests were rejected", rejections)
	}
}

// After any failure of the session's account between two turns, Claude Code shows the next response and nothing else
// (5-failover).
func TestTroubleBetweenTurns(t *testing.T) {
	const other, same = true, false
	for _, c := range []struct {
		name    string
		trouble func(p *provider, account string)
		moves   bool
	}{
		{"window full", func(p *provider, account string) { p.Fill(account, messages.FiveHour, 1) }, other},
		{"overloaded", func(p *provider, account string) { p.Inject(account, sim.Overloaded()) }, other},
		{"server error", func(p *provider, account string) { p.Inject(account, sim.ServerError(500)) }, other},
		{"error as first event", func(p *provider, account string) {
			p.Inject(account, sim.ErrorStream(messages.TypeOverloaded))
		}, other},
		{"connections reset", func(p *provider, account string) { p.Inject(account, sim.ResetConnection()) }, other},
		{"one connection reset", func(p *provider, account string) { p.Inject(account, sim.ResetConnection().Times(1)) }, same},
		{"credential rejected", func(p *provider, account string) { p.Inject(account, sim.CredentialForbidden()) }, other},
		{"token expired early", func(p *provider, account string) { p.ExpireTokens(account) }, same},
		{"throttled for a second", func(p *provider, account string) { p.Inject(account, sim.Throttled("1").Times(1)) }, same},
		{"throttled for long", func(p *provider, account string) { p.Inject(account, sim.Throttled("30")) }, other},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _, user := poolOf(t, sim.Config{}, "a", "b")
			first := p.shown(t, user.prompt(t, "say hi"))
			c.trouble(p, first.Account)
			second := p.shown(t, user.followUp(t, "again"))
			if moved := second.Account != first.Account; moved != c.moves || second.Session() != first.Session() {
				t.Errorf("%s, then %s; sessions %s, %s", first.Account, second.Account, first.Session(), second.Session())
			}
		})
	}
}

// shunt does not repeat a request whose stream is aborted in the middle; Claude Code does, without a stream (FO-9), and gets the
// plain response.
func TestStreamAborted(t *testing.T) {
	p, g, user := poolOf(t, sim.Config{}, "a", "b")
	for _, account := range p.Accounts() {
		p.Inject(account, sim.Abort(4).Times(1))
	}
	if last := p.shown(t, user.prompt(t, "say hi")); last.Stream {
		t.Error("the repeated request was for a stream")
	}
	g.stop(t)
	if records := g.records(t); len(records) != 2 || records[0].End != "cut" || records[1].End != "" || records[1].Stream {
		t.Errorf("records: %+v", records)
	}
}

// When the quota of every account is used up, Claude Code stops at once and shows the provider's message (FO-8, ERR-2).
func TestAllQuotaUsedUp(t *testing.T) {
	p, _, user := poolOf(t, sim.Config{}, "a", "b")
	for _, account := range p.Accounts() {
		p.Fill(account, messages.SevenDay, 1)
	}
	got := user.prompt(t, "say hi")
	if got.code == 0 || !strings.Contains(got.stdout+got.stderr, "429") {
		t.Errorf("Claude Code: %+v", got)
	}
	for _, account := range p.Accounts() {
		if n := p.Counters(account).Requests; n != 1 {
			t.Errorf("%s received %d requests", account, n)
		}
	}
}

// With an empty store the error says what to do (ACC-5); an account added to the store serves without a restart (ACC-4).
func TestAccountAddedWhileRunning(t *testing.T) {
	p := startProvider(t, sim.Config{Accounts: subscriptions("a")})
	accounts := newStore(t, p)
	g := startGateway(t, p, accounts, pool)
	user := newClaude(t, g.url, clientToken)
	if got := user.prompt(t, "say hi"); got.code == 0 || !strings.Contains(got.stdout+got.stderr, "anthropic") || len(p.messages()) != 0 {
		t.Errorf("Claude Code: %+v; %d requests were forwarded", got, len(p.messages()))
	}
	accounts.put(t, p, "a", nil)
	got := user.prompt(t, "say hi")
	for range 10 { // Claude Code takes almost a second for each attempt
		if got.code == 0 {
			break
		}
		got = user.prompt(t, "say hi")
	}
	p.shown(t, got)
}

// An expired access token is refreshed before use, and the new tokens are stored in a private file that keeps all fields that are
// not shunt's (TOK-1, TOK-5, TOK-6, ACC-1).
func TestRotatedTokensAreOnDisk(t *testing.T) {
	p := startProvider(t, sim.Config{Accounts: subscriptions("a")})
	old := readCredentials(t, p.Credentials("a"))
	p.ExpireTokens("a")
	accounts := newStore(t, p)
	accounts.put(t, p, "a", func(oauth map[string]any) { oauth["expiresAt"] = time.Now().Add(-time.Hour).UnixMilli() })
	g := startGateway(t, p, accounts, pool)
	user := newClaude(t, g.url, clientToken)
	p.shown(t, user.prompt(t, "say hi"))
	p.shown(t, user.followUp(t, "again"))
	g.stop(t)

	content, err := os.ReadFile(accounts.file("a"))
	if err != nil {
		t.Fatal(err)
	}
	now, accepted := readCredentials(t, content), readCredentials(t, p.Credentials("a"))
	if now.OAuth.AccessToken != accepted.OAuth.AccessToken || now.OAuth.RefreshToken != accepted.OAuth.RefreshToken || now.OAuth.RefreshToken == old.OAuth.RefreshToken {
		t.Error("the tokens on disk are not those that the provider issued last")
	}
	if left := time.Until(time.UnixMilli(now.OAuth.ExpiresAt)); left < 7*time.Hour {
		t.Errorf("the token on disk expires in %v", left)
	}
	if now.UUID != p.UUID("a") || now.OAuth.SubscriptionType != old.OAuth.SubscriptionType || now.Whatever != old.Whatever || len(now.PlugIns) == 0 {
		t.Errorf("fields were lost: %s", content)
	}
	if n := p.Counters("a").Refreshes; n != 1 {
		t.Errorf("%d refreshes", n)
	}
	if info, err := os.Stat(accounts.file("a")); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
