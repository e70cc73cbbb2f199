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
	"shunt/internal/family/claude"
	"shunt/internal/oauth"
	"shunt/internal/sim"
)

// desk is the environment of a login in a test: a simulated provider, a store, a browser and a person, in a synctest bubble
// that also checks for leaked goroutines. All output of a login is searched for secrets.
type desk struct {
	*testing.T
	provider *sim.Provider
	login    *login
	browser  *http.Client
	callback *sim.PipeListener
	stdout   bytes.Buffer
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
		vendor := claude.Family.Vendor
		vendor.AuthorizeURL, vendor.TokenURL = "http://provider.test"+sim.AuthorizePath, "http://provider.test"+sim.TokenPath
		d.login = &login{
			family: &claude.Family,
			store:  account.OpenStore(filepath.Join(home, "store"), claude.Family.Credentials), client: oauth.NewClient(vendor, transport),
			getenv: func(name string) string { return map[string]string{"HOME": home}[name] },
			stdout: &d.stdout, stderr: &d.said, interactive: true,
			prompt: func(context.Context, string, bool) (string, error) { d.Error("unexpected prompt"); return "", io.EOF },
			browse: func(context.Context, string) error { d.Error("unexpected browser"); return nil },
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
			if text := d.stdout.String() + d.said.String(); strings.Contains(text, secret) {
				t.Errorf("LOG-6: %s is shown:\n%s", secret, text)
			}
		}
	})
}

// run runs a login. An error is also part of the output.
func (d *desk) run(k familyLoginCommand) error {
	d.stdout.Reset()
	err := d.login.run(d.Context(), &k)
	if err != nil {
		d.said.WriteString(err.Error())
	}
	return err
}

func (d *desk) succeeds(k familyLoginCommand) {
	d.Helper()
	if err := d.run(k); err != nil {
		d.Errorf("%v\n%s", err, d.said.String())
	}
}

// fails wants an error with the text, and nothing stored.
func (d *desk) fails(k familyLoginCommand, text string) {
	d.Helper()
	err := d.run(k)
	if err == nil || !strings.Contains(err.Error(), text) {
		d.Errorf("err = %v, want %q", err, text)
	}
	if d.stdout.Len() > 0 {
		d.Errorf("stdout: %s", d.stdout.String())
	}
	if entries, err := d.login.store.Entries(d.Context()); err != nil || len(entries) > 0 {
		d.Errorf("stored: %v (%v)", entries, err)
	}
}

func (d *desk) says(parts ...string) {
	d.Helper()
	for _, part := range parts {
		if !strings.Contains(d.said.String(), part) {
			d.Errorf("the output lacks %q:\n%s", part, d.said.String())
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

// allows is a browser in which a person allows the login as the account, or denies it without an account.
func (d *desk) allows(account string) func(context.Context, string) error {
	return func(ctx context.Context, address string) error {
		_, err := sim.Browser{Account: account, Client: d.browser}.Authorize(ctx, address)
		return err
	}
}

func noBrowser(context.Context, string) error { return errors.New("exec: no such program") }

// pastes is a person who opens the address that was printed last, allows the login as account a, and pastes the code.
func (d *desk) pastes(_ context.Context, _ string, hidden bool) (string, error) {
	d.asked++
	if !hidden {
		d.Error("the code is shown as it is pasted")
	}
	return sim.Browser{Account: "a", Client: d.browser}.Authorize(d.Context(), d.address())
}

// address returns the address that the output named last.
func (d *desk) address() string {
	text := d.said.String()
	text = text[strings.LastIndex(text, "http://provider.test"):]
	return strings.Fields(text)[0]
}

// LOG-1: how the mode is chosen.
func TestLoginModes(t *testing.T) {
	for _, tt := range []struct {
		command  familyLoginCommand
		terminal bool
		choices  []string
		want     string // empty: an error
	}{
		{familyLoginCommand{Mode: modeImport}, true, nil, modeImport},
		{familyLoginCommand{Mode: modeOAuth}, false, nil, modeOAuth},
		{familyLoginCommand{LongLived: true}, false, nil, modeSetupToken},
		{familyLoginCommand{Manual: true}, true, nil, modeOAuth},
		{familyLoginCommand{Manual: true}, false, nil, ""},
		{familyLoginCommand{}, false, nil, modeImport},
		{familyLoginCommand{}, true, []string{""}, modeOAuth},
		{familyLoginCommand{}, true, []string{" 1 "}, modeOAuth},
		{familyLoginCommand{}, true, []string{"2"}, modeImport},
		{familyLoginCommand{}, true, []string{"what?", "3"}, modeSetupToken},
		{familyLoginCommand{}, true, []string{"import"}, modeImport},
		{familyLoginCommand{}, true, nil, ""},
	} {
		atDesk(t, func(d *desk) {
			choices := tt.choices
			d.login.interactive = tt.terminal
			d.login.prompt = func(_ context.Context, _ string, hidden bool) (string, error) {
				if len(choices) == 0 || hidden {
					return "", io.EOF
				}
				choice := choices[0]
				choices = choices[1:]
				return choice, nil
			}
			if tt.terminal && tt.choices == nil && tt.command != (familyLoginCommand{}) {
				d.login.prompt = nil
			}
			mode, err := d.login.mode(d.Context(), &tt.command)
			if mode != tt.want || (err == nil) != (tt.want != "") || len(choices) > 0 {
				d.Errorf("%+v on a terminal %v with %q: %q, %v", tt.command, tt.terminal, tt.choices, mode, err)
			}
		})
	}
}

// LOG-5: an import names its files, explains that the login is shared, and reports what is missing and what to do instead.
func TestLoginImport(t *testing.T) {
	command := familyLoginCommand{Name: "work", Mode: modeImport}
	atDesk(t, func(d *desk) {
		d.fails(command, "import: cannot find the file "+d.home+"/.claude/.credentials.json\nLog in with Claude Code first, or use --mode oauth")
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
		d.says("Copying the login in "+d.home+"/.claude/.credentials.json; "+d.home+"/.claude.json names its account.", "share one login")
	})
}

// ID-3: a warning if a second name belongs to the same account.
func TestLoginAlias(t *testing.T) {
	atDesk(t, func(d *desk) {
		for _, login := range [][2]string{{"work", "a"}, {"other", "b"}, {"other", "b"}} {
			d.login.browse = d.allows(login[1])
			d.succeeds(familyLoginCommand{Name: login[0], Mode: modeOAuth})
		}
		if strings.Contains(d.said.String(), "the same account") {
			d.Error(d.said.String())
		}
		d.login.browse = d.allows("a")
		d.succeeds(familyLoginCommand{Name: "spare", Mode: modeOAuth})
		d.says("Note: work and spare are the same account and count as one. Was the browser still logged in to work?")
	})
}
