package oauth_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/family/claude"
	"shunt/internal/oauth"
	"shunt/internal/sim"
)

// waiting is a login that waits for its callback.
type waiting struct {
	*world
	login *oauth.Login
	done  chan struct{}

	code, state string // after done
	err         error
}

func (w *world) wait(ctx context.Context) *waiting {
	callback := oauth.NewCallback(w.callback, "")
	v := &waiting{world: w, login: w.client.Begin(oauth.Renewable, callback.Redirect()), done: make(chan struct{})}
	go func() {
		v.code, v.state, v.err = callback.Wait(ctx, v.login)
		close(v.done)
	}()
	return v
}

// visit sends a request to the callback as a browser does.
func (v *waiting) visit(method, target string, status int, parts ...string) {
	v.Helper()
	request, err := http.NewRequestWithContext(v.Context(), method, "http://"+callbackAddress+target, nil)
	if err != nil {
		v.Fatal(err)
	}
	response, err := v.browser.Do(request)
	if err != nil {
		v.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		v.Errorf("%s %s: %s %s (%v)", method, target, response.Status, page, err)
	}
	for _, part := range parts {
		if !strings.Contains(string(page), part) {
			v.Errorf("%s %s: %q is not in %s", method, target, part, page)
		}
	}
	if strings.Contains(string(page), "planted") {
		v.Errorf("the page quotes the request: %s", page)
	}
}

func (v *waiting) open() bool {
	synctest.Wait()
	select {
	case <-v.done:
		return false
	default:
		return true
	}
}

// LOG-2: the browser brings the code to the redirect URI, the person sees a page, and the listener is closed.
func TestCallback(t *testing.T) {
	in(t, func(w *world) {
		v := w.wait(w.Context())
		if !strings.Contains(v.login.AuthorizeURL(), "redirect_uri=http%3A%2F%2F127.0.0.1%3A54321%2Fcallback&") {
			w.Error(v.login.AuthorizeURL())
		}
		if _, err := (sim.Browser{Account: "a", Client: w.browser}).Authorize(w.Context(), v.login.AuthorizeURL()); err != nil {
			w.Fatal(err)
		}
		<-v.done
		if v.err != nil {
			w.Fatal(v.err)
		}
		if grant, err := v.login.Exchange(w.Context(), v.code, v.state); err != nil || grant.AccessToken.Reveal() != w.provider.Token("a") {
			w.Errorf("%v, %v", grant, err)
		}
		if _, err := w.callback.Dial(w.Context(), "", ""); !errors.Is(err, net.ErrClosed) {
			w.Errorf("the listener is open: %v", err)
		}
	})
}

// LOG-2: a request with a wrong or missing state gets 400, whatever else it has, and the wait continues.
func TestCallbackWaitsOn(t *testing.T) {
	in(t, func(w *world) {
		v := w.wait(w.Context())
		state := stateOf(w.T, v.login)
		for _, wrong := range []string{
			"", "?code=planted", "?code=planted&state=", "?code=planted&state=planted", "?code=planted&state=" + state + "x", "?state=" + state,
			"?code=&state=" + state, "?error=access_denied", "?error=access_denied&state=planted", "?code=planted&state=x&state=" + state, "?;",
		} {
			v.visit("GET", "/callback"+wrong, 400, "This does not belong to the login that shunt is waiting for.")
		}
		v.visit("HEAD", "/callback?code=planted&state="+state, 400)
		v.visit("POST", "/callback?code=planted&state="+state, 405)
		v.visit("GET", "/favicon.ico", 404)
		v.visit("GET", "/?code=planted&state="+state, 404)
		if !v.open() {
			w.Fatalf("the wait is over: %v", v.err)
		}
		v.visit("GET", "/callback?code=planted&state="+state, 200, "shunt has received the code.")
		<-v.done
		if v.err != nil || v.code != "planted" || v.state != state {
			w.Errorf("%q %q %v", v.code, v.state, v.err)
		}
	})
}

// LOG-2: a person or a provider that denies the login ends the wait at once.
func TestCallbackDenied(t *testing.T) {
	for refusal, text := range map[string]string{
		"access_denied": "the login was denied", "server_error": "the login was denied (server_error)", "planted%20text": "the login was denied",
	} {
		in(t, func(w *world) {
			v := w.wait(w.Context())
			v.visit("GET", "/callback?error="+refusal+"&error_description=planted&state="+stateOf(w.T, v.login), 200, "The login was denied.")
			<-v.done
			if !errors.Is(v.err, oauth.ErrDenied) || v.err.Error() != text {
				w.Errorf("%s: %v", refusal, v.err)
			}
		})
	}
	in(t, func(w *world) {
		v := w.wait(w.Context())
		if _, err := (sim.Browser{Client: w.browser}).Authorize(w.Context(), v.login.AuthorizeURL()); err != nil {
			w.Error(err)
		}
		<-v.done
		if !errors.Is(v.err, oauth.ErrDenied) {
			w.Error(v.err)
		}
	})
}

// LOG-2: the wait ends after five minutes, or with the context, also while a connection is half open.
func TestCallbackEnds(t *testing.T) {
	in(t, func(w *world) {
		start := time.Now()
		v := w.wait(w.Context())
		if _, err := w.callback.Dial(w.Context(), "", ""); err != nil {
			w.Fatal(err)
		}
		<-v.done
		if v.err == nil || v.err.Error() != "the browser did not respond within 5 minutes" || time.Since(start) != 5*time.Minute {
			w.Errorf("after %v: %v", time.Since(start), v.err)
		}
	})
	in(t, func(w *world) {
		ctx, cancel := context.WithCancelCause(w.Context())
		v := w.wait(ctx)
		cancel(io.ErrNoProgress)
		<-v.done
		if !errors.Is(v.err, io.ErrNoProgress) {
			w.Error(v.err)
		}
	})
	in(t, func(w *world) {
		v := w.wait(w.Context())
		synctest.Wait()
		_ = w.callback.Close()
		<-v.done
		if !errors.Is(v.err, net.ErrClosed) {
			w.Error(v.err)
		}
	})
}

// LOG-2: the callback works over a real socket, whose port is in the redirect URI.
func TestCallbackSocket(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	callback := oauth.NewCallback(l, "")
	login := oauth.NewClient(claude.Family.Vendor, nil).Begin(oauth.Renewable, callback.Redirect())
	if want := "http://" + l.Addr().String() + "/callback"; callback.Redirect() != want {
		t.Errorf("redirect %s, want %s", callback.Redirect(), want)
	}
	done := make(chan error, 1)
	go func() {
		code, _, err := callback.Wait(t.Context(), login)
		if code != "c" {
			err = errors.Join(err, errors.New("code "+code))
		}
		done <- err
	}()
	response, err := http.Get(callback.Redirect() + "?code=c&state=" + stateOf(t, login))
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || !strings.Contains(string(page), "shunt has received the code.") || response.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s (%v)", page, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}
