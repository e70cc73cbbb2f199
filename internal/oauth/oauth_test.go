package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"shunt/internal/family/claude"
	"shunt/internal/oauth"
	"shunt/internal/secret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answering(status int, body string) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		w.WriteHeader(status)
		_, _ = w.WriteString(body)
		return w.Result(), nil
	}
}

// TOK-3: the request as the provider expects it, over a real socket, and from shunt under its own name.
func TestRefreshRequest(t *testing.T) {
	var got map[string]string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "POST" || r.URL.Path != "/v1/oauth/token" || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("User-Agent") != "shunt" || r.Header.Get("Authorization") != "" {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, `{"access_token":"a2","refresh_token":"r2","expires_in":28800,"scope":"x"}`)
	}))
	defer server.Close()
	vendor := claude.Family.Vendor
	vendor.TokenURL = server.URL + "/v1/oauth/token"
	grant, err := oauth.NewClient(vendor, nil).Refresh(t.Context(), oauth.Credential{Refresh: secret.New("r1")})
	if err != nil {
		t.Fatal(err)
	}
	want := oauth.Grant{AccessToken: secret.New("a2"), RefreshToken: secret.New("r2"), Lifetime: 8 * time.Hour}
	if grant != want {
		t.Errorf("grant = %v (%s)", grant, grant.AccessToken.Reveal())
	}
	if diff := cmp.Diff(map[string]string{
		"grant_type": "refresh_token", "refresh_token": "r1", "client_id": "9d1c250a-e61b-44d9-88ed-5944d1962f5e",
		"scope": "user:profile user:inference user:sessions:claude_code user:mcp_servers user:file_upload",
	}, got); diff != "" {
		t.Error(diff)
	}
}

// TOK-3: refresh_token and expires_in may be absent; an unexpected form of expires_in does not lose the tokens.
func TestRefreshReplies(t *testing.T) {
	for reply, want := range map[string]oauth.Grant{
		`{"access_token":"a"}`:                                                     {Lifetime: time.Hour},
		`{"access_token":" a\n","refresh_token":"r"}`:                              {RefreshToken: secret.New("r"), Lifetime: time.Hour},
		`{"access_token":"a","refresh_token":null,"expires_in":null}`:              {Lifetime: time.Hour},
		`{"access_token":"a","refresh_token":"","expires_in":"soon"}`:              {Lifetime: time.Hour},
		`{"access_token":"a","refresh_token":"r","expires_in":-5}`:                 {RefreshToken: secret.New("r"), Lifetime: time.Hour},
		`{"access_token":"a","refresh_token":"r","expires_in":[]}`:                 {RefreshToken: secret.New("r"), Lifetime: time.Hour},
		`{"access_token":"a","expires_in":1.5}`:                                    {Lifetime: 1500 * time.Millisecond},
		`{"access_token":"a","expires_in":1e300}`:                                  {Lifetime: 10 * 365 * 24 * time.Hour},
		`{"access_token":"a","error":"invalid_grant","token_type":7,"account":{}}`: {Lifetime: time.Hour},
		`{"access_token":"a","account":{"uuid":" u-1 "},"organization":{"uuid":"o-1"}}`: {
			Lifetime: time.Hour, Owner: oauth.Owner{Account: "u-1", Organization: "o-1"},
		},
		`{"access_token":"a","account":[],"organization":{"uuid":"a\nb"}}`: {Lifetime: time.Hour},
	} {
		want.AccessToken = secret.New("a")
		grant, err := oauth.NewClient(claude.Family.Vendor, answering(200, reply)).Refresh(t.Context(), oauth.Credential{Refresh: secret.New("r1")})
		if err != nil || grant != want {
			t.Errorf("%s: %+v, %v", reply, grant, err)
		}
	}
}

// TOK-7, TOK-7a, TOK-7b: only an error field of invalid_grant in a 400, 401 or 403 means that the login is invalid; prose
// and other statuses do not.
func TestRefreshErrors(t *testing.T) {
	for _, tt := range []struct {
		status  int
		reply   string
		invalid bool
		text    string
	}{
		{400, `{"error":"invalid_grant","error_description":"x"}`, true, "the token endpoint returned status 400 (invalid_grant)"},
		{401, `{"error":"invalid_grant"}`, true, "the token endpoint returned status 401 (invalid_grant)"},
		{403, `{"error":"invalid_grant"}`, true, "the token endpoint returned status 403 (invalid_grant)"},
		{200, `{"error":"invalid_grant"}`, false, "the token endpoint returned status 200 (invalid_grant)"},
		{302, `{"error":"invalid_grant"}`, false, "the token endpoint returned status 302 (invalid_grant)"},
		{404, `{"error":"invalid_grant"}`, false, "the token endpoint returned status 404 (invalid_grant)"},
		{422, `{"error":"invalid_grant"}`, false, "the token endpoint returned status 422 (invalid_grant)"},
		{429, `{"error":"invalid_grant"}`, false, "the token endpoint returned status 429 (invalid_grant)"},
		{500, `{"error":"invalid_grant"}`, false, "the token endpoint returned status 500 (invalid_grant)"},
		{503, `{"error":"invalid_grant"}`, false, "the token endpoint returned status 503 (invalid_grant)"},
		{400, `{"error":"invalid_request","error_description":"invalid_grant"}`, false, "the token endpoint returned status 400 (invalid_request)"},
		{400, `{"type":"error","error":{"type":"invalid_grant"}}`, false, "the token endpoint returned status 400"},
		{400, `{"error":"Refresh token r1 not found"}`, false, "the token endpoint returned status 400"},
		{400, `invalid_grant`, false, "the token endpoint returned status 400"},
		{429, `{"error":"rate_limited"}`, false, "the token endpoint returned status 429 (rate_limited)"},
		{500, ``, false, "the token endpoint returned status 500"},
		{200, `<html>r1</html>`, false, "the response of the token endpoint is not a JSON object"},
		{200, `{"refresh_token":"r2"}`, false, "the response of the token endpoint has no access_token"},
		{200, strings.Repeat(" ", 1<<20) + `{"access_token":"a"}`, false, "the response of the token endpoint has more than 1048576 bytes"},
	} {
		_, err := oauth.NewClient(claude.Family.Vendor, answering(tt.status, tt.reply)).Refresh(t.Context(), oauth.Credential{Refresh: secret.New("r1")})
		if err == nil || err.Error() != tt.text || errors.Is(err, oauth.ErrInvalidGrant) != tt.invalid {
			t.Errorf("%d %.60s: %v", tt.status, tt.reply, err)
		}
	}
}

// TOK-7c: no redirect is followed, so the refresh token goes to one place only.
func TestRefreshFollowsNoRedirect(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		calls := 0
		_, err := oauth.NewClient(claude.Family.Vendor, roundTripper(func(r *http.Request) (*http.Response, error) {
			calls++
			w := httptest.NewRecorder()
			http.Redirect(w, r, "https://elsewhere.example/", status)
			return w.Result(), nil
		})).Refresh(t.Context(), oauth.Credential{Refresh: secret.New("r1")})
		var response *oauth.StatusError
		if !errors.As(err, &response) || response.Status != status || calls != 1 {
			t.Errorf("%d: %d calls, %v", status, calls, err)
		}
	}
}

// TOK-7c: an endpoint that never responds, or never ends its response, gets 30 s.
func TestRefreshTimeout(t *testing.T) {
	silent := roundTripper(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	endless := roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(until{r.Context()})}, nil
	})
	for name, transport := range map[string]roundTripper{"silent": silent, "endless": endless} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			_, err := oauth.NewClient(claude.Family.Vendor, transport).Refresh(t.Context(), oauth.Credential{Refresh: secret.New("r1")})
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 30*time.Second {
				t.Errorf("%s: after %v: %v", name, time.Since(start), err)
			}
		})
	}
}

type until struct{ ctx context.Context }

func (u until) Read([]byte) (int, error) { <-u.ctx.Done(); return 0, u.ctx.Err() }

// FO-0, TOK-5: net/http must be unable to send a refresh token twice on its own.
func TestRefreshIsNotReplayable(t *testing.T) {
	_, err := oauth.NewClient(claude.Family.Vendor, roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.GetBody != nil {
			t.Error("the request has GetBody")
		}
		return nil, io.ErrUnexpectedEOF
	})).Refresh(t.Context(), oauth.Credential{Refresh: secret.New("r1")})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// TOK-3: https anywhere, http on loopback only. CFG-41: the host is read in lower case, so that the proxy rules and the dialer
// see the same name as this rule.
func TestOverridden(t *testing.T) {
	for override, want := range map[string]string{
		"":                                "",
		"https://example.com/token":       "https://example.com/token",
		"HTTPS://Example.COM:8443/T?a=B":  "https://example.com:8443/T?a=B",
		"http://localhost:8080/token":     "http://localhost:8080/token",
		"http://LOCALHOST/Token":          "http://localhost/Token",
		"http://127.0.0.1:9/token":        "http://127.0.0.1:9/token",
		"http://127.8.8.8/":               "http://127.8.8.8/",
		"http://[::1]:9/":                 "http://[::1]:9/",
		"http://localho\u017ft/token":     "",
		"http://example.com/":             "",
		"http://localhost.example.com/":   "",
		"http://127.0.0.1.example.com/":   "",
		"http://localhost@example.com/":   "",
		"http://10.0.0.1/":                "",
		"ftp://localhost/":                "",
		"https:///token":                  "",
		"localhost:8080":                  "",
		"https://user:pa%zz@example.com/": "",
	} {
		vendor, warnings := claude.Family.Vendor.Overridden(func(name string) string {
			return map[string]string{"SHUNT_CLAUDE_TOKEN_URL": override}[name]
		})
		expected := claude.Family.Vendor
		if want != "" {
			expected.TokenURL = want
		}
		checkOverridden(t, override, vendor, expected, warnings, want != "")
	}
}

// LOG-2: a person is sent only to the provider's own page, or to one on this machine.
func TestAuthorizeOverridden(t *testing.T) {
	for override, taken := range map[string]bool{
		"":                                  false,
		"http://localhost:8080/authorize":   true,
		"https://127.0.0.1/authorize?x=1":   true,
		"http://[::1]:9/":                   true,
		"https://claude.com/authorize":      false,
		"https://127.0.0.1.example.com/":    false,
		"http://127.0.0.1@example.com/":     false,
		"javascript://localhost/%0aalert()": false,
		"file://localhost/etc":              false,
		"127.0.0.1:9":                       false,
	} {
		vendor, warnings := claude.Family.Vendor.Overridden(func(name string) string {
			return map[string]string{"SHUNT_CLAUDE_AUTHORIZE_URL": override}[name]
		})
		want := claude.Family.Vendor
		if taken {
			want.AuthorizeURL = override
		}
		checkOverridden(t, override, vendor, want, warnings, taken)
	}
}

func addresses(v oauth.Vendor) [3]string {
	return [...]string{v.AuthorizeURL, v.TokenURL, v.ManualRedirect}
}

func checkOverridden(t *testing.T, override string, vendor, want oauth.Vendor, warnings []string, taken bool) {
	t.Helper()
	if addresses(vendor) != addresses(want) || (len(warnings) == 0) != (taken || override == "") {
		t.Errorf("%q: %q, warnings %q", override, addresses(vendor), warnings)
	}
	if u, err := url.Parse(override); err == nil && u.Host != "" && strings.Contains(strings.Join(warnings, " "), u.Host) {
		t.Errorf("the warning quotes the value: %s", warnings)
	}
}

// TOK-3: over plain HTTP, a host is dialed only if its address is a loopback address.
func TestPlainHTTPDialsLoopbackOnly(t *testing.T) {
	vendor := claude.Family.Vendor
	vendor.TokenURL = "http://192.0.2.1:9/token"
	_, err := oauth.NewClient(vendor, nil).Refresh(t.Context(), oauth.Credential{Refresh: secret.New("r1")})
	if err == nil || !strings.Contains(err.Error(), "192.0.2.1:9 is not a loopback address") {
		t.Error(err)
	}
}
