package sim

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
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
		x.page(http.StatusBadRequest, invalidPage, problem)
		return
	}
	state, name := query.Get("state"), query.Get("account")
	switch {
	case query.Get("deny") != "" && redirect == ManualRedirect:
		x.page(http.StatusOK, deniedPage, nil)
	case query.Get("deny") != "":
		x.redirect(redirect, url.Values{"error": {"access_denied"}, "state": {state}})
	case name == "":
		x.page(http.StatusOK, consentPage, x.p.choices(x.r.URL))
	default:
		code, ok := x.p.issueCode(name, query)
		switch {
		case !ok:
			x.page(http.StatusBadRequest, invalidPage, "account")
		case redirect == ManualRedirect:
			x.page(http.StatusOK, codePage, code+"#"+state)
		default:
			x.redirect(redirect, url.Values{"code": {code}, "state": {state}})
		}
	}
}

func (x *exchange) redirect(to string, result url.Values) {
	x.w.Header().Set("Location", to+"?"+result.Encode())
	x.send(http.StatusFound, "", nil)
}

type choice struct {
	Name string
	Link string
}

// choices returns the decisions that an authorize page offers: each account with a login, and denial.
func (p *Provider) choices(page *url.URL) []choice {
	var list []choice
	for _, a := range p.accounts {
		if a.APIKey == "" {
			list = append(list, choice{a.Name, page.Path + "?" + page.RawQuery + "&account=" + url.QueryEscape(a.Name)})
		}
	}
	return append(list, choice{Link: page.Path + "?" + page.RawQuery + "&deny=true"})
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

func page(body string) *template.Template {
	return template.Must(template.New("").Parse("<!doctype html><html lang=en><meta charset=utf-8><title>Simulated provider</title>\n" + body))
}

var (
	consentPage = page(`<h1>shunt would like to use your account</h1>
{{range .}}{{if .Name}}<p><a id="allow-{{.Name}}" href="{{.Link}}">Allow as {{.Name}}</a>
{{else}}<p><a id="deny" href="{{.Link}}">Deny</a>
{{end}}{{end}}`)
	codePage    = page(`<h1>Paste this code</h1><code>{{.}}</code>`)
	deniedPage  = page(`<h1>Access was denied</h1>`)
	invalidPage = page(`<h1>Invalid request</h1><p>{{.}}`)
)

func (x *exchange) page(status int, t *template.Template, data any) {
	var text strings.Builder
	if err := t.Execute(&text, data); err != nil {
		panic(fmt.Sprintf("sim: %v", err))
	}
	x.send(status, "text/html; charset=utf-8", []byte(text.String()))
}
