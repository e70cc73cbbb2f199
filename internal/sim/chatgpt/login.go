package chatgpt

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"shunt/internal/sim/engine"
)

const (
	// codeLifetime is the time for which a code can be exchanged for tokens, and for which a device code can be approved.
	codeLifetime = 15 * time.Minute

	deviceRedirect = "/deviceauth/callback"
)

// Scope is the scope that a login requests.
const Scope = "openid profile email offline_access api.connectors.read api.connectors.invoke"

// authorization is a login that a user allowed.
type authorization struct {
	account             *account
	redirect, challenge string
	expires             time.Time
}

// device is a login by device code.
type device struct {
	id      string
	account *account // nil until it is approved
	expires time.Time
}

var (
	loopbackRedirect = regexp.MustCompile(`^http://(127\.0\.0\.1|localhost):\d+/auth/callback$`)
	s256Challenge    = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)
)

// authorize serves the page on which a user allows a login as one of the accounts, or denies it.
func (x *exchange) authorize() {
	query := x.R.URL.Query()
	redirect, state := query.Get("redirect_uri"), query.Get("state")
	problem := ""
	switch {
	case query.Get("client_id") != ClientID:
		problem = "client_id"
	case !loopbackRedirect.MatchString(redirect):
		problem = "redirect_uri"
	case query.Get("response_type") != "code":
		problem = "response_type"
	case query.Get("scope") != Scope:
		problem = "scope"
	case query.Get("code_challenge_method") != "S256" || !s256Challenge.MatchString(query.Get("code_challenge")):
		problem = "code_challenge"
	case query.Get("id_token_add_organizations") != "true":
		problem = "id_token_add_organizations"
	case query.Get("codex_cli_simplified_flow") != "true":
		problem = "codex_cli_simplified_flow"
	case state == "":
		problem = "state"
	}
	name := query.Get("account")
	switch {
	case problem != "":
		x.Page(http.StatusBadRequest, engine.InvalidPage, problem)
	case query.Get("deny") != "":
		x.Redirect(redirect, url.Values{"error": {"access_denied"}, "state": {state}})
	case name == "":
		x.Page(http.StatusOK, engine.ConsentPage, engine.Choices(x.R.URL, x.p.Accounts()))
	case x.p.find(name) == nil:
		x.Page(http.StatusBadRequest, engine.InvalidPage, "account")
	default:
		x.p.mu.Lock()
		code := x.p.newCode(x.p.find(name), redirect, query.Get("code_challenge"))
		x.p.mu.Unlock()
		x.Redirect(redirect, url.Values{"code": {code}, "state": {state}})
	}
}

// newCode returns a code for a login as the account. The caller holds the lock.
func (p *Provider) newCode(a *account, redirect, challenge string) string {
	code := p.opaque(a, "ac_")
	p.codes[code] = authorization{a, redirect, challenge, p.Now().Add(codeLifetime)}
	return code
}

// redeem exchanges a code for tokens if the request belongs to the login that the code was issued for. Every request uses up
// its code.
func (x *exchange) redeem() {
	form, err := url.ParseQuery(string(x.Body))
	if err != nil || form.Get("grant_type") != "authorization_code" || form.Get("client_id") != ClientID {
		x.oauthError(http.StatusBadRequest, "invalid_request", "The form is not valid.")
		return
	}
	x.p.mu.Lock()
	allowed, known := x.p.codes[form.Get("code")]
	delete(x.p.codes, form.Get("code"))
	x.p.mu.Unlock()
	if known {
		x.a, x.Account = allowed.account, allowed.account.Name
	}
	if x.InjectFault(known) {
		return
	}
	redirect := form.Get("redirect_uri")
	sameRedirect := redirect == allowed.redirect || allowed.redirect == deviceRedirect && strings.HasSuffix(redirect, deviceRedirect)
	if !known || !x.p.Now().Before(allowed.expires) || !sameRedirect || challengeOf(form.Get("code_verifier")) != allowed.challenge {
		x.oauthError(http.StatusBadRequest, "invalid_grant", "The authorization code is not valid.")
		return
	}
	x.p.mu.Lock()
	x.p.issue(x.a)
	reply := x.p.tokenReply(x.a)
	x.p.mu.Unlock()
	if x.WaitLate() {
		x.JSON(http.StatusOK, reply)
	}
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// deviceCode begins a login by device code. The interval is a string, as the real endpoint sends it.
func (x *exchange) deviceCode() {
	var request struct {
		ClientID string `json:"client_id"`
	}
	if x.InjectFault(false) {
		return
	}
	if json.Unmarshal(x.Body, &request) != nil || request.ClientID != ClientID {
		x.oauthError(http.StatusBadRequest, "invalid_request", "The OAuth client was not found.")
		return
	}
	x.p.mu.Lock()
	x.p.issued++
	r := engine.Rand(x.p.Seed, "device", fmt.Sprint(x.p.issued))
	code := strings.ToUpper(engine.Hex(r, 2) + "-" + engine.Hex(r, 3))
	d := &device{id: "deviceauth_" + engine.Hex(r, 16), expires: x.p.Now().Add(codeLifetime)}
	x.p.devices[code] = d
	x.p.mu.Unlock()
	x.JSON(http.StatusOK, engine.Object{
		"device_auth_id": d.id, "user_code": code, "interval": "5", "expires_at": d.expires.UTC().Format(time.RFC3339),
	})
}

// devicePoll returns a code for the tokens once the user has approved the login, and 403 before.
func (x *exchange) devicePoll() {
	var request struct {
		ID   string `json:"device_auth_id"`
		Code string `json:"user_code"`
	}
	if x.InjectFault(false) {
		return
	}
	_ = json.Unmarshal(x.Body, &request) // without its members nothing is found
	x.p.mu.Lock()
	d := x.p.devices[request.Code]
	var reply engine.Object
	status, code := http.StatusOK, ""
	switch {
	case d == nil || d.id != request.ID || !x.p.Now().Before(d.expires):
		status, code = http.StatusNotFound, "deviceauth_not_found"
	case d.account == nil:
		status, code = http.StatusForbidden, "deviceauth_authorization_unknown"
	default:
		delete(x.p.devices, request.Code)
		verifier := x.p.opaque(d.account, "verifier_")
		challenge := challengeOf(verifier)
		x.a, x.Account = d.account, d.account.Name
		reply = engine.Object{
			"authorization_code": x.p.newCode(d.account, deviceRedirect, challenge), "code_verifier": verifier, "code_challenge": challenge,
		}
	}
	x.p.mu.Unlock()
	if code != "" {
		x.oauthError(status, code, "Device authorization is not complete.")
		return
	}
	x.JSON(status, reply)
}

// devicePage serves the page on which a user approves a login by device code: with the parameters user_code and account at
// once, otherwise after a choice.
func (x *exchange) devicePage() {
	query := x.R.URL.Query()
	code, name := query.Get("user_code"), query.Get("account")
	switch {
	case code == "" || name == "":
		x.Page(http.StatusOK, engine.ConsentPage, engine.Choices(x.R.URL, x.p.Accounts()))
	case x.p.find(name) == nil || !x.p.Approve(code, name):
		x.Page(http.StatusBadRequest, engine.InvalidPage, "user_code")
	default:
		x.Page(http.StatusOK, engine.DonePage, nil)
	}
}

// Approve approves the login with the user code as the account. It reports false if it does not know the code.
func (p *Provider) Approve(userCode, account string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.devices[userCode]
	if d == nil {
		return false
	}
	d.account = p.account(account)
	return true
}

// UserCodes returns the user codes of the device logins that are not complete, sorted.
func (p *Provider) UserCodes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var codes []string
	for code := range p.devices {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	return codes
}
