package oauth

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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

const invalidGrant = "invalid_grant"

// StatusError is a response of the token endpoint without a grant.
type StatusError struct {
	Status int
	Code   string // the response's code of an error if it is a plain word, else empty

	rejected bool // see [Vendor.Rejects]
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
		return target == ErrInvalidGrant && (e.rejected || e.Code == invalidGrant)
	}
	return false
}

// Grant is what the provider issued in exchange for a refresh token or for the code of a login.
type Grant struct {
	AccessToken  secret.String
	RefreshToken secret.String // zero after a refresh: the one that was sent remains valid
	IDToken      secret.String // zero after a refresh: that of the login remains
	Lifetime     time.Duration // of the access token, from the moment the request was sent; 0: the token says when it expires
	Expires      time.Time     // when it expires according to itself; zero: it does not say, or Lifetime does
	DeviceID     string        // that was sent; empty: the vendor does not bind logins to devices
	Owner        Owner         // as far as the response says
}

// Credential returns the login that the grant makes of an old one, which may be zero. Sent is when the grant was requested.
func (g Grant) Credential(old Credential, sent time.Time) Credential {
	c := Credential{
		Access: g.AccessToken, Refresh: g.RefreshToken, ID: g.IDToken, Expires: g.Expires, Refreshed: sent, DeviceID: g.DeviceID,
	}
	if g.Lifetime > 0 {
		c.Expires = sent.Add(g.Lifetime)
	}
	c.UntilRejected = c.Expires.IsZero()
	if c.Refresh.IsZero() {
		c.Refresh = old.Refresh
	}
	if c.ID.IsZero() {
		c.ID = old.ID
	}
	c.DeviceID = cmp.Or(c.DeviceID, old.DeviceID)
	return c
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

// Refresh exchanges the refresh token of a login (TOK-3). The provider may rotate it: after an error other than
// [ErrInvalidGrant], the token may or may not be valid. So ctx should not be one that a client can cancel (TOK-5). No error
// quotes a token.
func (c *Client) Refresh(ctx context.Context, login Credential) (Grant, error) {
	request := map[string]any{
		"grant_type":    "refresh_token",
		"refresh_token": login.Refresh.Reveal(),
		"client_id":     c.vendor.ClientID,
	}
	if c.vendor.Scope != "" && !c.vendor.RefreshWithoutScope {
		request["scope"] = c.vendor.Scope
	}
	if c.vendor.Header != nil && login.DeviceID == "" {
		login.DeviceID = NewDeviceID()
	}
	grant, err := c.sendFor(ctx, login, request, defaultLifetime)
	var response *StatusError
	if errors.As(err, &response) {
		response.rejected = c.vendor.Rejects(response.Status, response.Code)
	}
	return grant, err
}

// NewDeviceID returns the ID of a device that no login is bound to yet (KIMI-2).
func NewDeviceID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	return hex.EncodeToString(id[:])
}

// sendFor sends a request to the token endpoint for a login.
func (c *Client) sendFor(ctx context.Context, login Credential, request map[string]any, assumed time.Duration) (Grant, error) {
	status, content, err := c.exchange(ctx, c.vendor.TokenURL, login.DeviceID, request)
	if err != nil {
		return Grant{}, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(content, &fields); err != nil && status/100 == 2 {
		return Grant{}, errors.New("the response of the token endpoint is not a JSON object") // the cause would quote the response
	}
	return c.grantIn(login, status, fields, assumed)
}

// exchange sends a request to an endpoint of the vendor's, and returns the response.
func (c *Client) exchange(ctx context.Context, url, deviceID string, request map[string]any) (status int, content []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	body, mediaType, err := c.vendor.Encode(request)
	if err != nil {
		return 0, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.GetBody = nil // no silent resend
	req.Header.Set("Content-Type", mediaType)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "shunt")
	if c.vendor.Header != nil {
		maps.Copy(req.Header, c.vendor.Header(deviceID))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	content, err = io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return 0, nil, fmt.Errorf("read the response of the token endpoint: %w", err)
	}
	if len(content) > maxResponse {
		return 0, nil, fmt.Errorf("the response of the token endpoint has more than %d bytes", maxResponse)
	}
	return resp.StatusCode, content, nil
}

// grantIn reads each field by itself, so that a lifetime in an unexpected form does not lose the tokens.
func (c *Client) grantIn(login Credential, status int, fields map[string]json.RawMessage, assumed time.Duration) (Grant, error) {
	access, refresh, id := text(fields["access_token"]), text(fields["refresh_token"]), text(fields["id_token"])
	if access == "" && c.vendor.PartialRefresh && refresh+id != "" {
		access = login.Access.Reveal()
	}
	if status/100 != 2 || access == "" {
		if status/100 == 2 && fields["error"] == nil {
			return Grant{}, errors.New("the response of the token endpoint has no access_token")
		}
		return Grant{}, &StatusError{Status: status, Code: plainWord(c.vendor.ErrorCode(fields))}
	}
	grant := Grant{
		AccessToken: secret.New(access), RefreshToken: secret.New(refresh), IDToken: secret.New(id),
		DeviceID: login.DeviceID, Owner: c.vendor.Owner(fields),
	}
	if c.vendor.Expires != nil {
		grant.Expires = c.vendor.Expires(access)
	} else {
		grant.Lifetime = lifetime(fields["expires_in"], assumed)
	}
	return grant, nil
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
