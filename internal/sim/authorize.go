package sim

import (
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"shunt/internal/sim/engine"
)

// ManualRedirect is the redirect URI for which the provider shows the code to the user instead of sending it (LOG-3).
const ManualRedirect = "https://platform.claude.com/oauth/code/callback"

// codeLifetime is the time for which a code can be exchanged for tokens.
const codeLifetime = 10 * time.Minute

// authorization is a login that a user allowed on the authorize page.
type authorization struct {
	account                           *account
	scope, redirect, state, challenge string
	expires                           time.Time
}

var (
	loopbackRedirect = regexp.MustCompile(`^http://127\.0\.0\.1:\d+/callback$`)
	s256Challenge    = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)
)

// authorize serves the page on which a user allows a login as one of the accounts, or denies it. The decision is another
// parameter of the same URL, account=NAME or deny=true; without it the page has a link for each decision (LOG-2, LOG-3).
func (x *exchange) authorize() {
	query := x.r.URL.Query()
	redirect := query.Get("redirect_uri")
	problem := ""
	switch {
	case query.Get("client_id") != ClientID:
		problem = "client_id"
	case redirect != ManualRedirect && !loopbackRedirect.MatchString(redirect):
		problem = "redirect_uri"
	case query.Get("code") != "true" || query.Get("response_type") != "code":
		problem = "response_type"
	case query.Get("scope") != fullScope && query.Get("scope") != setupScope:
		problem = "scope"
	case query.Get("code_challenge_method") != "S256" || !s256Challenge.MatchString(query.Get("code_challenge")):
		problem = "code_challenge"
	case query.Get("state") == "":
		problem = "state"
	}
	if problem != "" {
		x.page(http.StatusBadRequest, engine.InvalidPage, problem)
		return
	}
	state, name := query.Get("state"), query.Get("account")
	switch {
	case query.Get("deny") != "" && redirect == ManualRedirect:
		x.page(http.StatusOK, engine.DeniedPage, nil)
	case query.Get("deny") != "":
		x.redirect(redirect, url.Values{"error": {"access_denied"}, "state": {state}})
	case name == "":
		x.page(http.StatusOK, engine.ConsentPage, engine.Choices(x.r.URL, x.p.logins()))
	default:
		code, ok := x.p.issueCode(name, query)
		switch {
		case !ok:
			x.page(http.StatusBadRequest, engine.InvalidPage, "account")
		case redirect == ManualRedirect:
			x.page(http.StatusOK, engine.CodePage, code+"#"+state)
		default:
			x.redirect(redirect, url.Values{"code": {code}, "state": {state}})
		}
	}
}

func (x *exchange) redirect(to string, result url.Values) {
	x.w.Header().Set("Location", to+"?"+result.Encode())
	x.send(http.StatusFound, "", nil)
}

// logins returns the accounts that have a login.
func (p *Provider) logins() (names []string) {
	for _, a := range p.accounts {
		if a.APIKey == "" {
			names = append(names, a.Name)
		}
	}
	return names
}

// issueCode returns a code for a login as the named account.
func (p *Provider) issueCode(name string, query url.Values) (code string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.accounts {
		if a.Name == name && a.APIKey == "" {
			code = p.token(a, "code")
			p.codes[code] = authorization{
				account: a, scope: query.Get("scope"), redirect: query.Get("redirect_uri"), state: query.Get("state"),
				challenge: query.Get("code_challenge"), expires: p.config.Clock.Now().Add(codeLifetime),
			}
			return code, true
		}
	}
	return "", false
}

// redeem exchanges a code for tokens if the request belongs to the login that the code was issued for. Every request uses up
// its code.
func (p *Provider) redeem(request tokenRequest) (reply tokenResponse, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.config.Clock.Now()
	allowed, known := p.codes[request.Code]
	delete(p.codes, request.Code)
	challenge := sha256.Sum256([]byte(request.CodeVerifier))
	if !known || !now.Before(allowed.expires) || request.RedirectURI != allowed.redirect || request.State != allowed.state ||
		base64.RawURLEncoding.EncodeToString(challenge[:]) != allowed.challenge {
		return tokenResponse{}, false
	}
	if allowed.scope == setupScope {
		lifetime := p.config.TokenLifetime
		if request.ExpiresIn > 0 {
			lifetime = min(time.Duration(request.ExpiresIn)*time.Second, setupLifetime)
		}
		return p.newTokenResponse(p.addToken(allowed.account, "sk-ant-oat01-setup", grant{allowed.account, setupScope, now.Add(lifetime)}, now), ""), true
	}
	p.issue(allowed.account, now)
	return p.newTokenResponse(allowed.account.current, allowed.account.refresh), true
}

func (x *exchange) page(status int, t *template.Template, data any) {
	x.send(status, "text/html; charset=utf-8", engine.Render(t, data))
}
