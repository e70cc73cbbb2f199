package chatgpt

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"shunt/internal/sim/engine"
)

// ClientID is the OAuth client that the endpoints accept.
const ClientID = "app_EMoamEEZ73f0CkXaXp7hrann"

// grant describes what an access token permits.
type grant struct {
	account *account
	expires time.Time
	revoked bool
}

// issue gives the account a new access, ID and refresh token, which invalidates the old refresh token. The caller holds the
// lock.
func (p *Provider) issue(a *account) {
	now := p.Now()
	expires := now.Add(p.config.TokenLifetime).Truncate(time.Second)
	auth := engine.Object{
		"chatgpt_account_id": a.ID, "chatgpt_user_id": a.User, "chatgpt_plan_type": a.Plan, "user_id": a.User,
	}
	email := a.Name + "@example.com"
	for token, g := range p.access {
		if g.account == a && now.Sub(g.expires) > time.Hour {
			delete(p.access, token)
		}
	}
	a.accessToken = p.jwt(a, engine.Object{
		"aud": []string{"https://api.openai.com/v1"}, "iss": "https://auth.openai.com", "sub": "auth0|" + a.User,
		"iat": now.Unix(), "exp": expires.Unix(), "https://api.openai.com/auth": auth,
		"https://api.openai.com/profile": engine.Object{"email": email, "email_verified": true},
	})
	a.idToken = p.jwt(a, engine.Object{
		"aud": []string{ClientID}, "iss": "https://auth.openai.com", "sub": "auth0|" + a.User, "email": email,
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "https://api.openai.com/auth": auth,
	})
	a.refreshToken = p.opaque(a, "rt_")
	p.access[a.accessToken] = grant{account: a, expires: expires}
	p.refresh[a.refreshToken] = a
}

// jwt returns a token with the claims. Its signature is random: nobody but the provider can verify it.
func (p *Provider) jwt(a *account, claims engine.Object) string {
	claims["jti"] = p.opaque(a, "")
	encode := base64.RawURLEncoding.EncodeToString
	return encode(engine.JSON(engine.Object{"alg": "RS256", "typ": "JWT"})) + "." + encode(engine.JSON(claims)) + "." + encode([]byte(p.opaque(a, "")))
}

func (p *Provider) opaque(a *account, prefix string) string {
	p.issued++
	return fmt.Sprintf("%s%s_%d_%s", prefix, a.Name, p.issued, engine.Hex(engine.Rand(p.Seed, "token", a.Name, fmt.Sprint(p.issued)), 16))
}

// Credentials returns the account's auth.json as the Codex CLI would have written it after the latest login or refresh.
func (p *Provider) Credentials(account string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(account)
	return engine.JSON(engine.Object{
		"auth_mode":      "chatgpt",
		"OPENAI_API_KEY": nil,
		"tokens": engine.Object{
			"id_token": a.idToken, "access_token": a.accessToken, "refresh_token": a.refreshToken, "account_id": a.ID,
		},
		"last_refresh": p.Now().UTC().Format(time.RFC3339Nano),
	})
}

// Token returns the account's newest access token.
func (p *Provider) Token(account string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.account(account).accessToken
}

// RefreshToken returns the account's valid refresh token, or "" if the login was revoked.
func (p *Provider) RefreshToken(account string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.account(account).refreshToken
}

// Refreshes returns the number of completed token refreshes of the account, even if their responses were lost.
func (p *Provider) Refreshes(account string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.account(account).refreshes
}

// Login gives the account new credentials, as a new login would, and returns their file.
func (p *Provider) Login(account string) []byte {
	p.mu.Lock()
	p.issue(p.account(account))
	p.mu.Unlock()
	return p.Credentials(account)
}

// ExpireTokens expires every access token of the account now, ahead of its claim. Refreshing still works.
func (p *Provider) ExpireTokens(account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, now := p.account(account), p.Now()
	for token, g := range p.access {
		if g.account == a && g.expires.After(now) {
			g.expires = now
			p.access[token] = g
		}
	}
}

// Revoke ends the account's login: neither its access tokens nor its refresh token are accepted.
func (p *Provider) Revoke(account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revoke(p.account(account))
}

func (p *Provider) revoke(a *account) {
	for token, g := range p.access {
		if g.account == a {
			g.revoked = true
			p.access[token] = g
		}
	}
	a.refreshToken = ""
}

// grantTokens serves the token endpoint: a refresh as JSON, the exchange of a code as a form.
func (x *exchange) grantTokens() {
	var request struct {
		ClientID     string `json:"client_id"`
		GrantType    string `json:"grant_type"`
		RefreshToken string `json:"refresh_token"`
	}
	if strings.HasPrefix(x.R.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		x.redeem()
		return
	}
	if json.Unmarshal(x.Body, &request) != nil {
		x.oauthError(http.StatusBadRequest, "invalid_request", "The request body is not valid JSON.")
		return
	}
	x.p.mu.Lock()
	x.a = x.p.refresh[request.RefreshToken]
	x.p.mu.Unlock()
	if x.a != nil {
		x.Account = x.a.Name
	}
	switch {
	case x.InjectFault(true):
	case request.GrantType != "refresh_token":
		x.oauthError(http.StatusBadRequest, "unsupported_grant_type", "Only refresh_token is supported as JSON.")
	case request.ClientID != ClientID:
		x.oauthError(http.StatusUnauthorized, "invalid_client", "The OAuth client was not found.")
	default:
		reply, code := x.p.rotate(request.RefreshToken)
		switch {
		case code != "":
			x.oauthError(http.StatusUnauthorized, code, "Your refresh token can not be used. Please sign in again.")
		case x.WaitLate():
			x.JSON(http.StatusOK, reply)
		}
	}
}

// rotate exchanges a refresh token for new tokens, or returns the code of the error. A token that was used before revokes the
// login.
func (p *Provider) rotate(refresh string) (reply engine.Object, code string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.refresh[refresh]
	switch {
	case a == nil || a.refreshToken == "":
		return nil, "refresh_token_invalidated"
	case a.refreshToken != refresh:
		p.revoke(a)
		return nil, "refresh_token_reused"
	}
	p.issue(a)
	a.refreshes++
	return p.tokenReply(a), ""
}

// tokenReply returns the response that has the account's newest tokens. The caller holds the lock.
func (p *Provider) tokenReply(a *account) engine.Object {
	return engine.Object{
		"id_token": a.idToken, "access_token": a.accessToken, "refresh_token": a.refreshToken, "token_type": "Bearer",
		"expires_in": int64(p.access[a.accessToken].expires.Sub(p.Now()) / time.Second),
		"scope":      "openid profile email offline_access",
	}
}

func (x *exchange) oauthError(status int, code, message string) {
	x.JSON(status, engine.Object{"error": engine.Object{"message": message, "type": "invalid_request_error", "param": nil, "code": code}})
}
