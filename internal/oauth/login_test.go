package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/family/claude"
	"shunt/internal/oauth"
	"shunt/internal/sim"
)

// world is a simulated provider, a client of its authorization server, and a browser that reaches both it and callbacks.
type world struct {
	*testing.T
	provider *sim.Provider
	client   *oauth.Client
	callback *sim.PipeListener
	browser  *http.Client
}

const callbackAddress = "127.0.0.1:54321"

// in runs the test in a synctest bubble, which fails if a goroutine is left.
func in(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		provider := sim.New(sim.Config{Accounts: []sim.Account{{Name: "a"}}})
		l, callback := sim.Listen("provider.test:80"), sim.Listen(callbackAddress)
		server := sim.Serve(l, provider)
		transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == callbackAddress {
				return callback.Dial(ctx, network, address)
			}
			return l.Dial(ctx, network, address)
		}, DisableKeepAlives: true}
		vendor := claude.Family.Vendor
		vendor.AuthorizeURL, vendor.TokenURL = "http://provider.test"+sim.AuthorizePath, "http://provider.test"+sim.TokenPath
		test(&world{t, provider, oauth.NewClient(vendor, transport), callback, &http.Client{Transport: transport}})
		if err := errors.Join(callback.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
}

// paste has a person allow the login and returns what the page gives them to paste.
func (w *world) paste(l *oauth.Login) (code, state string) {
	w.Helper()
	pasted, err := sim.Browser{Account: "a", Client: w.browser}.Authorize(w.Context(), l.AuthorizeURL())
	if err != nil {
		w.Fatal(err)
	}
	code, state, ok := w.client.SplitCode(pasted)
	if !ok {
		w.Fatalf("%q is no code", pasted)
	}
	return code, state
}

// refuses requires an error with the text that quotes neither the secrets nor a token (TOK-8).
func (w *world) refuses(_ oauth.Grant, err error, text string, secrets ...string) {
	w.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		w.Errorf("err = %v, want %q", err, text)
	}
	for _, s := range append(secrets, "sk-ant-") {
		if strings.Contains(fmt.Sprint(err), s) {
			w.Errorf("TOK-8: the error quotes a secret: %v", err)
		}
	}
}

// LOG-2: the address of the page, with a challenge and a state that are unguessable and used once.
func TestAuthorizeURL(t *testing.T) {
	client := oauth.NewClient(claude.Family.Vendor, nil)
	seen := map[string]bool{}
	for range 3 {
		u, err := url.Parse(client.Begin(oauth.Renewable, "http://127.0.0.1:1/callback").AuthorizeURL())
		if err != nil {
			t.Fatal(err)
		}
		query := u.Query()
		challenge, state := query.Get("code_challenge"), query.Get("state")
		query.Del("code_challenge")
		query.Del("state")
		if got, want := query.Encode(), "client_id=9d1c250a-e61b-44d9-88ed-5944d1962f5e&code=true&code_challenge_method=S256"+
			"&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback&response_type=code"+
			"&scope=user%3Aprofile+user%3Ainference+user%3Asessions%3Aclaude_code+user%3Amcp_servers+user%3Afile_upload"; got != want {
			t.Errorf("query %s", got)
		}
		if u.Scheme != "https" || u.Host != "claude.com" || u.Path != "/cai/oauth/authorize" {
			t.Errorf("page %s", u)
		}
		if len(challenge) != 43 || len(state) < 43 || challenge == state || seen[challenge] || seen[state] {
			t.Errorf("challenge %q, state %q", challenge, state)
		}
		seen[challenge], seen[state] = true, true
	}
	setup := client.Begin(oauth.SetupToken, "").AuthorizeURL()
	if !strings.Contains(setup, "&scope=user%3Ainference&") || !strings.Contains(setup, "redirect_uri=https%3A%2F%2Fplatform.claude.com%2Foauth%2Fcode%2Fcallback&") {
		t.Error(setup)
	}
}

// LOG-3: the code and the verifier yield the tokens and their owner. A code works once.
func TestExchange(t *testing.T) {
	in(t, func(w *world) {
		login := w.client.Begin(oauth.Renewable, "")
		code, state := w.paste(login)
		grant, err := login.Exchange(w.Context(), code, state)
		if err != nil {
			w.Fatal(err)
		}
		if grant.AccessToken.Reveal() != w.provider.Token("a") || grant.RefreshToken.IsZero() || grant.Lifetime != 8*time.Hour ||
			grant.Owner.Account != w.provider.UUID("a") || grant.Owner.Organization != w.provider.Organization("a") {
			w.Errorf("%+v", grant)
		}
		grant, err = login.Exchange(w.Context(), code, state)
		w.refuses(grant, err, "the code was rejected because it has been used before or is too old", code, state)
		if !errors.Is(err, oauth.ErrInvalidGrant) {
			w.Error(err)
		}
	})
}

// LOG-3: the exact request of an exchange.
func TestExchangeRequest(t *testing.T) {
	for kind, want := range map[oauth.Kind]string{
		oauth.Renewable: `{"client_id":"9d1c250a-e61b-44d9-88ed-5944d1962f5e","code":"c","code_verifier":"V","grant_type":"authorization_code",` +
			`"redirect_uri":"https://platform.claude.com/oauth/code/callback","state":"S"}`,
		oauth.SetupToken: `{"client_id":"9d1c250a-e61b-44d9-88ed-5944d1962f5e","code":"c","code_verifier":"V","expires_in":31536000,` +
			`"grant_type":"authorization_code","redirect_uri":"https://platform.claude.com/oauth/code/callback","state":"S"}`,
	} {
		var sent string
		client := oauth.NewClient(claude.Family.Vendor, roundTripper(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			sent = string(body)
			return nil, errors.Join(io.ErrUnexpectedEOF, err)
		}))
		login := client.Begin(kind, "")
		state := stateOf(t, login)
		if _, err := login.Exchange(t.Context(), "c", state); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(sent), &fields); err != nil {
			t.Fatal(err)
		}
		verifier, _ := fields["code_verifier"].(string)
		if len(verifier) < 43 || verifier == state {
			t.Errorf("verifier %q", verifier)
		}
		if got := strings.NewReplacer(verifier, "V", state, "S").Replace(sent); got != want {
			t.Errorf("sent %s\nwant %s", got, want)
		}
	}
}

func stateOf(t *testing.T, l *oauth.Login) string {
	t.Helper()
	u, err := url.Parse(l.AuthorizeURL())
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("state")
}

// LOG-3: a code with a foreign state is not sent, and the login remains valid.
func TestExchangeState(t *testing.T) {
	in(t, func(w *world) {
		login := w.client.Begin(oauth.Renewable, "")
		code, state := w.paste(login)
		for _, wrong := range []string{"", state[1:], state + "x", "another", stateOf(w.T, w.client.Begin(oauth.Renewable, ""))} {
			if _, err := login.Exchange(w.Context(), code, wrong); !errors.Is(err, oauth.ErrState) {
				w.Errorf("state %q: %v", wrong, err)
			}
		}
		if n := len(w.provider.Requests()); n != 1 {
			w.Errorf("%d requests, want that for the page only", n)
		}
		if _, err := login.Exchange(w.Context(), code, state); err != nil {
			w.Error(err)
		}
	})
}

// LOG-3: PKCE: the code of one login is invalid in another, even with its state.
func TestExchangeForeignCode(t *testing.T) {
	in(t, func(w *world) {
		mine, theirs := w.client.Begin(oauth.Renewable, ""), w.client.Begin(oauth.Renewable, "")
		code, _ := w.paste(theirs)
		grant, err := mine.Exchange(w.Context(), code, stateOf(w.T, mine))
		w.refuses(grant, err, "the code was rejected", code)
	})
}

// LOG-4: a setup token needs an account; a year is requested, and assumed if the response does not say.
func TestExchangeSetupToken(t *testing.T) {
	in(t, func(w *world) {
		login := w.client.Begin(oauth.SetupToken, "")
		code, state := w.paste(login)
		grant, err := login.Exchange(w.Context(), code, state)
		if err != nil || grant.Lifetime != 365*24*time.Hour || !grant.RefreshToken.IsZero() || grant.Owner.Account != w.provider.UUID("a") {
			w.Errorf("%+v, %v", grant, err)
		}
	})
	login := oauth.NewClient(claude.Family.Vendor, answering(200, `{"access_token":"a","account":{"uuid":"u"}}`)).Begin(oauth.SetupToken, "")
	if grant, err := login.Exchange(t.Context(), "c", stateOf(t, login)); err != nil || grant.Lifetime != 365*24*time.Hour {
		t.Errorf("%v, %v", grant.Lifetime, err)
	}
}

// LOG-3, LOG-4: a response without what the login needs is an error.
func TestExchangeReplies(t *testing.T) {
	in(t, func(w *world) {
		for _, tt := range []struct {
			kind  oauth.Kind
			reply string
			text  string
		}{
			{oauth.Renewable, `{"access_token":"sk-ant-1"}`, "has no refresh_token"},
			{oauth.Renewable, `{"access_token":"sk-ant-1","refresh_token":" "}`, "has no refresh_token"},
			{oauth.SetupToken, `{"access_token":"sk-ant-1","refresh_token":"sk-ant-2"}`, "does not say whose token it is"},
			{oauth.SetupToken, `{"access_token":"sk-ant-1","account":{"uuid":"not a uuid"}}`, "does not say whose token it is"},
			{oauth.Renewable, `{"refresh_token":"sk-ant-2"}`, "has no access_token"},
			{oauth.Renewable, `sk-ant-3`, "is not a JSON object"},
		} {
			login := w.client.Begin(tt.kind, "")
			code, state := w.paste(login)
			w.provider.Inject("", sim.Respond(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, tt.reply) }).On(sim.TokenPath).Times(1))
			grant, err := login.Exchange(w.Context(), code, state)
			w.refuses(grant, err, tt.text, code, state)
		}
		for _, f := range []sim.Fault{
			sim.ServerError(500), sim.Redirect("http://elsewhere.test/"), sim.ResetConnection(), sim.Failure(400, messages.TypeInvalidRequest, "sk-ant-4"),
		} {
			login := w.client.Begin(oauth.Renewable, "")
			code, state := w.paste(login)
			w.provider.Inject("", f.On(sim.TokenPath).Times(1))
			grant, err := login.Exchange(w.Context(), code, state)
			w.refuses(grant, err, "", code, state)
		}
	})
}

// LOG-3: how a pasted code is split.
func TestSplitCode(t *testing.T) {
	for pasted, want := range map[string][2]string{
		"c#s": {"c", "s"}, " c#s\n": {"c", "s"}, "c#s#t": {"c", "s#t"},
		"": {}, "c": {}, "c#": {}, "#s": {}, "#": {},
	} {
		code, state, ok := oauth.NewClient(claude.Family.Vendor, nil).SplitCode(pasted)
		if ok != (want[0] != "") || ok && [2]string{code, state} != want {
			t.Errorf("%q: %q %q %v", pasted, code, state, ok)
		}
	}
}
