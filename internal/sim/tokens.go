package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim/engine"
)

// ClientID is the OAuth client that the token endpoint accepts (TOK-3).
const ClientID = "9d1c250a-e61b-44d9-88ed-5944d1962f5e"

const (
	fullScope  = "user:profile user:inference user:sessions:claude_code user:mcp_servers user:file_upload"
	setupScope = "user:inference"

	setupLifetime = 365 * 24 * time.Hour
)

// grant describes what an access token permits.
type grant struct {
	account *account
	scope   string
	expires time.Time
}

// issue gives the account a new access token and a new refresh token, which invalidates the old refresh token.
func (p *Provider) issue(a *account, now time.Time) {
	a.current = p.addToken(a, "sk-ant-oat01", grant{a, fullScope, now.Add(p.config.TokenLifetime)}, now)
	a.refresh = p.token(a, "sk-ant-ort01")
}

func (p *Provider) addToken(a *account, prefix string, g grant, now time.Time) string {
	maps.DeleteFunc(p.access, func(_ string, old grant) bool {
		return old.account == a && now.Sub(old.expires) > time.Hour
	})
	token := p.token(a, prefix)
	p.access[token] = g
	return token
}

func (p *Provider) token(a *account, prefix string) string {
	p.issued++
	return fmt.Sprintf("%s-%s-%d-%s", prefix, a.Name, p.issued, engine.Hex(engine.Rand(p.config.Seed, "token", a.Name, fmt.Sprint(p.issued)), 16))
}

// Credentials returns the account's credentials file as Claude Code would have written it after the latest login or refresh
// (ACC-1), including fields that are not about tokens.
func (p *Provider) Credentials(account string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(account)
	return engine.JSON(object{
		"claudeAiOauth": object{
			"accessToken":      a.current,
			"refreshToken":     a.refresh,
			"expiresAt":        p.access[a.current].expires.UnixMilli(),
			"scopes":           strings.Fields(fullScope),
			"subscriptionType": "max",
			"rateLimitTier":    "default_claude_max_20x",
		},
		"mcpOAuth":         object{"plugin|simulated": object{"serverName": "simulated", "accessToken": "foreign"}},
		"organizationUuid": a.Organization,
	})
}

// Token returns the account's newest access token, or its API key.
func (p *Provider) Token(account string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.account(account); a.APIKey == "" {
		return a.current
	}
	return p.account(account).APIKey
}

// SetupToken issues a token that is valid for a year, for inference only, and cannot be refreshed (ACC-2).
func (p *Provider) SetupToken(account string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, now := p.account(account), p.config.Clock.Now()
	return p.addToken(a, "sk-ant-oat01-setup", grant{a, setupScope, now.Add(setupLifetime)}, now)
}

// Login gives the account new credentials, as a new login would, and returns their file. It invalidates the old refresh token.
func (p *Provider) Login(account string) []byte {
	p.mu.Lock()
	p.issue(p.account(account), p.config.Clock.Now())
	p.mu.Unlock()
	return p.Credentials(account)
}

// ExpireTokens expires every access token of the account now, ahead of the time that was issued with it. Refreshing still works.
func (p *Provider) ExpireTokens(account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, now := p.account(account), p.config.Clock.Now()
	for token, g := range p.access {
		if g.account == a && g.expires.After(now) {
			g.expires = now
			p.access[token] = g
		}
	}
}

// authenticate returns the account and the scope of a request, or why it is rejected. It returns the account of an expired token
// too, for the records.
func (p *Provider) authenticate(h http.Header) (*account, string, *failure) {
	reject := func(message string) *failure {
		return &failure{status: http.StatusUnauthorized, kind: messages.TypeAuthentication, message: message}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if key := h.Get("X-Api-Key"); key != "" {
		for _, a := range p.accounts {
			if a.APIKey == key {
				return a, "", nil
			}
		}
		return nil, "", reject("invalid x-api-key")
	}
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") || token == "" {
		return nil, "", reject("x-api-key header is required")
	}
	for _, a := range p.accounts {
		if a.APIKey == token {
			return a, "", nil
		}
	}
	g, known := p.access[token]
	switch {
	case !known:
		return nil, "", reject("Invalid bearer token")
	case !g.expires.After(p.config.Clock.Now()):
		return g.account, "", reject("OAuth token has expired. Please obtain a new token or refresh your existing token.")
	case !strings.Contains(strings.Join(h.Values("Anthropic-Beta"), ","), "oauth-2025-04-20"):
		return g.account, "", reject("OAuth authentication is currently not supported.")
	}
	return g.account, g.scope, nil
}

// tokenResponse is the body of a response of the token endpoint.
type tokenResponse struct {
	TokenType    string `json:"token_type"`
	AccessToken  string `json:"access_token"`
	ExpiresIn    int64  `json:"expires_in"`
	RefreshToken string `json:"refresh_token,omitempty"`
	Scope        string `json:"scope"`
	Account      struct {
		UUID  string `json:"uuid"`
		Email string `json:"email_address"`
	} `json:"account"`
	Organization struct {
		UUID string `json:"uuid"`
	} `json:"organization"`
}

// newTokenResponse returns the response that issues an access token. The caller holds the lock.
func (p *Provider) newTokenResponse(access, refresh string) (reply tokenResponse) {
	g := p.access[access]
	reply.TokenType, reply.Scope = "Bearer", g.scope
	reply.AccessToken, reply.RefreshToken = access, refresh
	reply.ExpiresIn = int64(g.expires.Sub(p.config.Clock.Now()) / time.Second)
	reply.Account.UUID, reply.Account.Email = g.account.UUID, g.account.Name+"@example.com"
	reply.Organization.UUID = g.account.Organization
	return reply
}

// tokenRequest is the body of a request to the token endpoint.
type tokenRequest struct {
	GrantType string `json:"grant_type"`
	ClientID  string `json:"client_id"`

	RefreshToken string `json:"refresh_token"`

	Code         string `json:"code"`
	RedirectURI  string `json:"redirect_uri"`
	CodeVerifier string `json:"code_verifier"`
	State        string `json:"state"`
	ExpiresIn    int64  `json:"expires_in"`
}

// grantTokens serves the token endpoint. Refresh tokens and codes are valid once; the response has the next refresh token.
func (x *exchange) grantTokens() {
	var request tokenRequest
	if err := json.Unmarshal(x.body, &request); err != nil {
		x.rejectGrant("invalid_request", "The request body is not valid JSON.")
		return
	}
	x.p.mu.Lock()
	if x.account = x.p.refreshOwner(request.RefreshToken); x.account == nil {
		x.account = x.p.codes[request.Code].account
	}
	x.p.mu.Unlock()
	if x.injectFault(true) {
		return
	}
	var reply tokenResponse
	var ok bool
	switch {
	case request.GrantType != "refresh_token" && request.GrantType != "authorization_code":
		x.rejectGrant("unsupported_grant_type", "Only refresh_token and authorization_code are supported here.")
		return
	case request.ClientID != ClientID:
		x.rejectGrant("invalid_client", "Client not found.")
		return
	case request.GrantType == "authorization_code":
		if reply, ok = x.p.redeem(request); !ok {
			x.rejectGrant("invalid_grant", "Invalid 'code' in request")
			return
		}
	default:
		if reply, ok = x.p.rotate(request.RefreshToken); !ok {
			x.rejectGrant("invalid_grant", "Refresh token not found or invalid")
			return
		}
		x.refreshed = true
	}
	if x.wait(x.fault.lateReply) {
		x.json(http.StatusOK, reply)
	}
}

// refreshOwner returns the account with the refresh token, or nil. The caller holds the lock.
func (p *Provider) refreshOwner(refresh string) *account {
	for _, a := range p.accounts {
		if refresh != "" && a.refresh == refresh {
			return a
		}
	}
	return nil
}

// rotate exchanges a refresh token for new tokens. It reports false for a token that is not current.
func (p *Provider) rotate(refresh string) (reply tokenResponse, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.refreshOwner(refresh)
	if a == nil {
		return reply, false
	}
	p.issue(a, p.config.Clock.Now())
	return p.newTokenResponse(a.current, a.refresh), true
}

func (x *exchange) rejectGrant(code, description string) {
	x.json(http.StatusBadRequest, map[string]string{"error": code, "error_description": description})
}
