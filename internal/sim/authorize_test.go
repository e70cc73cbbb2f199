package sim_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"shunt/internal/sim"
)

const (
	verifier     = "a-verifier-of-at-least-43-characters-xxxxxxx"
	setupScope   = "user:inference"
	loopbackBack = "http://127.0.0.1:54321/callback"
)

// authorizing returns the URL of a valid login with the changes, which come in pairs; an empty value removes a key.
func authorizing(changes ...string) string {
	challenge := sha256.Sum256([]byte(verifier))
	query := url.Values{
		"code": {"true"}, "client_id": {sim.ClientID}, "response_type": {"code"}, "redirect_uri": {sim.ManualRedirect},
		"scope": {setupScope}, "state": {"some-state"}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])},
	}
	for i := 0; i < len(changes); i += 2 {
		query.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			query.Del(changes[i])
		}
	}
	return sim.AuthorizePath + "?" + query.Encode()
}

// code allows a login as account a and returns its code.
func (r *rig) code(changes ...string) string {
	r.Helper()
	got := r.do("", authorizing(changes...)+"&account=a", "")
	got.want(r, 200, "#some-state</code>")
	_, rest, _ := strings.Cut(got.body, "<code>")
	code, _, _ := strings.Cut(rest, "#")
	return code
}

func exchanging(code string, changes ...any) string {
	body := map[string]any{
		"grant_type": "authorization_code", "code": code, "redirect_uri": sim.ManualRedirect, "client_id": sim.ClientID,
		"code_verifier": verifier, "state": "some-state",
	}
	for i := 0; i < len(changes); i += 2 {
		body[changes[i].(string)] = changes[i+1]
	}
	text, _ := json.Marshal(body)
	return string(text)
}

// LOG-2, LOG-3: the page offers the decision, sends the result to a loopback redirect, and shows it for the manual redirect.
func TestAuthorizePage(t *testing.T) {
	bubble(t, sim.Config{Accounts: []sim.Account{{Name: "a"}, {Name: "b"}, {Name: "paid", APIKey: "k"}}}, func(r *rig) {
		consent := r.do("", authorizing(), "")
		consent.want(r, 200, "Allow as a<", "Allow as b<", `id="deny"`, "code_challenge=")
		if strings.Contains(consent.body, "paid") {
			r.Errorf("a paid key can log in: %s", consent.body)
		}
		r.do("", authorizing()+"&deny=true", "").want(r, 200, "denied")
		r.do("", authorizing()+"&account=paid", "").want(r, 400)
		r.do("", authorizing()+"&account=nobody", "").want(r, 400)

		allowed := r.do("", authorizing("redirect_uri", loopbackBack)+"&account=b", "")
		allowed.want(r, http.StatusFound)
		if to, err := allowed.Location(); err != nil || to.Host != "127.0.0.1:54321" || to.Path != "/callback" ||
			to.Query().Get("state") != "some-state" || to.Query().Get("code") == "" {
			r.Errorf("sent to %v (%v)", to, err)
		}
		denied := r.do("", authorizing("redirect_uri", loopbackBack)+"&deny=true", "")
		denied.want(r, http.StatusFound)
		if to, err := denied.Location(); err != nil || to.RawQuery != "error=access_denied&state=some-state" {
			r.Errorf("sent to %v (%v)", to, err)
		}

		for _, wrong := range [][]string{
			{"client_id", "x"},
			{"redirect_uri", "http://127.0.0.1:1/elsewhere"},
			{"redirect_uri", "http://10.0.0.1:1/callback"},
			{"redirect_uri", ""},
			{"response_type", "token"},
			{"code", ""},
			{"scope", "everything"},
			{"state", ""},
			{"code_challenge_method", "plain"},
			{"code_challenge", "short"},
		} {
			r.do("", authorizing(wrong...)+"&account=a", "").want(r, 400, "Invalid request")
		}
	})
}

// LOG-3: a code is valid once, for ten minutes, and for the login that it was issued for; the response names the account.
func TestCodes(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		replaced := credentials(r.T, r.Credentials("a")) // the login replaces these
		full := "user:profile user:inference user:sessions:claude_code user:mcp_servers user:file_upload"
		code := r.code("scope", full)
		first := r.do("", sim.TokenPath, exchanging(code))
		first.want(r, 200, r.UUID("a"), r.Organization("a"), `"expires_in":28800`, r.Token("a"), `"refresh_token"`, full)
		r.do("a", sim.MessagesPath, plainBody).want(r, 200)
		r.refresh(replaced.OAuth.RefreshToken).want(r, 400, "invalid_grant")
		r.do("", sim.TokenPath, exchanging(code)).want(r, 400, `"error":"invalid_grant"`)

		for name, value := range map[string]string{
			"code_verifier": "another", "redirect_uri": loopbackBack, "state": "another", "client_id": "another", "code": "another",
		} {
			r.do("", sim.TokenPath, exchanging(r.code(), name, value)).want(r, 400)
		}
		stolen := r.code()
		r.do("", sim.TokenPath, exchanging(stolen, "code_verifier", "another")).want(r, 400)
		r.do("", sim.TokenPath, exchanging(stolen)).want(r, 400, "invalid_grant")

		late := r.code()
		time.Sleep(10 * time.Minute)
		r.do("", sim.TokenPath, exchanging(late)).want(r, 400, "invalid_grant")
	})
}

// LOG-4: a code for inference only gives a token with the requested lifetime and no refresh token.
func TestSetupCode(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		got := r.do("", sim.TokenPath, exchanging(r.code(), "expires_in", 31536000))
		got.want(r, 200, `"expires_in":31536000`, `"scope":"user:inference"`, r.UUID("a"))
		if strings.Contains(got.body, "refresh_token") {
			r.Error(got.body)
		}
		var reply struct {
			AccessToken string `json:"access_token"`
		}
		if err := json.Unmarshal([]byte(got.body), &reply); err != nil {
			r.Fatal(err)
		}
		time.Sleep(364 * 24 * time.Hour)
		r.do("", sim.MessagesPath, plainBody, "Authorization", "Bearer "+reply.AccessToken).want(r, 200)
		time.Sleep(24 * time.Hour)
		r.do("", sim.MessagesPath, plainBody, "Authorization", "Bearer "+reply.AccessToken).want(r, 401, "expired")
		r.do("", sim.TokenPath, exchanging(r.code())).want(r, 200, `"expires_in":28800`)
	})
}

// LOG-2, LOG-3: the simulated browser decides and follows the redirect.
func TestBrowser(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		follow := *r.client
		follow.CheckRedirect = nil
		allow, deny := sim.Browser{Account: "a", Client: &follow}, sim.Browser{Client: &follow}
		code, err := allow.Authorize(r.Context(), "http://provider.test"+authorizing())
		if err != nil || !strings.HasSuffix(code, "#some-state") {
			r.Errorf("%q, %v", code, err)
		}
		code, err = deny.Authorize(r.Context(), "http://provider.test"+authorizing())
		if err != nil || code != "" {
			r.Errorf("%q, %v", code, err)
		}
		if _, err = allow.Authorize(r.Context(), "http://provider.test"+authorizing("state", "")); err == nil || !strings.Contains(fmt.Sprint(err), "400") {
			r.Error(err)
		}
	})
}
