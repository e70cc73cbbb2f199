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

// ManualRedirect is the redirect URI with which the provider shows the code to the person instead of sending it (LOG-3).
const ManualRedirect = "https://platform.claude.com/oauth/code/callback"

// codeLifetime is how long a code can be traded for tokens.
const codeLifetime = 10 * time.Minute

// permission is what a person has allowed on the authorize page.
type permission struct {
	account                           *account
	scope, redirect, state, challenge string
	expires                           time.Time
}

var (
	loopbackRedirect = regexp.MustCompile(`^http://127\.0\.0\.1:\d+/callback$`)
	s256Challenge    = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)
)

// authorize is the page on which a person allows a login as one of the accounts, or denies it. The decision is a further
// parameter of the same address, account=NAME or deny=true; without one the page has a link for each (LOG-2, LOG-3).
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
		x.sendBack(redirect, url.Values{"error": {"access_denied"}, "state": {state}})
	case name == "":
		x.page(http.StatusOK, consentPage, x.p.choices(x.r.URL))
	default:
		code, ok := x.p.allow(name, query)
		switch {
		case !ok:
			x.page(http.StatusBadRequest, invalidPage, "account")
		case redirect == ManualRedirect:
			x.page(http.StatusOK, codePage, code+"#"+state)
		default:
			x.sendBack(redirect, url.Values{"code": {code}, "state": {state}})
		}
	}
}

func (x *exchange) sendBack(redirect string, answer url.Values) {
	x.w.Header().Set("Location", redirect+"?"+answer.Encode())
	x.send(http.StatusFound, "", nil)
}

type choice struct {
	Name string
	Link string
}

// choices are the accounts as which a person can log in at an authorize page.
func (p *Provider) choices(page *url.URL) []choice {
	var list []choice
	for _, a := range p.accounts {
		if a.APIKey == "" {
			list = append(list, choice{a.Name, page.Path + "?" + page.RawQuery + "&account=" + url.QueryEscape(a.Name)})
		}
	}
	return append(list, choice{Link: page.Path + "?" + page.RawQuery + "&deny=true"})
}

// allow makes a code for what a person allowed.
func (p *Provider) allow(name string, query url.Values) (code string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.accounts {
		if a.Name == name && a.APIKey == "" {
			code = p.token(a, "code")
			p.allowed[code] = permission{
				account: a, scope: query.Get("scope"), redirect: query.Get("redirect_uri"), state: query.Get("state"),
				challenge: query.Get("code_challenge"), expires: p.config.Clock.Now().Add(codeLifetime),
			}
			return code, true
		}
	}
	return "", false
}

// redeem trades a code for tokens, if the request comes from who began the login. Any request uses the code up.
func (p *Provider) redeem(ask tokenRequest) (reply granted, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.config.Clock.Now()
	allowed, known := p.allowed[ask.Code]
	delete(p.allowed, ask.Code)
	challenge := sha256.Sum256([]byte(ask.CodeVerifier))
	if !known || !now.Before(allowed.expires) || ask.RedirectURI != allowed.redirect || ask.State != allowed.state ||
		base64.RawURLEncoding.EncodeToString(challenge[:]) != allowed.challenge {
		return granted{}, false
	}
	if allowed.scope == setupScope {
		lifetime := p.config.TokenLifetime
		if ask.ExpiresIn > 0 {
			lifetime = min(time.Duration(ask.ExpiresIn)*time.Second, setupLifetime)
		}
		return p.answer(p.mint(allowed.account, "sk-ant-oat01-setup", grant{allowed.account, setupScope, now.Add(lifetime)}, now), ""), true
	}
	p.issue(allowed.account, now)
	return p.answer(allowed.account.current, allowed.account.refresh), true
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
