package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/account"
	"shunt/internal/family"
	"shunt/internal/family/chatgpt"
	"shunt/internal/family/kimi"
	"shunt/internal/oauth"
	"shunt/internal/observe/observetest"
	"shunt/internal/sim"
	simchatgpt "shunt/internal/sim/chatgpt"
	simkimi "shunt/internal/sim/kimi"
)

// toHandler sends requests for any host to a handler.
type toHandler struct{ http.Handler }

func (h toHandler) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), r.Context().Err()
}

// terminal is a login at a simulated provider, and what it prints.
type terminal struct {
	*login
	out  bytes.Buffer
	said observetest.Log // the countdown writes to it as well
}

func newTerminal(t *testing.T, f *family.Family, provider http.Handler) *terminal {
	t.Helper()
	d := &terminal{}
	d.login = &login{
		family: f, store: account.OpenStore(filepath.Join(t.TempDir(), "store"), f.Credentials), client: oauth.NewClient(f.Vendor, toHandler{provider}),
		getenv: func(string) string { return "" }, stdout: &d.out, stderr: &d.said,
		prompt: func(context.Context, string, bool) (string, error) { return "", io.EOF },
		browse: noBrowser,
		listen: func() (net.Listener, error) { return nil, syscall.EADDRINUSE },
	}
	return d
}

// stored returns the file of the account "work".
func (d *terminal) stored(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(d.store.Path("work"))
	if err != nil {
		t.Fatalf("%v\n%s", err, d.said.String())
	}
	return string(text)
}

// GPT-9, KIMI-1: the command shows a page and a code, opens the browser, and stores what the person allows.
func TestLoginByDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := simchatgpt.New(simchatgpt.Config{Accounts: []simchatgpt.Account{{Name: "a"}}})
		k := simkimi.New(simkimi.Config{Accounts: []simkimi.Account{{Name: "a"}}})
		for _, v := range []struct {
			family   *family.Family
			provider http.Handler
			mode     string
			page     string
			approve  func(code string) bool
			token    func(string) string
		}{
			{&chatgpt.Family, c, modeDevice, chatgpt.Family.Vendor.Device.Page, func(code string) bool { return c.Approve(code, "a") }, c.Token},
			{&kimi.Family, k, "", simkimi.DevicePage, func(code string) bool { return k.Approve(code, "a") }, k.Token},
		} {
			d := newTerminal(t, v.family, v.provider)
			d.interactive = true
			opened := make(chan string, 1)
			d.browse = func(_ context.Context, address string) error { opened <- address; return nil }
			done := make(chan error, 1)
			go func() { done <- d.run(t.Context(), &familyLoginCommand{Name: "work", Mode: v.mode, family: v.family}) }()
			if page := <-opened; !strings.Contains(page, v.page) {
				t.Errorf("opened %s", page)
			}
			time.Sleep(3 * time.Second)
			synctest.Wait()
			said := d.said.String()
			if !strings.Contains(said, ":57 left") || !v.approve(strings.TrimSpace(said[strings.LastIndex(said, "\n\n  "):strings.Index(said, "\n\n\rWaiting")])) {
				t.Errorf("%s", said)
			}
			if err := <-done; err != nil || !strings.Contains(d.stored(t), v.token("a")) {
				t.Errorf("%s: %v\n%s", v.family.Name, err, d.said.String())
			}
			if strings.Contains(d.said.String()+d.out.String(), v.token("a")) {
				t.Error("LOG-6: the token is shown")
			}
		}
	})
}

// GPT-9: the browser takes the code to the one port that the provider accepts. If that is in use, the command says so and names
// another way.
func TestLoginAtRegisteredPort(t *testing.T) {
	c := simchatgpt.New(simchatgpt.Config{Accounts: []simchatgpt.Account{{Name: "a"}}})
	d := newTerminal(t, &chatgpt.Family, c)
	err := d.run(t.Context(), &familyLoginCommand{Name: "work", Mode: modeOAuth})
	if err == nil || !strings.Contains(err.Error(), "port 1455 is in use") || !strings.Contains(err.Error(), "--mode device") {
		t.Errorf("%v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		callback := sim.Listen("127.0.0.1:1455")
		d := newTerminal(t, &chatgpt.Family, c)
		d.listen = func() (net.Listener, error) { return callback, nil }
		d.browse = func(ctx context.Context, address string) error {
			u, err := url.Parse(address)
			if err != nil {
				return err
			}
			query := u.Query()
			if query.Get("redirect_uri") != "http://127.0.0.1:1455/auth/callback" || query.Get("codex_cli_simplified_flow") != "true" {
				return errors.New(address)
			}
			query.Set("account", "a")
			u.RawQuery = query.Encode()
			response, err := toHandler{c}.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil))
			if err != nil {
				return err
			}
			browser := http.Client{Transport: &http.Transport{DialContext: callback.Dial, DisableKeepAlives: true}}
			page, err := browser.Get(response.Header.Get("Location"))
			if err == nil {
				page.Body.Close()
			}
			return err
		}
		if err := d.run(t.Context(), &familyLoginCommand{Name: "work", Mode: modeOAuth}); err != nil || !strings.Contains(d.stored(t), c.Token("a")) {
			t.Errorf("%v\n%s", err, d.said.String())
		}
	})
}

// GPT-9: without a terminal, the login of Codex is copied; if Codex keeps it in the keyring, the command says so.
func TestLoginImportsCodex(t *testing.T) {
	c := simchatgpt.New(simchatgpt.Config{Accounts: []simchatgpt.Account{{Name: "a"}}})
	d := newTerminal(t, &chatgpt.Family, c)
	home := t.TempDir()
	d.getenv = func(name string) string { return map[string]string{"CODEX_HOME": home}[name] }
	command := &familyLoginCommand{Name: "work"}
	if err := d.run(t.Context(), command); err == nil || strings.Contains(err.Error(), "keyring") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte("cli_auth_credentials_store = \"keyring\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.run(t.Context(), command); err == nil || !strings.Contains(err.Error(), "keyring") || !strings.Contains(err.Error(), "--mode device") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(home, "auth.json"), c.Credentials("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.run(t.Context(), command); err != nil || !strings.Contains(d.stored(t), c.Token("a")) {
		t.Errorf("%v\n%s", err, d.said.String())
	}
}
