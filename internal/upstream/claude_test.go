package upstream

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/http1"
)

// The table of 5-failover: what a status with its quota headers means.
func TestClassify(t *testing.T) {
	const fable, other = true, false
	limits := func(fiveHour, sevenDay, fableWeek, aggregate string) messages.RateLimit {
		var l messages.RateLimit
		l.Windows[messages.FiveHour].Status, l.Windows[messages.SevenDay].Status, l.Windows[messages.Fable].Status = fiveHour, sevenDay, fableWeek
		l.Status = aggregate
		return l
	}
	for _, c := range []struct {
		status int
		limits messages.RateLimit
		fable  bool
		want   class
	}{
		{200, limits("rejected", "", "", ""), other, success},
		{204, limits("", "", "", ""), other, success},
		{429, limits("allowed", "allowed", "rejected", "rejected"), fable, fableRejected},
		{429, limits("allowed", "allowed", "rejected", "rejected"), other, rejected},
		{429, limits("rejected", "allowed", "rejected", ""), fable, rejected},
		{429, limits("rejected", "allowed", "", ""), other, rejected},
		{429, limits("", "rejected", "", ""), fable, rejected},
		{429, limits("", "", "", "rejected"), other, rejected},
		{429, limits("", "", "", "rejected"), fable, rejected},
		{429, limits("allowed", "", "", "rejected"), other, throttled}, // a status of a window outranks the aggregate
		{429, limits("Rejected", "", "", ""), other, throttled},        // QUO-4: exactly
		{429, limits("", "", "", ""), other, throttled},
		{401, limits("", "", "", ""), other, unauthorized},
		{529, limits("rejected", "", "", "rejected"), other, overloaded},
		{500, limits("", "", "", ""), other, serverError},
		{503, limits("", "", "", ""), other, serverError},
		{504, limits("", "", "", ""), other, serverError},
		{301, limits("", "", "", ""), other, passed},
		{400, limits("", "", "", ""), other, passed},
		{403, limits("", "", "", ""), other, passed},
		{404, limits("", "", "", ""), other, passed},
		{413, limits("", "", "", ""), other, passed},
		{422, limits("", "", "", ""), other, passed},
	} {
		if got := classify(c.status, c.limits, c.fable); got != c.want {
			t.Errorf("%d %+v fable=%v: %v, want %v", c.status, c.limits, c.fable, got, c.want)
		}
	}
}

// The table of 5-failover: how long an account rests.
func TestCooling(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		class      class
		retryAfter string
		want       time.Duration
	}{
		{rejected, "", 60 * time.Second},
		{rejected, "0", time.Second},
		{rejected, "120", 120 * time.Second},
		{rejected, "99999", time.Hour},
		{rejected, "soon", 60 * time.Second},
		{rejected, now.Add(90 * time.Second).UTC().Format(http.TimeFormat), 90 * time.Second},
		{rejected, now.Add(-time.Hour).UTC().Format(http.TimeFormat), time.Second},
		{fableRejected, "120", 120 * time.Second},
		{throttled, "", 0},
		{throttled, "0", time.Second},
		{throttled, "999", 300 * time.Second},
		{overloaded, "999", 5 * time.Second},
		{serverError, "999", 30 * time.Second},
		{unauthorized, "1", 300 * time.Second},
		{credentialRefused, "", 300 * time.Second},
		{unreachable, "", 30 * time.Second},
		{hostDown, "", 5 * time.Second},
		{unresolved, "", 300 * time.Second},
	} {
		h := http.Header{}
		if c.retryAfter != "" {
			h.Set("Retry-After", c.retryAfter)
		}
		if got := claudeRules[c.class].cooldown.of(h, now); got != c.want {
			t.Errorf("%v, retry-after %q: %v, want %v", c.class, c.retryAfter, got, c.want)
		}
	}
}

// The table of 5-failover: a 403 is about the credential only in the known words, and never when it names a model.
func TestRefusesCredential(t *testing.T) {
	body := func(kind, message string) []byte {
		return messages.AppendError(nil, messages.ErrorType(kind), message, "r")
	}
	for _, c := range []struct {
		body []byte
		want bool
	}{
		{body("permission_error", "OAuth authentication is currently not allowed for this organization."), true},
		{body("permission_error", "oauth token revoked"), true},
		{body("permission_error", "This Organization Has Been Disabled."), true},
		{body("permission_error", "Request not allowed"), true},
		{body("permission_error", "request NOT allowed"), true},
		{body("permission_error", "Request not allowed for this workspace"), false},
		{body("permission_error", "OAuth authentication does not support the model claude-x"), false},
		{body("permission_error", "your account may not use this"), false},
		{body("invalid_request_error", "OAuth authentication is currently not allowed"), false},
		{[]byte("<html>OAuth</html>"), false},
		{nil, false},
	} {
		if got := refusesCredential(c.body); got != c.want {
			t.Errorf("%s: %v", c.body, got)
		}
	}
}

// Fable is told by the upstream model's name, in any case.
func TestIsFable(t *testing.T) {
	for model, want := range map[string]bool{"claude-fable-1": true, "CLAUDE-FABLE": true, "claude-sonnet-4-5": false, "": false} {
		if IsFable(model) != want {
			t.Errorf("%q", model)
		}
	}
}

// The table of 5-failover: where the body decides what a status means.
func TestInspect(t *testing.T) {
	const (
		page    = "<html>Just a moment...</html>"
		problem = `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`
		bad     = `{"type":"error","error":{"type":"authentication_error","message":"Invalid bearer token"}}`
		oauth   = `{"type":"error","error":{"type":"permission_error","message":"OAuth authentication is currently not allowed for this organization."}}`
		model   = `{"type":"error","error":{"type":"permission_error","message":"OAuth tokens may not use model x"}}`
	)
	front := http.Header{"Server": {"cloudflare"}}
	for _, c := range []struct {
		status int
		header http.Header
		body   string
		want   class
	}{
		{401, nil, bad, unauthorized},
		{401, nil, "", unauthorized},
		{401, nil, "no JSON", unauthorized},
		{401, nil, problem, requestUnauthorized},
		{403, nil, oauth, credentialRefused},
		{403, front, oauth, credentialRefused},
		{403, nil, model, passed},
		{403, nil, page, passed},
		{403, front, page, challenged},
		{403, http.Header{"Cf-Mitigated": {"challenge"}}, page, challenged},
		{403, front, "", passed},
		{500, nil, page, serverError},
		{502, front, page, challenged},
		{529, front, problem, overloaded},
		{404, front, page, passed},
	} {
		response := &http1.Response{Status: c.status, Header: c.header, Body: io.NopCloser(strings.NewReader(c.body))}
		if got := inspect(classify(c.status, messages.RateLimit{}, false), response); got != c.want {
			t.Errorf("%d %v %s: %v, want %v", c.status, c.header, c.body, got, c.want)
		}
		if rest, err := io.ReadAll(response.Body); string(rest) != c.body || err != nil {
			t.Errorf("%d %s: the body is %q afterwards (%v)", c.status, c.body, rest, err)
		}
	}
}
