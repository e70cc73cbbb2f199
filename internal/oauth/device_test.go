package oauth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/clock"
	"shunt/internal/family/chatgpt"
	"shunt/internal/family/kimi"
	"shunt/internal/oauth"
	simchatgpt "shunt/internal/sim/chatgpt"
	"shunt/internal/sim/engine"
	simkimi "shunt/internal/sim/kimi"
)

// at sends requests for any host to a handler.
func at(h http.Handler) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result(), r.Context().Err()
	}
}

// deviceVendors are the vendors with logins by device code, and what allows one.
func deviceVendors() map[string]struct {
	vendor  oauth.Vendor
	handler http.Handler
	approve func(code string) bool
	token   func() string
} {
	c := simchatgpt.New(simchatgpt.Config{Config: engine.Config{Clock: clock.Clock{}}, Accounts: []simchatgpt.Account{{Name: "a"}}})
	k := simkimi.New(simkimi.Config{Config: engine.Config{Clock: clock.Clock{}}, Accounts: []simkimi.Account{{Name: "a"}}})
	return map[string]struct {
		vendor  oauth.Vendor
		handler http.Handler
		approve func(code string) bool
		token   func() string
	}{
		"chatgpt": {chatgpt.Family.Vendor, c, func(code string) bool { return c.Approve(code, "a") }, func() string { return c.Token("a") }},
		"kimi":    {kimi.Family.Vendor, k, func(code string) bool { return k.Approve(code, "a") }, func() string { return k.Token("a") }},
	}
}

// GPT-9, KIMI-1: a person types a code on a page of the vendor's, and shunt gets the tokens.
func TestDeviceLogin(t *testing.T) {
	for name, v := range deviceVendors() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := oauth.NewClient(v.vendor, at(v.handler))
				device, err := client.BeginDevice(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if device.Code == "" || !strings.HasPrefix(device.Page, "http") || time.Until(device.Expires) < time.Minute {
					t.Errorf("%+v", device)
				}
				time.AfterFunc(12*time.Second, func() {
					if !v.approve(device.Code) {
						t.Errorf("the code %q is not known", device.Code)
					}
				})
				began := time.Now()
				grant, err := device.Wait(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if grant.AccessToken.Reveal() != v.token() || grant.RefreshToken.IsZero() || device.Requested.Sub(began) < 12*time.Second {
					t.Errorf("after %v", device.Requested.Sub(began))
				}
				if bound := v.vendor.Header != nil; (grant.DeviceID != "") != bound {
					t.Errorf("bound to the device %q", grant.DeviceID)
				}
			})
		})
	}
}

// GPT-9, KIMI-1: a login that nobody allows ends with its code, and at once if the person leaves.
func TestDeviceLoginEnds(t *testing.T) {
	for name, v := range deviceVendors() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := oauth.NewClient(v.vendor, at(v.handler))
				device, err := client.BeginDevice(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := device.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "expired") || time.Now().Before(device.Expires.Add(-time.Minute)) {
					t.Errorf("%v", err)
				}
				device, err = client.BeginDevice(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ctx, leave := context.WithTimeout(t.Context(), 7*time.Second)
				defer leave()
				if _, err := device.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// KIMI-1: the interval is at least a second and grows when the vendor asks for that; a refusal ends the wait.
func TestDevicePolls(t *testing.T) {
	for _, c := range []struct {
		begin   string
		replies []string // of the polls
		gaps    []time.Duration
		want    error
	}{
		{begin: `"interval":0`, replies: []string{"authorization_pending", "access_denied"}, gaps: []time.Duration{time.Second, time.Second}, want: oauth.ErrDenied},
		{begin: `"interval":"2"`, replies: []string{"slow_down", "slow_down", "access_denied"}, gaps: []time.Duration{2 * time.Second, 7 * time.Second, 12 * time.Second}, want: oauth.ErrDenied},
		{begin: `"interval":3600`, replies: []string{"slow_down", "access_denied"}, gaps: []time.Duration{30 * time.Second, 30 * time.Second}, want: oauth.ErrDenied},
		{begin: `"interval":null`, replies: []string{"", "invalid_grant"}, gaps: []time.Duration{5 * time.Second, 5 * time.Second}, want: oauth.ErrInvalidGrant},
	} {
		synctest.Test(t, func(t *testing.T) {
			var polls []time.Time
			handler := func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/device_authorization") {
					_, _ = w.Write([]byte(`{"device_code":"d","user_code":"U","verification_uri":"https://a.example",` + c.begin + `}`))
					return
				}
				reply := c.replies[len(polls)]
				polls = append(polls, time.Now())
				if reply == "" {
					w.WriteHeader(http.StatusBadGateway)
					return
				}
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte(`{"error":"` + reply + `"}`))
			}
			device, err := oauth.NewClient(kimi.Family.Vendor, at(http.HandlerFunc(handler))).BeginDevice(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			last := time.Now()
			if _, err := device.Wait(t.Context()); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", c.begin, err)
			}
			for i, at := range polls {
				if gap := at.Sub(last); gap != c.gaps[i] {
					t.Errorf("%s: poll %d after %v, want %v", c.begin, i, gap, c.gaps[i])
				}
				last = at
			}
		})
	}
}

// A vendor whose response has no code is an error, and so is one that refuses.
func TestDeviceCodeIsMissing(t *testing.T) {
	for body, status := range map[string]int{`{}`: 200, `no`: 200, `{"error":"invalid_client"}`: 400} {
		if _, err := oauth.NewClient(kimi.Family.Vendor, answering(status, body)).BeginDevice(t.Context()); err == nil {
			t.Errorf("%d %s: no error", status, body)
		}
	}
}

// GPT-9, KIMI-1: the environment moves the logins to a loopback host, and keeps their paths.
func TestDeviceOrigin(t *testing.T) {
	for variable, v := range map[string]oauth.Vendor{"SHUNT_CODEX_AUTH_URL": chatgpt.Family.Vendor, "SHUNT_KIMI_AUTH_URL": kimi.Family.Vendor} {
		moved, warnings := v.Overridden(func(name string) string {
			if name == variable {
				return "http://127.0.0.1:9"
			}
			return ""
		})
		if len(warnings) > 0 || !strings.HasPrefix(moved.Device.CodeURL, "http://127.0.0.1:9/api/") || !strings.HasPrefix(v.Device.CodeURL, "https://") {
			t.Errorf("%s: %+v, %v", variable, moved.Device, warnings)
		}
	}
}
