package kimi

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"shunt/internal/sim/engine"
)

// ClientID is the OAuth client that the endpoints accept.
const ClientID = "17e5f671-d194-4dfb-9706-5516cb48c098"

const (
	deviceGrant    = "urn:ietf:params:oauth:grant-type:device_code"
	deviceLifetime = 15 * time.Minute
	// pollInterval is the shortest time between two polls of a device login.
	pollInterval = 5 * time.Second
)

// device is a login by device code.
type device struct {
	userCode string
	id       string   // X-Msh-Device-Id of the client
	account  *account // nil until it is approved
	denied   bool
	expires  time.Time
	polled   time.Time
}

// issue gives the account new tokens, which invalidates the old refresh token. The caller holds the lock.
func (p *Provider) issue(a *account) {
	now := p.Now()
	for token, g := range p.access {
		if g.account == a && now.Sub(g.expires) > time.Hour {
			delete(p.access, token)
		}
	}
	a.accessToken, a.refreshToken = p.opaque(a.Name), p.opaque(a.Name)
	p.access[a.accessToken] = grant{a, a.device, now.Add(p.config.TokenLifetime)}
}

func (p *Provider) opaque(name string) string {
	p.issued++
	return fmt.Sprintf("kimi-%s-%d-%s", name, p.issued, engine.Hex(engine.Rand(p.Seed, "token", name, fmt.Sprint(p.issued)), 16))
}

// Credentials returns the account's credential file after the latest login or refresh.
func (p *Provider) Credentials(account string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(account)
	return engine.JSON(engine.Object{
		"kimiOauth": engine.Object{
			"accessToken": a.accessToken, "refreshToken": a.refreshToken, "expiresAt": p.access[a.accessToken].expires.UnixMilli(),
		},
		"deviceId": a.device,
	})
}

// Token returns the account's newest access token.
func (p *Provider) Token(account string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.account(account).accessToken
}

// Device returns the device id of the account's newest login.
func (p *Provider) Device(account string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.account(account).device
}

// Refreshes returns the number of completed token refreshes of the account, even if their responses were lost.
func (p *Provider) Refreshes(account string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.account(account).refreshes
}

// ExpireTokens expires every access token of the account now. Refreshing still works.
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

// form returns the form of a request if it is one of this client's, and sends the error response if not.
func (x *exchange) form() (url.Values, bool) {
	form, err := url.ParseQuery(string(x.Body))
	switch {
	case err != nil || !strings.HasPrefix(x.R.Header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		x.oauthError("invalid_request")
	case form.Get("client_id") != ClientID:
		x.oauthError("invalid_client")
	case slices.ContainsFunc(requiredHeaders, func(name string) bool { return x.R.Header.Get(name) == "" }):
		x.oauthError("invalid_request")
	default:
		return form, true
	}
	return nil, false
}

// deviceAuthorization begins a login by device code.
func (x *exchange) deviceAuthorization() {
	if x.InjectFault(false) {
		return
	}
	if _, ok := x.form(); !ok {
		return
	}
	x.p.mu.Lock()
	code := x.p.opaque("device")
	d := &device{
		userCode: strings.ToUpper(code[len(code)-8:]), id: x.R.Header.Get("X-Msh-Device-Id"), expires: x.p.Now().Add(deviceLifetime),
	}
	x.p.devices[code] = d
	x.p.mu.Unlock()
	page := "http://" + x.R.Host + DevicePage
	x.JSON(http.StatusOK, engine.Object{
		"device_code": code, "user_code": d.userCode, "verification_uri": page,
		"verification_uri_complete": page + "?user_code=" + d.userCode,
		"expires_in":                int(deviceLifetime / time.Second), "interval": int(pollInterval / time.Second),
	})
}

// grantTokens serves the token endpoint: polls of a device login, and refreshes. A refresh token is valid once.
func (x *exchange) grantTokens() {
	form, ok := x.form()
	if !ok {
		return
	}
	x.p.mu.Lock()
	x.a = x.p.owner(form)
	x.p.mu.Unlock()
	if x.a != nil {
		x.Account = x.a.Name
	}
	if x.InjectFault(true) {
		return
	}
	reply, problem := x.p.grant(form)
	switch {
	case problem != "":
		x.oauthError(problem)
	case x.WaitLate():
		x.JSON(http.StatusOK, reply)
	}
}

// owner returns the account that the request is about, or nil. The caller holds the lock.
func (p *Provider) owner(form url.Values) *account {
	if d := p.devices[form.Get("device_code")]; d != nil {
		return d.account
	}
	for _, a := range p.accounts {
		if a.refreshToken == form.Get("refresh_token") {
			return a
		}
	}
	return nil
}

// grant returns new tokens, or the code of the error.
func (p *Provider) grant(form url.Values) (reply engine.Object, problem string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.owner(form)
	switch form.Get("grant_type") {
	case deviceGrant:
		code := form.Get("device_code")
		if problem := p.poll(code); problem != "" {
			return nil, problem
		}
		a.device = p.devices[code].id
		delete(p.devices, code)
	case "refresh_token":
		if a == nil {
			return nil, "invalid_grant"
		}
		a.refreshes++
	default:
		return nil, "unsupported_grant_type"
	}
	p.issue(a)
	return engine.Object{
		"access_token": a.accessToken, "refresh_token": a.refreshToken, "token_type": "Bearer",
		"expires_in": int64(p.config.TokenLifetime / time.Second), "scope": "kimi-code",
	}, ""
}

// poll returns why a device login is not complete, or "". The caller holds the lock.
func (p *Provider) poll(code string) (problem string) {
	d, now := p.devices[code], p.Now()
	if d == nil {
		return "invalid_grant"
	}
	early := !d.polled.IsZero() && now.Sub(d.polled) < pollInterval
	d.polled = now
	switch {
	case !now.Before(d.expires):
		return "expired_token"
	case d.denied:
		return "access_denied"
	case early:
		return "slow_down"
	case d.account == nil:
		return "authorization_pending"
	}
	return ""
}

// devicePage serves the page on which a user approves or denies a login: with the parameters user_code and account or deny at
// once, otherwise after a choice.
func (x *exchange) devicePage() {
	query := x.R.URL.Query()
	code, name := query.Get("user_code"), query.Get("account")
	switch {
	case query.Get("deny") != "" && x.p.Deny(code):
		x.Page(http.StatusOK, engine.DeniedPage, nil)
	case name == "":
		var names []string
		for _, a := range x.p.accounts {
			names = append(names, a.Name)
		}
		x.Page(http.StatusOK, engine.ConsentPage, engine.Choices(x.R.URL, names))
	case x.p.find(name) == nil || !x.p.Approve(code, name):
		x.Page(http.StatusBadRequest, engine.InvalidPage, "user_code")
	default:
		x.Page(http.StatusOK, engine.DonePage, nil)
	}
}

// Approve approves the login with the user code as the account. It reports false if it does not know the code.
func (p *Provider) Approve(userCode, account string) bool {
	a := p.account(account)
	return p.decide(userCode, func(d *device) { d.account = a })
}

// Deny denies the login with the user code. It reports false if it does not know the code.
func (p *Provider) Deny(userCode string) bool {
	return p.decide(userCode, func(d *device) { d.denied = true })
}

func (p *Provider) decide(userCode string, decision func(*device)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.devices {
		if d.userCode == userCode {
			decision(d)
			return true
		}
	}
	return false
}

// UserCodes returns the user codes of the device logins that are not complete, sorted.
func (p *Provider) UserCodes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var codes []string
	for _, d := range p.devices {
		codes = append(codes, d.userCode)
	}
	slices.Sort(codes)
	return codes
}

func (x *exchange) oauthError(code string) {
	x.JSON(http.StatusBadRequest, engine.Object{"error": code, "error_description": "The request was refused: " + code})
}
