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
	// Timeout is the longest that a refresh takes, from dialing to the end of the response (TOK-7c).
	Timeout = 30 * time.Second

	defaultLifetime = time.Hour // of an access token whose response does not say (TOK-3)
	maxLifetime     = 10 * 365 * 24 * time.Hour
	maxResponse     = 1 << 20 // bytes
)

// ErrInvalidGrant reports that the provider will never accept this refresh token, or this code of a login, again (TOK-7).
// After any other error it may.
var ErrInvalidGrant = errors.New("the refresh token was rejected (invalid_grant)")

// StatusError is a response of the token endpoint without a grant.
type StatusError struct {
	Status int
	Code   string // the response's error field if it is a plain word, else empty
}

func (e *StatusError) Error() string {
	if e.Code != "" {
		return fmt.Sprintf("the token endpoint returned status %d (%s)", e.Status, e.Code)
	}
	return fmt.Sprintf("the token endpoint returned status %d", e.Status)
}

// Is reports whether the response is an [ErrInvalidGrant]. Only a 400, 401 or 403 rejects the token: the same word in a
// 429 or a 5xx means that the endpoint has a problem (TOK-7a).
func (e *StatusError) Is(target error) bool {
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
		return target == ErrInvalidGrant && e.Code == "invalid_grant"
	}
	return false
}

// Grant is what the provider issued in exchange for a refresh token or for the code of a login.
type Grant struct {
	AccessToken  secret.String
	RefreshToken secret.String // zero after a refresh: the one that was sent remains valid
	Lifetime     time.Duration // of the access token, from the moment the request was sent
	Owner        Owner         // as far as the response says
}

// Client sends requests to one vendor's authorization server.
type Client struct {
	vendor Vendor
	http   http.Client
}

// NewClient returns a client that uses transport, or one of its own if that is nil.
func NewClient(v Vendor, transport http.RoundTripper) *Client {
	if transport == nil {
		transport = newTransport(strings.HasPrefix(v.TokenURL, "http:"))
	}
	return &Client{v.withDefaults(), http.Client{
		Transport: transport,
		// A redirect would send the refresh token to another server (TOK-7c).
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// newTransport returns a transport that opens a connection for each request. Requests are rare, and net/http could send a
// refresh token twice if a reused connection broke.
func newTransport(onlyLoopback bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if onlyLoopback {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			host, _, err := net.SplitHostPort(address)
			if err != nil || !hosts.IsLoopback(host) {
				return fmt.Errorf("%s is not a loopback address", address)
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

// Refresh exchanges a refresh token (TOK-3). The provider may rotate it: after an error other than [ErrInvalidGrant], the
// token may or may not be valid. So ctx should not be one that a client can cancel (TOK-5). No error quotes a token.
func (c *Client) Refresh(ctx context.Context, refreshToken secret.String) (Grant, error) {
	return c.send(ctx, map[string]any{
		"grant_type":    "refresh_token",
		"refresh_token": refreshToken.Reveal(),
		"client_id":     c.vendor.ClientID,
		"scope":         c.vendor.Scope,
	}, defaultLifetime)
}

// send sends a request to the token endpoint. Assumed is the access token's lifetime if the response does not say.
func (c *Client) send(ctx context.Context, request map[string]any, assumed time.Duration) (Grant, error) {
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
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return Grant{}, fmt.Errorf("read the response of the token endpoint: %w", err)
	}
	if len(content) > maxResponse {
		return Grant{}, fmt.Errorf("the response of the token endpoint has more than %d bytes", maxResponse)
	}
	return c.parseResponse(resp.StatusCode, content, assumed)
}

// parseResponse reads each field by itself, so that a lifetime in an unexpected form does not lose the tokens.
func (c *Client) parseResponse(status int, content []byte, assumed time.Duration) (Grant, error) {
	var fields map[string]json.RawMessage
	decodeErr := json.Unmarshal(content, &fields)
	access := text(fields["access_token"])
	if status/100 != 2 || access == "" {
		if status/100 == 2 && fields["error"] == nil {
			return Grant{}, noGrant(decodeErr)
		}
		return Grant{}, &StatusError{status, plainWord(text(fields["error"]))}
	}
	return Grant{
		AccessToken:  secret.New(access),
		RefreshToken: secret.New(text(fields["refresh_token"])),
		Lifetime:     lifetime(fields["expires_in"], assumed),
		Owner:        c.vendor.Owner(fields),
	}, nil
}

func noGrant(decodeErr error) error {
	if decodeErr != nil {
		return errors.New("the response of the token endpoint is not a JSON object") // the cause would quote the response
	}
	return errors.New("the response of the token endpoint has no access_token")
}

// text returns a JSON string without the white space around it; empty for anything else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return strings.TrimSpace(s)
}

// plainWord returns an error code if it looks like one, else empty, so that nothing that a server echoes reaches a log.
func plainWord(s string) string {
	if len(s) > 64 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return s
}

// lifetime returns the duration of a number of seconds, or assumed if the value is not a positive number.
func lifetime(raw json.RawMessage, assumed time.Duration) time.Duration {
	var seconds float64
	if json.Unmarshal(raw, &seconds) != nil || seconds <= 0 {
		return assumed
	}
	return time.Duration(math.Min(seconds, maxLifetime.Seconds()) * float64(time.Second))
}
