package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		vendor := oauth.Claude
		vendor.AuthorizeURL, vendor.TokenURL = "http://provider.test"+sim.AuthorizePath, "http://provider.test"+sim.TokenPath
		d.login = &login{
			store: account.OpenStore(filepath.Join(home, "store")), client: oauth.NewClient(vendor, transport),
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
		_, err := sim.Person{Account: account, Client: d.browser}.Answer(ctx, address)
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
	return sim.Person{Account: "a", Client: d.browser}.Answer(d.Context(), d.address())
}

// address is what the person was last told to open.
func (d *desk) address() string {
	text := d.said.String()
	text = text[strings.LastIndex(text, "http://provider.test"):]
	return strings.Fields(text)[0]
}

var byOAuth = loginClaudeCommand{Name: "work", Mode: modeOAuth}

// LOG-2, LOG-6: over the browser, without a question. The terms are said once; the last line says where it is and what to
// do with it; a login of that name is replaced.
func TestLoginOverBrowser(t *testing.T) {
	atDesk(t, func(d *desk) {
		for _, account := range []string{"a", "b"} {
			d.login.browse = d.allows(account)
			d.succeeds(byOAuth)
			d.stored("work", account)
			path := filepath.Join(d.home, "store", "work.json")
			if want := "Stored in " + path + ". For the configuration: [[providers.anthropic.accounts]] with name = \"work\"; " +
				"without such a list, every account of the store serves.\n"; d.answer.String() != want {
				d.Errorf("answer %q", d.answer.String())
			}
		}
		if n := strings.Count(d.said.String(), "only accounts that you are entitled to use"); n != 2 {
			d.Errorf("the terms of two logins are said %d times", n)
		}
		d.says("shunt is an unofficial tool.", "For a browser on another machine")
	})
}

// LOG-2: some browsers are opened by a program that lives as long as they do.
func TestLoginBrowserStays(t *testing.T) {
	atDesk(t, func(d *desk) {
		d.login.browse = func(ctx context.Context, address string) error {
			err := d.allows("a")(ctx, address)
			<-ctx.Done()
			return err
		}
		d.succeeds(byOAuth)
		d.stored("work", "a")
	})
}

// LOG-2: no is an answer, and not a reason to ask in another way.
func TestLoginDenied(t *testing.T) {
	atDesk(t, func(d *desk) {
		d.login.browse = d.allows("")
		d.fails(byOAuth, "the login was denied in the browser; nothing was stored")
	})
}

// LOG-2: what somebody else sends to the callback does not end the wait.
func TestLoginWrongState(t *testing.T) {
	atDesk(t, func(d *desk) {
		d.login.browse = func(ctx context.Context, address string) error {
			for _, wrong := range []string{"", "?code=x", "?code=x&state=y", "?error=access_denied&state=y"} {
				response, err := d.browser.Get("http://127.0.0.1:54321/callback" + wrong)
				if err != nil {
					return err
				}
				response.Body.Close()
				if response.StatusCode != http.StatusBadRequest {
					d.Errorf("%q: %s", wrong, response.Status)
				}
			}
			return d.allows("a")(ctx, address)
		}
		d.succeeds(byOAuth)
		d.stored("work", "a")
	})
}

// LOG-2: if the port, the browser or the wait fails, a person can still paste the code.
func TestLoginFallsBack(t *testing.T) {
	for reason, set := range map[string]func(d *desk){
		"no port of this machine can be opened for the browser's answer: taken": func(d *desk) {
			d.login.listen = func() (net.Listener, error) { return nil, errors.New("taken") }
		},
		"no browser can be opened: exec: no such program": func(d *desk) { d.login.browse = noBrowser },
		"no answer came from the browser within 5 minutes": func(d *desk) {
			d.login.browse = func(context.Context, string) error { return nil }
		},
	} {
		atDesk(t, func(d *desk) {
			set(d)
			d.login.ask = d.pastes
			start := time.Now()
			d.succeeds(byOAuth)
			d.stored("work", "a")
			d.says("That way is closed: " + reason + ". So by hand:")
			if waited := time.Since(start); strings.Contains(reason, "5 minutes") != (waited == 5*time.Minute) {
				d.Errorf("%s: after %v", reason, waited)
			}
			if d.asked != 1 {
				d.Errorf("asked %d times", d.asked)
			}
		})
	}
}

// LOG-3: by hand from the start, in no browser of this machine.
func TestLoginManual(t *testing.T) {
	atDesk(t, func(d *desk) {
		d.login.ask = d.pastes
		d.succeeds(loginClaudeCommand{Name: "work", Mode: modeOAuth, Manual: true})
		d.stored("work", "a")
		if u, err := url.Parse(d.address()); err != nil || u.Query().Get("redirect_uri") != sim.ManualRedirect {
			d.Errorf("%s (%v)", u, err)
		}
	})
}

// LOG-3: a person may mispaste, a few times; a program may not.
func TestLoginWrongPastes(t *testing.T) {
	manual := loginClaudeCommand{Name: "work", Mode: modeOAuth, Manual: true}
	pasting := func(d *desk, pastes ...string) {
		d.login.ask = func(ctx context.Context, prompt string, hidden bool) (string, error) {
			if d.asked < len(pastes) {
				d.asked++
				return pastes[d.asked-1], nil
			}
			return d.pastes(ctx, prompt, hidden)
		}
	}
	atDesk(t, func(d *desk) {
		pasting(d, "", "code-a-1", "code-a-1#another-state", "#x")
		d.succeeds(manual)
		d.stored("work", "a")
		d.says("that is not of the form CODE#STATE", "that code belongs to another login")
		if n := d.provider.Counters("").ByStatus[400]; n != 0 {
			d.Errorf("the provider refused %d requests", n)
		}
	})
	atDesk(t, func(d *desk) {
		pasting(d, "1", "2", "3", "4", "5#x")
		d.fails(manual, "that code belongs to another login")
		if d.asked != 5 {
			d.Errorf("asked %d times", d.asked)
		}
	})
	atDesk(t, func(d *desk) {
		d.login.interactive = false
		pasting(d, "code-a-1#another-state")
		d.fails(manual, "that code belongs to another login")
		if d.asked != 1 {
			d.Errorf("asked %d times", d.asked)
		}
	})
}

// LOG-3: a provider that does not play along costs the login, and says so.
func TestLoginExchangeFails(t *testing.T) {
	reply := func(text string) sim.Fault {
		return sim.Respond(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	for _, tt := range []struct {
		mode, text string
		fault      sim.Fault
	}{
		{modeOAuth, "the code was refused, because it has been used before or is too old", sim.InvalidGrant()},
		{modeOAuth, "the token endpoint answered 500", sim.ServerError(500)},
		{modeOAuth, "has no refresh_token", reply(`{"access_token":"sk-ant-x"}`)},
		{modeSetupToken, "has no account.uuid", reply(`{"access_token":"sk-ant-x"}`)},
		{modeOAuth, "the login is lost: store account work: accessToken holds white space", reply(`{"access_token":"sk-ant-x y","refresh_token":"sk-ant-z"}`)},
	} {
		atDesk(t, func(d *desk) {
			d.provider.Inject("", tt.fault.On(sim.TokenPath))
			d.login.browse = d.allows("a")
			if tt.mode == modeSetupToken {
				d.login.browse, d.login.ask = noBrowser, d.pastes
			}
			d.fails(loginClaudeCommand{Name: "work", Mode: tt.mode}, tt.text)
		})
	}
}

// LOG-6: a login that cannot be written is said to be lost.
func TestLoginNotWritten(t *testing.T) {
	atDesk(t, func(d *desk) {
		if err := os.WriteFile(filepath.Join(d.home, "store"), nil, 0o600); err != nil {
			d.Fatal(err)
		}
		d.login.browse = d.allows("a")
		if err := d.run(byOAuth); err == nil || !strings.Contains(err.Error(), "the login is lost: store account work: ") {
			d.Error(err)
		}
	})
}

// LOG-4: a token for a year, by hand; the browser is opened, and is not needed.
func TestLoginSetupToken(t *testing.T) {
	for _, k := range []loginClaudeCommand{{Name: "ci", Mode: modeSetupToken}, {Name: "ci", LongLived: true}} {
		atDesk(t, func(d *desk) {
			opened := ""
			d.login.browse = func(ctx context.Context, address string) error {
				opened = address
				return noBrowser(ctx, address)
			}
			d.login.ask = func(ctx context.Context, prompt string, hidden bool) (string, error) {
				synctest.Wait() // for the browser
				return d.pastes(ctx, prompt, hidden)
			}
			d.succeeds(k)
			entries, err := d.login.store.Entries(d.Context())
			if err != nil || len(entries) != 1 {
				d.Fatalf("%v (%v)", entries, err)
			}
			e := entries[0]
			if e.Kind != account.SetupToken || time.Until(e.Expires) != 365*24*time.Hour || e.AccountUUID != d.provider.UUID("a") || e.OrganizationUUID != d.provider.Organization("a") {
				d.Errorf("%+v", e)
			}
			if opened != d.address() {
				d.Errorf("opened %s", opened)
			}
			if strings.Contains(d.said.String(), "deprecated") != k.LongLived {
				d.Error(d.said.String())
			}
		})
	}
}

// LOG-1: whoever interrupts gets nothing stored, wherever the login is.
func TestLoginInterrupted(t *testing.T) {
	interrupted := func(d *desk, k loginClaudeCommand, ctx context.Context) {
		if err := d.login.run(ctx, &k); !errors.Is(err, context.Canceled) {
			d.Error(err)
		}
		if entries, err := d.login.store.Entries(d.Context()); err != nil || len(entries) > 0 {
			d.Errorf("stored: %v (%v)", entries, err)
		}
	}
	atDesk(t, func(d *desk) {
		ctx, cancel := context.WithCancel(d.Context())
		d.login.browse = func(context.Context, string) error { cancel(); return nil }
		interrupted(d, byOAuth, ctx)
	})
	atDesk(t, func(d *desk) {
		ctx, cancel := context.WithCancel(d.Context())
		d.login.ask = func(ctx context.Context, _ string, _ bool) (string, error) { cancel(); return "", ctx.Err() }
		interrupted(d, loginClaudeCommand{Name: "work"}, ctx)
	})
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
		d.fails(command, "whose login it is cannot be known: ")
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
