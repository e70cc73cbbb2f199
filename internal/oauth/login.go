package oauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"shunt/internal/secret"
)

// Errors that callers distinguish; the errors of a login wrap them.
var (
	// ErrState reports a code that belongs to another login or was made up.
	ErrState = errors.New("it does not belong to this login")

	// ErrDenied reports that the person or the provider did not allow the login.
	ErrDenied = errors.New("the login was denied")

	errCodeRejected = errors.New("the code was rejected because it has been used before or is too old")
	errNoRefresh    = errors.New("the response of the token endpoint has no refresh_token, so this login would soon expire")
	errNoAccount    = errors.New("the response of the token endpoint does not say whose token it is")
)

// Kind is the kind of token that a login obtains.
type Kind uint8

const (
	// Renewable is a login with all rights of the provider's own program. Its refresh token renews it (LOG-2).
	Renewable Kind = iota
	// SetupToken is a long-lived access token for inference only. It cannot be refreshed (LOG-4).
	SetupToken
)

// Login is one attempt to log a person in. It is immutable, and its secrets go to the authorization server only. The caller
// has the person open [Login.AuthorizeURL], receives a code from a [Callback] or from what the person pastes (see
// [Client.SplitCode]), and trades it for tokens with [Login.Exchange].
type Login struct {
	client   *Client
	kind     Kind
	redirect string
	state    secret.String // proves that a code belongs to this login
	verifier secret.String // proves to the token endpoint that this login requested the code (PKCE)
	device   string        // that it is bound to; empty: none
}

// Begin starts a login. The code goes to the redirect URI of a [Callback] or, if redirect is empty, to the vendor's page
// that shows it to the person.
func (c *Client) Begin(kind Kind, redirect string) *Login {
	if redirect == "" {
		redirect = c.vendor.ManualRedirect
	}
	return &Login{client: c, kind: kind, redirect: redirect, state: randomSecret(), verifier: randomSecret()}
}

// randomSecret returns 256 random bits in the characters of a PKCE verifier.
func randomSecret() secret.String {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return secret.New(base64.RawURLEncoding.EncodeToString(b[:]))
}

// AuthorizeURL returns the address of the page on which the person allows the login.
func (l *Login) AuthorizeURL() string {
	v, challenge := l.client.vendor, sha256.Sum256([]byte(l.verifier.Reveal()))
	scope := v.Scope
	if l.kind == SetupToken {
		scope = v.SetupScope
	}
	query := url.Values{
		"client_id":             {v.ClientID},
		"response_type":         {"code"},
		"redirect_uri":          {l.redirect},
		"scope":                 {scope},
		"code_challenge":        {base64.RawURLEncoding.EncodeToString(challenge[:])},
		"code_challenge_method": {"S256"},
		"state":                 {l.state.Reveal()},
	}
	for name, value := range v.AuthorizeQuery {
		query.Set(name, value)
	}
	separator := "?"
	if strings.Contains(v.AuthorizeURL, "?") {
		separator = "&"
	}
	return v.AuthorizeURL + separator + query.Encode()
}

// Owns reports whether a code with this state belongs to this login. It takes the same time for every state.
func (l *Login) Owns(state string) bool {
	return subtle.ConstantTimeCompare([]byte(l.state.Reveal()), []byte(state)) == 1
}

// Exchange trades the code for tokens (LOG-3). If the state is not the login's, the error is an [ErrState] and the code is
// not sent. A code works once, so every other error ends the login. No error quotes a code or a token.
//
// If the error is nil, the grant has what its kind needs: a refresh token, or the account's UUID.
func (l *Login) Exchange(ctx context.Context, code, state string) (Grant, error) {
	if !l.Owns(state) {
		return Grant{}, ErrState
	}
	return l.exchange(ctx, code)
}

// exchange trades the code for tokens.
func (l *Login) exchange(ctx context.Context, code string) (Grant, error) {
	request := map[string]any{
		"grant_type":    "authorization_code",
		"code":          code,
		"redirect_uri":  l.redirect,
		"client_id":     l.client.vendor.ClientID,
		"code_verifier": l.verifier.Reveal(),
	}
	if !l.state.IsZero() {
		request["state"] = l.state.Reveal()
	}
	assumed := defaultLifetime
	if l.kind == SetupToken {
		lifetime := l.client.vendor.SetupLifetime
		request["expires_in"] = int64(lifetime / time.Second)
		assumed = lifetime
	}
	grant, err := l.client.sendFor(ctx, Credential{DeviceID: l.device}, request, assumed)
	switch {
	case errors.Is(err, ErrInvalidGrant):
		return Grant{}, fmt.Errorf("%w: %w", errCodeRejected, err)
	case err != nil:
		return Grant{}, err
	case l.kind == Renewable && grant.RefreshToken.IsZero():
		return Grant{}, errNoRefresh
	case l.kind == SetupToken && grant.Owner.Account == "":
		return Grant{}, errNoAccount
	}
	return grant, nil
}

// SplitCode splits what the vendor's page gives a person to paste into the code and the state (LOG-3).
func (c *Client) SplitCode(pasted string) (code, state string, ok bool) {
	return c.vendor.SplitCode(pasted)
}
