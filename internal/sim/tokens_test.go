package sim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"shunt/internal/sim"
)

// file holds the fields of a credentials file that shunt reads (ACC-1).
type file struct {
	OAuth struct {
		AccessToken, RefreshToken string
		ExpiresAt                 int64
	} `json:"claudeAiOauth"`
}

func credentials(t *testing.T, data []byte) file {
	t.Helper()
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func refreshBody(token string) string {
	return fmt.Sprintf(`{"grant_type":"refresh_token","refresh_token":%q,"client_id":%q}`, token, sim.ClientID)
}

func (r *rig) refresh(token string) reply { return r.do("", sim.TokenPath, refreshBody(token)) }

// ACC-1: the credentials file has the tokens, their expiry, and fields that belong to others.
func TestCredentials(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		data := r.Credentials("a")
		f := credentials(r.T, data)
		if f.OAuth.AccessToken != r.Token("a") || f.OAuth.RefreshToken == "" {
			r.Errorf("%+v", f)
		}
		if got := time.Until(time.UnixMilli(f.OAuth.ExpiresAt)); got != 8*time.Hour {
			r.Errorf("expires in %v", got)
		}
		var all map[string]any
		if err := json.Unmarshal(data, &all); err != nil || len(all) < 3 || len(all["claudeAiOauth"].(map[string]any)) < 5 {
			r.Errorf("foreign fields are missing: %s (%v)", data, err)
		}
	})
}

// TOK-3, TOK-5: access tokens expire, and a refresh token is valid once: of two refreshes with it, one fails.
func TestRefresh(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		first := credentials(r.T, r.Credentials("a")).OAuth
		time.Sleep(8 * time.Hour)
		r.do("a", sim.MessagesPath, plainBody).want(r, http.StatusUnauthorized, "authentication_error", "expired")

		var wg sync.WaitGroup
		codes := make([]int, 2)
		for i := range codes {
			wg.Go(func() { codes[i] = r.refresh(first.RefreshToken).StatusCode })
		}
		wg.Wait()
		if codes[0]+codes[1] != 200+400 {
			r.Errorf("two refreshes with one token: %v", codes)
		}
		r.do("", sim.MessagesPath, plainBody, "Authorization", "Bearer "+first.AccessToken).want(r, http.StatusUnauthorized)
		r.do("a", sim.MessagesPath, plainBody).want(r, 200)

		second := credentials(r.T, r.Credentials("a")).OAuth
		got := r.refresh(second.RefreshToken)
		got.want(r, 200, `"token_type":"Bearer"`, `"expires_in":28800`, credentials(r.T, r.Credentials("a")).OAuth.RefreshToken, r.UUID("a"), r.Organization("a"))
		r.do("", sim.MessagesPath, plainBody, "Authorization", "Bearer "+second.AccessToken).want(r, 200)
		r.refresh(second.RefreshToken).want(r, http.StatusBadRequest, `"error":"invalid_grant"`)
		if got := r.Counters("a").Refreshes; got != 2 {
			r.Errorf("%d refreshes were counted", got)
		}
	})
}

// TOK-7: a new login replaces both tokens; the old refresh token is invalid_grant.
func TestLogin(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		old := credentials(r.T, r.Credentials("a")).OAuth
		fresh := credentials(r.T, r.Login("a")).OAuth
		r.refresh(old.RefreshToken).want(r, http.StatusBadRequest, "invalid_grant")
		r.refresh(fresh.RefreshToken).want(r, 200)
	})
}

// The token endpoint rejects invalid requests.
func TestTokenRequests(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		token := credentials(r.T, r.Credentials("a")).OAuth.RefreshToken
		for body, want := range map[string]string{
			`{`:                         "invalid_request",
			`{"grant_type":"password"}`: "unsupported_grant_type",
			`{"grant_type":"refresh_token","refresh_token":"` + token + `"}`: "invalid_client",
			refreshBody("unknown"): "invalid_grant",
			refreshBody(""):        "invalid_grant",
		} {
			r.do("", sim.TokenPath, body).want(r, http.StatusBadRequest, `"error":"`+want+`"`)
		}
		r.refresh(token).want(r, 200)
	})
}

// WIRE-1, ACC-2: the provider's response to every kind of credential.
func TestAuthentication(t *testing.T) {
	config := sim.Config{TokenLifetime: time.Hour, Accounts: []sim.Account{{Name: "a"}, {Name: "key", APIKey: "sk-paid"}}}
	bubble(t, config, func(r *rig) {
		bearer := "Bearer " + r.Token("a")
		setup := r.SetupToken("a")
		for _, c := range []struct {
			name   string
			header []string
			status int
		}{
			{"a bearer", []string{"Authorization", bearer}, 200},
			{"the scheme in another case", []string{"Authorization", "bEARER" + bearer[6:]}, 200},
			{"without the beta", []string{"Authorization", bearer, "Anthropic-Beta", "something-else"}, 401},
			{"nothing", nil, 401},
			{"another scheme", []string{"Authorization", "Basic " + r.Token("a")}, 401},
			{"an unknown token", []string{"Authorization", "Bearer any-client-token"}, 401},
			{"a leftover client key", []string{"Authorization", bearer, "X-Api-Key", "any"}, 401},
			{"a paid key without the beta", []string{"X-Api-Key", "sk-paid", "Anthropic-Beta", ""}, 200},
			{"without a version", []string{"Authorization", bearer, "Anthropic-Version", ""}, 400},
			{"a setup token", []string{"Authorization", "Bearer " + setup}, 200},
		} {
			if got := r.do("", sim.MessagesPath, plainBody, c.header...); got.StatusCode != c.status {
				r.Errorf("%s: %d, want %d: %s", c.name, got.StatusCode, c.status, got.body)
			}
		}
		r.ExpireTokens("a")
		r.do("", sim.MessagesPath, plainBody, "Authorization", bearer).want(r, 401, "expired")
		r.do("", sim.MessagesPath, plainBody, "Authorization", "Bearer "+setup).want(r, 401, "expired")
		if got := r.Requests(); got[len(got)-1].Account != "a" {
			r.Errorf("an expired token is recorded as %q's", got[len(got)-1].Account)
		}
		r.refresh(credentials(r.T, r.Credentials("a")).OAuth.RefreshToken).want(r, 200)
		r.do("a", sim.MessagesPath, plainBody).want(r, 200)
	})
}
