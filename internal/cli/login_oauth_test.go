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

var byOAuth = familyLoginCommand{Name: "work", Mode: modeOAuth}

// LOG-2, LOG-6: a login in the browser, without a prompt. The terms are printed once. The last line names the file and the
// configuration that uses it. A login of that name is replaced.
func TestLoginOverBrowser(t *testing.T) {
	atDesk(t, func(d *desk) {
		for _, account := range []string{"a", "b"} {
			d.login.browse = d.allows(account)
			d.succeeds(byOAuth)
			d.stored("work", account)
			path := filepath.Join(d.home, "store", "work.json")
			if want := "Stored in " + path + ". For the configuration: [[providers.anthropic.accounts]] with name = \"work\"; " +
				"without such a list, every account of the store serves.\n"; d.stdout.String() != want {
				d.Errorf("stdout %q", d.stdout.String())
			}
		}
		if n := strings.Count(d.said.String(), "only accounts that you are entitled to use"); n != 2 {
			d.Errorf("the terms of two logins are printed %d times", n)
		}
		d.says("shunt is an unofficial tool.", "To use a browser on another machine")
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

// LOG-2: a denied login does not fall back to a pasted code.
func TestLoginDenied(t *testing.T) {
	atDesk(t, func(d *desk) {
		d.login.browse = d.allows("")
		d.fails(byOAuth, "the login was denied in the browser; nothing was stored")
	})
}

// LOG-2: a request with another state does not end the wait for the callback.
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
		"could not open a port for the browser: taken": func(d *desk) {
			d.login.listen = func() (net.Listener, error) { return nil, errors.New("taken") }
		},
		"could not open a browser: exec: no such program": func(d *desk) { d.login.browse = noBrowser },
		"the browser did not respond within 5 minutes": func(d *desk) {
			d.login.browse = func(context.Context, string) error { return nil }
		},
	} {
		atDesk(t, func(d *desk) {
			set(d)
			d.login.prompt = d.pastes
			start := time.Now()
			d.succeeds(byOAuth)
			d.stored("work", "a")
			d.says("The login in the browser failed: " + reason + ".")
			if waited := time.Since(start); strings.Contains(reason, "5 minutes") != (waited == 5*time.Minute) {
				d.Errorf("%s: after %v", reason, waited)
			}
			if d.asked != 1 {
				d.Errorf("%d prompts", d.asked)
			}
		})
	}
}

// LOG-3: --manual opens no browser.
func TestLoginManual(t *testing.T) {
	atDesk(t, func(d *desk) {
		d.login.prompt = d.pastes
		d.succeeds(familyLoginCommand{Name: "work", Mode: modeOAuth, Manual: true})
		d.stored("work", "a")
		if u, err := url.Parse(d.address()); err != nil || u.Query().Get("redirect_uri") != sim.ManualRedirect {
			d.Errorf("%s (%v)", u, err)
		}
	})
}

// LOG-3: a person may paste a wrong code a few times; a program may not.
func TestLoginWrongPastes(t *testing.T) {
	manual := familyLoginCommand{Name: "work", Mode: modeOAuth, Manual: true}
	pasting := func(d *desk, pastes ...string) {
		d.login.prompt = func(ctx context.Context, prompt string, hidden bool) (string, error) {
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
		d.says("this is not a code", "this code belongs to another login")
		if n := d.provider.Counters("").ByStatus[400]; n != 0 {
			d.Errorf("the provider refused %d requests", n)
		}
	})
	atDesk(t, func(d *desk) {
		pasting(d, "1", "2", "3", "4", "5#x")
		d.fails(manual, "this code belongs to another login")
		if d.asked != 5 {
			d.Errorf("%d prompts", d.asked)
		}
	})
	atDesk(t, func(d *desk) {
		d.login.interactive = false
		pasting(d, "code-a-1#another-state")
		d.fails(manual, "this code belongs to another login")
		if d.asked != 1 {
			d.Errorf("%d prompts", d.asked)
		}
	})
}

// LOG-3: a failed exchange is reported, and nothing is stored.
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
				d.login.browse, d.login.prompt = noBrowser, d.pastes
			}
			d.fails(familyLoginCommand{Name: "work", Mode: tt.mode}, tt.text)
		})
	}
}

// LOG-6: a login that cannot be written is reported as lost.
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

// LOG-4: a setup token by a pasted code. A browser is opened but is not needed.
func TestLoginSetupToken(t *testing.T) {
	for _, k := range []familyLoginCommand{{Name: "ci", Mode: modeSetupToken}, {Name: "ci", LongLived: true}} {
		atDesk(t, func(d *desk) {
			opened := ""
			d.login.browse = func(ctx context.Context, address string) error {
				opened = address
				return noBrowser(ctx, address)
			}
			d.login.prompt = func(ctx context.Context, prompt string, hidden bool) (string, error) {
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

// LOG-1: nothing is stored after an interrupt at any point.
func TestLoginInterrupted(t *testing.T) {
	interrupted := func(d *desk, k familyLoginCommand, ctx context.Context) {
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
		d.login.prompt = func(ctx context.Context, _ string, _ bool) (string, error) { cancel(); return "", ctx.Err() }
		interrupted(d, familyLoginCommand{Name: "work"}, ctx)
	})
}
