package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"shunt/internal/secret"
)

// DeviceFlow is how a person logs in with a code that is typed on a page of the vendor's, on any machine. The zero value of an
// optional field stands for RFC 8628 (KIMI-1); others are those of ChatGPT (GPT-9).
type DeviceFlow struct {
	CodeURL string // where a login begins
	PollURL string // where shunt asks whether the person has allowed it. Optional: the token endpoint
	Page    string // where the person types the code. Optional: the response says
	Secret  string // the member with what a poll presents. Optional: device_code
	// Redirect is the redirect_uri with which the code that a poll returns is exchanged for tokens. Optional: a poll returns the
	// tokens.
	Redirect string
	// Pending are the statuses of a poll whose login is not decided yet. Optional: the error code says.
	Pending []int
}

const (
	deviceGrant      = "urn:ietf:params:oauth:grant-type:device_code"
	deviceLifetime   = 15 * time.Minute // of a code whose response does not say
	defaultInterval  = 5 * time.Second
	slowerInterval   = 5 * time.Second  // is added when the vendor asks for patience (KIMI-1)
	longestInterval  = 30 * time.Second // of the polls
	shortestInterval = time.Second
)

var errExpired = errors.New("the code has expired before the login was allowed")

// Device is a login that waits for a person to type a code.
type Device struct {
	Code    string    // to type
	Page    string    // where
	Expires time.Time // when it is too late
	// Requested is when the tokens were requested, once Wait has returned them.
	Requested time.Time

	client   *Client
	secret   secret.String
	id       string // of the device that the login is bound to; empty: none
	interval time.Duration
}

// HasDeviceFlow reports whether the vendor has logins by device code.
func (c *Client) HasDeviceFlow() bool { return c.vendor.Device != nil }

// BeginDevice begins a login by device code.
func (c *Client) BeginDevice(ctx context.Context) (*Device, error) {
	flow := c.vendor.Device
	d := &Device{client: c, Page: flow.Page}
	if c.vendor.Header != nil {
		d.id = NewDeviceID()
	}
	sent := time.Now()
	status, fields, err := c.post(ctx, flow.CodeURL, d.id, map[string]any{"client_id": c.vendor.ClientID})
	if err != nil {
		return nil, err
	}
	if status/100 != 2 {
		return nil, &StatusError{Status: status, Code: plainWord(c.vendor.ErrorCode(fields))}
	}
	d.Code, d.secret = text(fields["user_code"]), secret.New(text(fields[flow.secretName()]))
	if d.Page == "" {
		if d.Page = text(fields["verification_uri_complete"]); d.Page == "" {
			d.Page = text(fields["verification_uri"])
		}
	}
	if d.Code == "" || d.secret.IsZero() || !strings.HasPrefix(d.Page, "http") {
		return nil, errors.New("the response does not contain a code for the login")
	}
	d.Expires = sent.Add(lifetime(fields["expires_in"], deviceLifetime))
	d.interval = min(max(intervalIn(fields["interval"]), shortestInterval), longestInterval)
	return d, nil
}

func (f *DeviceFlow) secretName() string {
	if f.Secret != "" {
		return f.Secret
	}
	return "device_code"
}

// intervalIn returns an interval in seconds, which is a number or a text.
func intervalIn(raw json.RawMessage) time.Duration {
	seconds, err := strconv.ParseFloat(strings.Trim(string(raw), `" `), 64)
	if err != nil || math.IsNaN(seconds) {
		return defaultInterval
	}
	return time.Duration(min(max(seconds, 0), longestInterval.Seconds()) * float64(time.Second))
}

// Wait waits until the person has allowed the login, and returns the tokens. The error is an [ErrDenied] if the person did not
// allow it. No error quotes a code.
func (d *Device) Wait(ctx context.Context) (Grant, error) {
	ctx, cancel := context.WithDeadlineCause(ctx, d.Expires, errExpired)
	defer cancel()
	for {
		timer := time.NewTimer(d.interval)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return Grant{}, context.Cause(ctx)
		}
		grant, done, err := d.poll(ctx)
		if ctx.Err() != nil && err != nil {
			return Grant{}, context.Cause(ctx)
		}
		if done || err != nil {
			return grant, err
		}
	}
}

// poll asks once whether the person has allowed the login.
func (d *Device) poll(ctx context.Context) (_ Grant, done bool, _ error) {
	flow := d.client.vendor.Device
	url, request := flow.PollURL, map[string]any{"user_code": d.Code}
	if url == "" {
		url, request = d.client.vendor.TokenURL, map[string]any{"grant_type": deviceGrant, "client_id": d.client.vendor.ClientID}
	}
	request[flow.secretName()] = d.secret.Reveal()
	d.Requested = time.Now()
	status, fields, err := d.client.post(ctx, url, d.id, request)
	code := plainWord(d.client.vendor.ErrorCode(fields))
	switch {
	case err != nil || status >= 500 || status == http.StatusTooManyRequests: // it may be better the next time
		return Grant{}, false, nil
	case status/100 == 2:
		grant, err := d.grant(ctx, status, fields)
		return grant, true, err
	case flow.isPending(status), code == "authorization_pending":
		return Grant{}, false, nil
	case code == "slow_down":
		d.interval = min(d.interval+slowerInterval, longestInterval)
		return Grant{}, false, nil
	case code == "access_denied":
		return Grant{}, true, ErrDenied
	case code == "expired_token":
		return Grant{}, true, errExpired
	}
	return Grant{}, true, &StatusError{Status: status, Code: code}
}

func (f *DeviceFlow) isPending(status int) bool {
	for _, pending := range f.Pending {
		if status == pending {
			return true
		}
	}
	return false
}

// grant returns the tokens that a successful poll has, or that its code is exchanged for.
func (d *Device) grant(ctx context.Context, status int, fields map[string]json.RawMessage) (Grant, error) {
	c := d.client
	if c.vendor.Device.Redirect == "" {
		grant, err := c.grantIn(Credential{DeviceID: d.id}, status, fields, defaultLifetime)
		if err == nil && grant.RefreshToken.IsZero() {
			err = errNoRefresh
		}
		return grant, err
	}
	login := &Login{
		client: c, kind: Renewable, redirect: c.vendor.Device.Redirect,
		verifier: secret.New(text(fields["code_verifier"])), device: d.id,
	}
	return login.exchange(ctx, text(fields["authorization_code"]))
}

// post sends a request to an endpoint of the vendor's other than that for tokens, and returns the members of its response.
func (c *Client) post(ctx context.Context, url, deviceID string, request map[string]any) (status int, fields map[string]json.RawMessage, err error) {
	status, content, err := c.exchange(ctx, url, deviceID, request)
	if err != nil {
		return 0, nil, fmt.Errorf("log in: %w", err)
	}
	if json.Unmarshal(content, &fields) != nil {
		fields = nil
	}
	return status, fields, nil
}
