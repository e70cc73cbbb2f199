package cli

import (
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
	"shunt/internal/sim"
)

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
		"the browser did not respond within 5 minutes": func(d *desk) {
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
		{modeOAuth, "the code was rejected because it has been used before or is too old", sim.InvalidGrant()},
		{modeOAuth, "the token endpoint returned status 500", sim.ServerError(500)},
		{modeOAuth, "has no refresh_token", reply(`{"access_token":"sk-ant-x"}`)},
		{modeSetupToken, "does not say whose token it is", reply(`{"access_token":"sk-ant-x"}`)},
		{modeOAuth, "the login is lost: store account work: accessToken contains white space", reply(`{"access_token":"sk-ant-x y","refresh_token":"sk-ant-z"}`)},
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
