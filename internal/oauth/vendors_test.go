package oauth_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/family/chatgpt"
	"shunt/internal/family/kimi"
	"shunt/internal/oauth"
	"shunt/internal/secret"
	"shunt/internal/version"
)

// GPT-3, KIMI-2: what the request of a refresh contains.
func TestVendorRequests(t *testing.T) {
	var header http.Header
	var body string
	record := roundTripper(func(r *http.Request) (*http.Response, error) {
		content, err := io.ReadAll(r.Body)
		header, body = r.Header, string(content)
		w := httptest.NewRecorder()
		_, _ = w.WriteString(`{"access_token":"a","id_token":"i","expires_in":900}`)
		return w.Result(), err
	})
	login := oauth.Credential{Refresh: secret.New("r"), DeviceID: "d"}
	if _, err := oauth.NewClient(chatgpt.Family.Vendor, record).Refresh(t.Context(), login); err != nil {
		t.Fatal(err)
	}
	const wanted = `{"client_id":"app_EMoamEEZ73f0CkXaXp7hrann","grant_type":"refresh_token","refresh_token":"r"}`
	if body != wanted || header.Get("Content-Type") != "application/json" || header.Get("X-Msh-Device-Id") != "" {
		t.Errorf("%s, %v", body, header)
	}
	grant, err := oauth.NewClient(kimi.Family.Vendor, record).Refresh(t.Context(), login)
	if err != nil || grant.Lifetime != 15*time.Minute || grant.DeviceID != "d" || grant.IDToken.Reveal() != "i" {
		t.Fatalf("%+v, %v", grant, err)
	}
	form, err := url.ParseQuery(body)
	if diff := cmp.Diff(url.Values{
		"client_id": {"17e5f671-d194-4dfb-9706-5516cb48c098"}, "grant_type": {"refresh_token"}, "refresh_token": {"r"},
	}, form); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
	for name, want := range map[string]string{
		"Content-Type":    "application/x-www-form-urlencoded",
		"X-Msh-Device-Id": "d", "X-Msh-Platform": "shunt", "X-Msh-Version": version.String(),
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// GPT-3, TOK-7a: which responses mean that the login is invalid, wherever the code is.
func TestVendorErrors(t *testing.T) {
	for _, c := range []struct {
		status  int
		reply   string
		invalid bool
		code    string
	}{
		{401, `{"error":{"code":"refresh_token_expired","message":"r1"}}`, true, "refresh_token_expired"},
		{401, `{"error":{"code":"new_code"}}`, true, "new_code"},
		{401, ``, true, ""},
		{400, `{"error":{"code":"refresh_token_reused","type":"invalid_request_error"}}`, true, "refresh_token_reused"},
		{403, `{"error":"refresh_token_invalidated"}`, true, "refresh_token_invalidated"},
		{400, `{"code":"invalid_grant"}`, true, "invalid_grant"},
		{400, `{"error":{"type":"invalid_grant"}}`, false, ""},
		{400, `{"error":{"code":"invalid_request"}}`, false, "invalid_request"},
		{400, `{"error":{"message":"refresh_token_reused"}}`, false, ""},
		{429, `{"error":{"code":"refresh_token_reused"}}`, false, "refresh_token_reused"},
		{500, `{"error":"invalid_grant"}`, false, "invalid_grant"},
		{403, `<html>`, false, ""},
	} {
		_, err := oauth.NewClient(chatgpt.Family.Vendor, answering(c.status, c.reply)).Refresh(t.Context(), oauth.Credential{Refresh: secret.New("r1")})
		var response *oauth.StatusError
		if !errors.As(err, &response) || response.Code != c.code || errors.Is(err, oauth.ErrInvalidGrant) != c.invalid || strings.Contains(err.Error(), "r1") {
			t.Errorf("%d %s: %v", c.status, c.reply, err)
		}
	}
}

// GPT-3: what a response lacks remains; one without any token is an error.
func TestPartialResponse(t *testing.T) {
	old := oauth.Credential{Access: secret.New("a1"), Refresh: secret.New("r1"), ID: secret.New("i1"), DeviceID: "d"}
	sent := time.Unix(1_800_000_000, 0)
	for reply, want := range map[string]oauth.Credential{
		`{"access_token":"a2"}`:                                          {Access: secret.New("a2"), Refresh: old.Refresh, ID: old.ID},
		`{"refresh_token":"r2","expires_in":60}`:                         {Access: old.Access, Refresh: secret.New("r2"), ID: old.ID},
		`{"id_token":"i2"}`:                                              {Access: old.Access, Refresh: old.Refresh, ID: secret.New("i2")},
		`{"access_token":"a2","refresh_token":"r2","id_token":" i2 \n"}`: {Access: secret.New("a2"), Refresh: secret.New("r2"), ID: secret.New("i2")},
		`{"token_type":"x"}`:                                             {},
	} {
		grant, err := oauth.NewClient(chatgpt.Family.Vendor, answering(200, reply)).Refresh(t.Context(), old)
		if want == (oauth.Credential{}) {
			if err == nil {
				t.Errorf("%s: %+v", reply, grant)
			}
			continue
		}
		want.Refreshed, want.DeviceID, want.UntilRejected = sent, "d", true
		if got := grant.Credential(old, sent); err != nil || got != want {
			t.Errorf("%s: %+v, %v", reply, got, err)
		}
	}
}

// KIMI-1, GPT-3, GPT-9: an origin on a loopback host replaces that of the vendor, but not the paths; a token URL of its own takes
// precedence.
func TestOverriddenOrigin(t *testing.T) {
	env := map[string]string{"SHUNT_KIMI_AUTH_URL": "http://127.0.0.1:8080/", "SHUNT_CODEX_AUTH_URL": "http://localhost:1"}
	getenv := func(name string) string { return env[name] }
	v, warnings := kimi.Family.Vendor.Overridden(getenv)
	if v.TokenURL != "http://127.0.0.1:8080/api/oauth/token" || v.AuthorizeURL != kimi.Family.Vendor.AuthorizeURL || len(warnings) > 0 {
		t.Errorf("%s, %s, %q", v.TokenURL, v.AuthorizeURL, warnings)
	}
	v, _ = chatgpt.Family.Vendor.Overridden(getenv)
	if v.TokenURL != "http://localhost:1/oauth/token" {
		t.Error(v.TokenURL)
	}
	env["SHUNT_CODEX_TOKEN_URL"] = "https://tokens.example/t"
	v, _ = chatgpt.Family.Vendor.Overridden(getenv)
	if v.TokenURL != "https://tokens.example/t" {
		t.Error(v.TokenURL)
	}
	env["SHUNT_KIMI_AUTH_URL"] = "https://auth.example"
	v, warnings = kimi.Family.Vendor.Overridden(getenv)
	if v.TokenURL != kimi.Family.Vendor.TokenURL || len(warnings) != 1 || !strings.HasPrefix(warnings[0], "SHUNT_KIMI_AUTH_URL is ignored") {
		t.Errorf("%s, %q", v.TokenURL, warnings)
	}
}

// GPT-3: an owner contradicts an earlier one only by what both know, but the user must be the same.
func TestOwnerIs(t *testing.T) {
	for _, c := range []struct {
		owner, before oauth.Owner
		want          bool
	}{
		{oauth.Owner{}, oauth.Owner{}, true},
		{oauth.Owner{Account: "a"}, oauth.Owner{}, true},
		{oauth.Owner{}, oauth.Owner{Account: "a", Organization: "o"}, true},
		{oauth.Owner{Account: "b"}, oauth.Owner{Account: "a"}, false},
		{oauth.Owner{Account: "a", Organization: "o"}, oauth.Owner{Account: "a", Organization: "p"}, false},
		{oauth.Owner{Account: "a", User: "u"}, oauth.Owner{Account: "a"}, true},
		{oauth.Owner{Account: "a", User: "u"}, oauth.Owner{Account: "a", User: "v"}, false},
		{oauth.Owner{Account: "a"}, oauth.Owner{Account: "a", User: "v"}, false},
	} {
		if got := c.owner.Is(c.before); got != c.want {
			t.Errorf("%+v after %+v: %v", c.owner, c.before, got)
		}
	}
}
