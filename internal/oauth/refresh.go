package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"shunt/internal/hosts"
	"shunt/internal/secret"
)

const (
	// Timeout is how long a refresh may take, from dialling to the end of the reply (TOK-7c).
	Timeout = 30 * time.Second

	defaultLifetime = time.Hour
	maxLifetime     = 10 * 365 * 24 * time.Hour
	maxReply        = 1 << 20
)

// ErrInvalidGrant reports that the provider will not take this refresh token, or this code of a login, again (TOK-7). Every
// other error leaves that open.
var ErrInvalidGrant = errors.New("the refresh token was refused (invalid_grant)")

// StatusError is an answer of the token endpoint that holds no grant.
type StatusError struct {
	Status int
	Code   string // the answer's error field if it is a plain word, else empty
}

func (e *StatusError) Error() string {
	if e.Code != "" {
		return fmt.Sprintf("the token endpoint answered %d (%s)", e.Status, e.Code)
	}
	return fmt.Sprintf("the token endpoint answered %d", e.Status)
}

// Is reports whether the response is an [ErrInvalidGrant]. Only a 400, 401 or 403 judges the token: the same word in a
// 429 or a 5xx comes from an endpoint in trouble (TOK-7a).
func (e *StatusError) Is(target error) bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
		return target == ErrInvalidGrant && e.Code == "invalid_grant"
	}
	return false
}

// Grant is what the provider gave for a refresh token, or for the code of a login.
type Grant struct {
	AccessToken  secret.String
	RefreshToken secret.String // zero after a refresh: the one that was sent stays valid
	Lifetime     time.Duration // of the access token, from the moment the request was sent
	Owner        Owner         // as far as the provider says
}

// Client talks to one vendor's token endpoint.
type Client struct {
	vendor Vendor
	http   http.Client
}

// NewClient returns a client that sends over transport, or over one of its own when that is nil.
func NewClient(v Vendor, transport http.RoundTripper) *Client {
	if transport == nil {
		transport = newTransport(strings.HasPrefix(v.TokenURL, "http:"))
	}
	return &Client{v, http.Client{
		Transport: transport,
		// A redirect would carry the refresh token to a place that nobody chose (TOK-7c).
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// newTransport dials for each call: they are rare, and a kept connection that just died would make net/http send a
// refresh token twice.
func newTransport(onlyLoopback bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if onlyLoopback {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			host, _, err := net.SplitHostPort(address)
			if err != nil || !hosts.IsLoopback(host) {
				return fmt.Errorf("%s is no loopback address", address)
			}
			return nil
		}
	}
	return &http.Transport{
		Proxy:               hosts.Proxy,
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 10 * time.Second,
		DisableKeepAlives:   true,
	}
}

// Refresh exchanges a refresh token (TOK-3). The provider may rotate it: once the request is out, an error other than
// [ErrInvalidGrant] leaves open whether the token is still good, so ctx should not be one that a client can end (TOK-5).
// No error quotes a token.
func (c *Client) Refresh(ctx context.Context, refreshToken secret.String) (Grant, error) {
	return c.ask(ctx, map[string]any{
		"grant_type":    "refresh_token",
		"refresh_token": refreshToken.Reveal(),
		"client_id":     c.vendor.ClientID,
		"scope":         c.vendor.Scope,
	}, defaultLifetime)
}

// ask sends one request to the token endpoint. A reply that does not say how long the access token lives means unsaid.
func (c *Client) ask(ctx context.Context, request map[string]any, unsaid time.Duration) (Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	body, mediaType, err := c.vendor.Encode(request)
	if err != nil {
		return Grant{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.vendor.TokenURL, bytes.NewReader(body))
	if err != nil {
		return Grant{}, err
	}
	req.GetBody = nil // no silent resend
	req.Header.Set("Content-Type", mediaType)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "shunt")
	resp, err := c.http.Do(req)
	if err != nil {
		return Grant{}, err
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return Grant{}, fmt.Errorf("read the reply of the token endpoint: %w", err)
	}
	if len(reply) > maxReply {
		return Grant{}, fmt.Errorf("the reply of the token endpoint has more than %d bytes", maxReply)
	}
	return c.parseReply(resp.StatusCode, reply, unsaid)
}

// parseReply reads each field alone, because a lifetime in an unexpected form must not cost the tokens beside it.
func (c *Client) parseReply(status int, reply []byte, unsaid time.Duration) (Grant, error) {
	var fields map[string]json.RawMessage
	decodeErr := json.Unmarshal(reply, &fields)
	access := word(fields["access_token"])
	if status/100 != 2 || access == "" {
		if status/100 == 2 && fields["error"] == nil {
			return Grant{}, noGrant(decodeErr)
		}
		return Grant{}, &StatusError{status, code(fields["error"])}
	}
	return Grant{
		AccessToken:  secret.New(access),
		RefreshToken: secret.New(word(fields["refresh_token"])),
		Lifetime:     lifetime(fields["expires_in"], unsaid),
		Owner:        c.vendor.Owner(fields),
	}, nil
}

func noGrant(decodeErr error) error {
	if decodeErr != nil {
		return errors.New("the reply of the token endpoint is no JSON object") // the cause would quote the reply
	}
	return errors.New("the reply of the token endpoint has no access_token")
}

// word is a JSON string without the white space around it; anything else is empty.
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return strings.TrimSpace(s)
}

// code is an error field that says no more than a code does.
func code(raw json.RawMessage) string { return plainWord(word(raw)) }

// plainWord keeps an error code only if it looks like one, so that nothing that a server echoes reaches a log.
func plainWord(s string) string {
	if len(s) > 64 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return s
}

func lifetime(raw json.RawMessage, unsaid time.Duration) time.Duration {
	var seconds float64
	if json.Unmarshal(raw, &seconds) != nil || seconds <= 0 {
		return unsaid
	}
	return time.Duration(math.Min(seconds, maxLifetime.Seconds()) * float64(time.Second))
}
