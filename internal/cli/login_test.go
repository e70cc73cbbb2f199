package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"shunt/internal/account"
	"shunt/internal/oauth"
	"shunt/internal/sim"
)

// desk is where a login happens in a test: a simulated provider, a store, a browser and a person, in a synctest bubble that
// also proves that no goroutine is left. Whatever a login says is searched for secrets.
type desk struct {
	*testing.T
	provider *sim.Provider
	login    *login
	browser  *http.Client
	callback *sim.PipeListener
	answer   bytes.Buffer
	said     bytes.Buffer
	asked    int
	home     string
}

func atDesk(t *testing.T, test func(d *desk)) {
	t.Helper()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{T: t, provider: sim.New(sim.Config{Accounts: []sim.Account{{Name: "a"}, {Name: "b"}}}), home: home}
		l := sim.Listen("provider.test:80")
		server := sim.Serve(l, d.provider)
		transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address != "provider.test:80" {
				return d.callback.Dial(ctx, network, address)
			}
			return l.Dial(ctx, network, address)
		}}
		d.browser = &http.Client{Transport: transport}
		vendor := claude().Vendor
		vendor.AuthorizeURL, vendor.TokenURL = "http://provider.test"+sim.AuthorizePath, "http://provider.test"+sim.TokenPath
		d.login = &login{
			store: account.OpenStore(filepath.Join(home, "store"), claude().Credentials), client: oauth.NewClient(vendor, transport),
			getenv: func(name string) string { return map[string]string{"HOME": home}[name] },
			answer: &d.answer, say: &d.said, interactive: true,
			ask:    func(context.Context, string, bool) (string, error) { d.Error("somebody was asked"); return "", io.EOF },
			browse: func(context.Context, string) error { d.Error("a browser was opened"); return nil },
			listen: func() (net.Listener, error) {
				d.callback = sim.Listen("127.0.0.1:54321")
				return d.callback, nil
			},
		}
		test(d)
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		for _, secret := range []string{"sk-ant-", "code-a-", "code-b-"} {
			if text := d.answer.String() + d.said.String(); strings.Contains(text, secret) {
				t.Errorf("LOG-6: %s is shown:\n%s", secret, text)
			}
		}
	})
}

// run runs a login. An error is also a part of what is said.
func (d *desk) run(k loginClaudeCommand) error {
	d.answer.Reset()
	err := d.login.run(d.Context(), &k)
	if err != nil {
		d.said.WriteString(err.Error())
	}
	return err
}

func (d *desk) succeeds(k loginClaudeCommand) {
	d.Helper()
	if err := d.run(k); err != nil {
		d.Errorf("%v\n%s", err, d.said.String())
	}
}

// fails wants an error with the text, and nothing stored.
func (d *desk) fails(k loginClaudeCommand, text string) {
	d.Helper()
	err := d.run(k)
	if err == nil || !strings.Contains(err.Error(), text) {
		d.Errorf("err = %v, want %q", err, text)
	}
	if d.answer.Len() > 0 {
		d.Errorf("an answer: %s", d.answer.String())
	}
	if entries, err := d.login.store.Entries(d.Context()); err != nil || len(entries) > 0 {
		d.Errorf("stored: %v (%v)", entries, err)
	}
}

func (d *desk) says(parts ...string) {
	d.Helper()
	for _, part := range parts {
		if !strings.Contains(d.said.String(), part) {
			d.Errorf("%q is not said:\n%s", part, d.said.String())
		}
	}
}

// stored wants the entry to hold the account's newest tokens.
func (d *desk) stored(name, account string) {
	d.Helper()
	text, err := os.ReadFile(d.login.store.Path(name))
	if err != nil || !strings.Contains(string(text), d.provider.Token(account)) || !strings.Contains(string(text), d.provider.UUID(account)) {
		d.Errorf("%s: %s (%v)", name, text, err)
	}
}

// allows is a browser in which a person allows the login as the account; without one they deny it.
func (d *desk) allows(account string) func(context.Context, string) error {
	return func(ctx context.Context, address string) error {
		_, err := sim.Browser{Account: account, Client: d.browser}.Authorize(ctx, address)
		return err
	}
}

func noBrowser(context.Context, string) error { return errors.New("exec: no such program") }

// pastes is a person who opens the address that was said last, allows the login as account a, and pastes the code.
func (d *desk) pastes(_ context.Context, _ string, hidden bool) (string, error) {
	d.asked++
	if !hidden {
		d.Error("the code is shown as it is pasted")
	}
	return sim.Browser{Account: "a", Client: d.browser}.Authorize(d.Context(), d.address())
}

// address is what the person was last told to open.
func (d *desk) address() string {
	text := d.said.String()
	text = text[strings.LastIndex(text, "http://provider.test"):]
	return strings.Fields(text)[0]
}

// LOG-1: how the way to log in is found.
func TestLoginModes(t *testing.T) {
	for _, tt := range []struct {
		command  loginClaudeCommand
		terminal bool
		choices  []string
		want     string // empty: an error
	}{
		{loginClaudeCommand{Mode: modeImport}, true, nil, modeImport},
		{loginClaudeCommand{Mode: modeOAuth}, false, nil, modeOAuth},
		{loginClaudeCommand{LongLived: true}, false, nil, modeSetupToken},
		{loginClaudeCommand{Manual: true}, true, nil, modeOAuth},
		{loginClaudeCommand{Manual: true}, false, nil, ""},
		{loginClaudeCommand{}, false, nil, modeImport},
		{loginClaudeCommand{}, true, []string{""}, modeOAuth},
		{loginClaudeCommand{}, true, []string{" 1 "}, modeOAuth},
		{loginClaudeCommand{}, true, []string{"2"}, modeImport},
		{loginClaudeCommand{}, true, []string{"what?", "3"}, modeSetupToken},
		{loginClaudeCommand{}, true, []string{"import"}, modeImport},
		{loginClaudeCommand{}, true, nil, ""},
	} {
		atDesk(t, func(d *desk) {
			choices := tt.choices
			d.login.interactive = tt.terminal
			d.login.ask = func(_ context.Context, _ string, hidden bool) (string, error) {
				if len(choices) == 0 || hidden {
					return "", io.EOF
				}
				choice := choices[0]
				choices = choices[1:]
				return choice, nil
			}
			if tt.terminal && tt.choices == nil && tt.command != (loginClaudeCommand{}) {
				d.login.ask = nil
			}
			mode, err := d.login.mode(d.Context(), &tt.command)
			if mode != tt.want || (err == nil) != (tt.want != "") || len(choices) > 0 {
				d.Errorf("%+v on a terminal %v with %q: %q, %v", tt.command, tt.terminal, tt.choices, mode, err)
			}
		})
	}
}

// LOG-5: a copy of Claude Code's login is announced for what it is; what is missing is said, and what else there is to do.
func TestLoginImport(t *testing.T) {
	command := loginClaudeCommand{Name: "work", Mode: modeImport}
	atDesk(t, func(d *desk) {
		d.fails(command, "import: there is no file "+d.home+"/.claude/.credentials.json\nLog in with Claude Code first, or use --mode oauth")
		write := func(name string, text []byte) {
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(d.home, name)), 0o700), os.WriteFile(filepath.Join(d.home, name), text, 0o600)); err != nil {
				d.Fatal(err)
			}
		}
		write(".claude/.credentials.json", d.provider.Credentials("a"))
		d.fails(command, "cannot determine whose login it is: ")
		write(".claude.json", []byte(`{"oauthAccount":{"accountUuid":"`+d.provider.UUID("a")+`"}}`))
		d.succeeds(command)
		d.stored("work", "a")
		d.says("Copying the login in "+d.home+"/.claude/.credentials.json; "+d.home+"/.claude.json says whose it is.", "have one login now")
	})
}

// ID-3: who meant to add a second account and got the first again is told.
func TestLoginAlias(t *testing.T) {
	atDesk(t, func(d *desk) {
		for _, login := range [][2]string{{"work", "a"}, {"other", "b"}, {"other", "b"}} {
			d.login.browse = d.allows(login[1])
			d.succeeds(loginClaudeCommand{Name: login[0], Mode: modeOAuth})
		}
		if strings.Contains(d.said.String(), "the same account") {
			d.Error(d.said.String())
		}
		d.login.browse = d.allows("a")
		d.succeeds(loginClaudeCommand{Name: "spare", Mode: modeOAuth})
		d.says("Note: work and spare are the same account and count as one. Was the browser still logged in to work?")
	})
}
