package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"shunt/internal/dialect/messages"
)

// ClientID is the OAuth client that the token endpoint knows (TOK-3).
const ClientID = "9d1c250a-e61b-44d9-88ed-5944d1962f5e"

const (
	fullScope  = "user:profile user:inference user:sessions:claude_code user:mcp_servers user:file_upload"
	setupScope = "user:inference"

	setupLifetime = 365 * 24 * time.Hour
)

// grant is what an access token allows.
type grant struct {
	account *account
	scope   string
	expires time.Time
}

// issue gives the account a new access token and a new refresh token; the old refresh token is worth nothing from now on.
func (p *Provider) issue(a *account, now time.Time) {
	a.current = p.mint(a, "sk-ant-oat01", grant{a, fullScope, now.Add(p.config.TokenLifetime)}, now)
	a.refresh = p.token(a, "sk-ant-ort01")
}

func (p *Provider) mint(a *account, prefix string, g grant, now time.Time) string {
	maps.DeleteFunc(p.access, func(_ string, old grant) bool {
		return old.account == a && now.Sub(old.expires) > time.Hour
	})
	token := p.token(a, prefix)
	p.access[token] = g
	return token
}

func (p *Provider) token(a *account, prefix string) string {
	p.minted++
	return fmt.Sprintf("%s-%s-%d-%s", prefix, a.Name, p.minted, randomHex(rng(p.config.Seed, "token", a.Name, fmt.Sprint(p.minted)), 16))
}

// Credentials is the account's credentials file as Claude Code would have written it after its newest login or refresh
// (ACC-1), with fields that belong to others beside the tokens.
func (p *Provider) Credentials(account string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(account)
	return mustJSON(object{
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

// Token is the account's newest access token, or its key.
func (p *Provider) Token(account string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.account(account); a.APIKey == "" {
		return a.current
	}
	return p.account(account).APIKey
}

// SetupToken issues a token that is good for inference only, for a year, and cannot be refreshed (ACC-2).
func (p *Provider) SetupToken(account string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, now := p.account(account), p.config.Clock.Now()
	return p.mint(a, "sk-ant-oat01-setup", grant{a, setupScope, now.Add(setupLifetime)}, now)
}

// Login gives the account new credentials as a new login would, and returns their file. The refresh token that was good
// so far is not any more.
func (p *Provider) Login(account string) []byte {
	p.mu.Lock()
	p.issue(p.account(account), p.config.Clock.Now())
	p.mu.Unlock()
	return p.Credentials(account)
}

// ExpireTokens ends every access token of the account now, whatever its holder believes. Refreshing works.
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

// authenticate finds the account of a request. The account of an expired token is returned along with the refusal, for
// the records.
func (p *Provider) authenticate(h http.Header) (*account, string, *failure) {
	refuse := func(message string) *failure {
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
		return nil, "", refuse("invalid x-api-key")
	}
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") || token == "" {
		return nil, "", refuse("x-api-key header is required")
	}
	for _, a := range p.accounts {
		if a.APIKey == token {
			return a, "", nil
		}
	}
	g, known := p.access[token]
	switch {
	case !known:
		return nil, "", refuse("Invalid bearer token")
	case !g.expires.After(p.config.Clock.Now()):
		return g.account, "", refuse("OAuth token has expired. Please obtain a new token or refresh your existing token.")
	case !strings.Contains(strings.Join(h.Values("Anthropic-Beta"), ","), "oauth-2025-04-20"):
		return g.account, "", refuse("OAuth authentication is currently not supported.")
	}
	return g.account, g.scope, nil
}

// granted is the answer of the token endpoint.
type granted struct {
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

// answer is the grant of the account's token. The caller holds the lock.
func (p *Provider) answer(access, refresh string) (reply granted) {
	g := p.access[access]
	reply.TokenType, reply.Scope = "Bearer", g.scope
	reply.AccessToken, reply.RefreshToken = access, refresh
	reply.ExpiresIn = int64(g.expires.Sub(p.config.Clock.Now()) / time.Second)
	reply.Account.UUID, reply.Account.Email = g.account.UUID, g.account.Name+"@example.com"
	reply.Organization.UUID = g.account.Organization
	return reply
}

// tokenRequest is what the token endpoint is asked.
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

// grantTokens is the token endpoint. A refresh token is good once, and its answer carries the next one; a code is good
// once too.
func (x *exchange) grantTokens() {
	var ask tokenRequest
	if err := json.Unmarshal(x.body, &ask); err != nil {
		x.refuseGrant("invalid_request", "The request body is not valid JSON.")
		return
	}
	x.p.mu.Lock()
	if x.account = x.p.holder(ask.RefreshToken); x.account == nil {
		x.account = x.p.allowed[ask.Code].account
	}
	x.p.mu.Unlock()
	if x.misbehave(true) {
		return
	}
	var reply granted
	var ok bool
	switch {
	case ask.GrantType != "refresh_token" && ask.GrantType != "authorization_code":
		x.refuseGrant("unsupported_grant_type", "Only refresh_token and authorization_code are supported here.")
		return
	case ask.ClientID != ClientID:
		x.refuseGrant("invalid_client", "Client not found.")
		return
	case ask.GrantType == "authorization_code":
		if reply, ok = x.p.redeem(ask); !ok {
			x.refuseGrant("invalid_grant", "Invalid 'code' in request")
			return
		}
	default:
		if reply, ok = x.p.rotate(ask.RefreshToken); !ok {
			x.refuseGrant("invalid_grant", "Refresh token not found or invalid")
			return
		}
		x.refreshed = true
	}
	if x.wait(x.active.lateReply) {
		x.json(http.StatusOK, reply)
	}
}

// holder is the account whose refresh token this is, nil if it is nobody's. The caller holds the lock.
func (p *Provider) holder(refresh string) *account {
	for _, a := range p.accounts {
		if refresh != "" && a.refresh == refresh {
			return a
		}
	}
	return nil
}

// rotate trades a refresh token for new tokens; of two that come with the same one, the second is too late.
func (p *Provider) rotate(refresh string) (reply granted, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.holder(refresh)
	if a == nil {
		return reply, false
	}
	p.issue(a, p.config.Clock.Now())
	return p.answer(a.current, a.refresh), true
}

func (x *exchange) refuseGrant(code, description string) {
	x.json(http.StatusBadRequest, map[string]string{"error": code, "error_description": description})
}
