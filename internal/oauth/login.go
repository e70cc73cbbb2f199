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

// The reasons why a login brings nothing that a caller may want to tell apart; errors of this package wrap them.
var (
	// ErrState reports an answer that is not to this login: an older one's, or one that somebody made up.
	ErrState = errors.New("it does not belong to this login")

	// ErrDenied reports that the person, or the provider, did not allow the login.
	ErrDenied = errors.New("the login was denied")

	errCodeRefused = errors.New("the code was refused, because it has been used before or is too old")
	errNoRefresh   = errors.New("the reply of the token endpoint has no refresh_token, so this login would soon be over")
	errNoAccount   = errors.New("the reply of the token endpoint does not say whose token it is")
)

// Kind is what a login is for.
type Kind uint8

const (
	// Renewable is a login with all rights of the provider's own program, which its refresh token keeps alive (LOG-2).
	Renewable Kind = iota
	// SetupToken is one access token for inference only. It lives for a year and cannot be refreshed (LOG-4).
	SetupToken
)

// Login is one attempt to log a person in, from the page that asks for their permission to the tokens. It never changes,
// and its secrets never leave the process but to the authorization server. Whoever starts it has the person open
// [Login.AuthorizeURL] and gets a code back, over a [Callback] or from the person's clipboard (see [Client.SplitCode]).
type Login struct {
	client   *Client
	kind     Kind
	redirect string
	state    secret.String // proves that an answer is to this login
	verifier secret.String // proves to the token endpoint that the code is for who began the login (PKCE)
}

// Begin starts a login. The code goes to the redirect URI, which is that of a [Callback], or empty for the page of the
// vendor that shows it to the person.
func (c *Client) Begin(kind Kind, redirect string) *Login {
	if redirect == "" {
		redirect = c.vendor.ManualRedirect
	}
	return &Login{client: c, kind: kind, redirect: redirect, state: unguessable(), verifier: unguessable()}
}

// unguessable is 256 random bits in the characters of a PKCE verifier.
func unguessable() secret.String {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return secret.New(base64.RawURLEncoding.EncodeToString(b[:]))
}

// AuthorizeURL is the page on which the person allows the login.
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

// Owns reports whether an answer with this state is to this login, in a time that tells nothing about the right one.
func (l *Login) Owns(state string) bool {
	return subtle.ConstantTimeCompare([]byte(l.state.Reveal()), []byte(state)) == 1
}

// Exchange trades the code for tokens. A state that is not the login's is an [ErrState], and the code is not sent
// anywhere. A code works once, so every later error ends the login. No error quotes a code or a token.
//
// What the kind of the login needs is there when the error is nil: a refresh token, or the account's UUID.
func (l *Login) Exchange(ctx context.Context, code, state string) (Grant, error) {
	if !l.Owns(state) {
		return Grant{}, ErrState
	}
	request := map[string]any{
		"grant_type":    "authorization_code",
		"code":          code,
		"redirect_uri":  l.redirect,
		"client_id":     l.client.vendor.ClientID,
		"code_verifier": l.verifier.Reveal(),
		"state":         state,
	}
	unsaid := defaultLifetime
	if l.kind == SetupToken {
		lifetime := l.client.vendor.SetupLifetime
		request["expires_in"] = int64(lifetime / time.Second)
		unsaid = lifetime
	}
	grant, err := l.client.ask(ctx, request, unsaid)
	switch {
	case errors.Is(err, ErrInvalidGrant):
		return Grant{}, fmt.Errorf("%w: %w", errCodeRefused, err)
	case err != nil:
		return Grant{}, err
	case l.kind == Renewable && grant.RefreshToken.IsZero():
		return Grant{}, errNoRefresh
	case l.kind == SetupToken && grant.Owner.Account == "":
		return Grant{}, errNoAccount
	}
	return grant, nil
}

// SplitCode takes apart what the vendor's page gives a person to paste (LOG-3).
func (c *Client) SplitCode(pasted string) (code, state string, ok bool) {
	return c.vendor.SplitCode(pasted)
}
