package claude_test

import (
	"net/http"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/family"
	"shunt/internal/family/claude"
	"shunt/internal/quota"
)

// The table of 5-failover: what a status with its quota headers means.
func TestClassify(t *testing.T) {
	const fable, other quota.Scope = "fable", ""
	limits := func(fiveHour, sevenDay, fableWeek, aggregate string) messages.RateLimit {
		var l messages.RateLimit
		l.Windows[messages.FiveHour].Status, l.Windows[messages.SevenDay].Status, l.Windows[messages.Fable].Status = fiveHour, sevenDay, fableWeek
		l.Status = aggregate
		return l
	}
	for _, c := range []struct {
		status int
		limits messages.RateLimit
		scope  quota.Scope
		want   family.Class
	}{
		{200, limits("rejected", "", "", ""), other, family.Success},
		{204, limits("", "", "", ""), other, family.Success},
		{429, limits("allowed", "allowed", "rejected", "rejected"), fable, family.ScopeRejected},
		{429, limits("allowed", "allowed", "rejected", "rejected"), other, family.Rejected},
		{429, limits("rejected", "allowed", "rejected", ""), fable, family.Rejected},
		{429, limits("rejected", "allowed", "", ""), other, family.Rejected},
		{429, limits("", "rejected", "", ""), fable, family.Rejected},
		{429, limits("", "", "", "rejected"), other, family.Rejected},
		{429, limits("", "", "", "rejected"), fable, family.Rejected},
		{429, limits("allowed", "", "", "rejected"), other, family.Throttled}, // a status of a window outranks the aggregate
		{429, limits("Rejected", "", "", ""), other, family.Throttled},        // QUO-4: exactly
		{429, limits("", "", "", ""), other, family.Throttled},
		{401, limits("", "", "", ""), other, family.Unauthorized},
		{529, limits("rejected", "", "", "rejected"), other, family.Overloaded},
		{500, limits("", "", "", ""), other, family.ServerError},
		{503, limits("", "", "", ""), other, family.ServerError},
		{504, limits("", "", "", ""), other, family.ServerError},
		{301, limits("", "", "", ""), other, family.Relayed},
		{400, limits("", "", "", ""), other, family.Relayed},
		{403, limits("", "", "", ""), other, family.Relayed},
		{404, limits("", "", "", ""), other, family.Relayed},
		{413, limits("", "", "", ""), other, family.Relayed},
		{422, limits("", "", "", ""), other, family.Relayed},
	} {
		h := http.Header{}
		c.limits.WriteTo(h)
		r := family.Response{Status: c.status, Header: h, Quota: claude.Family.Quota(h), Scope: c.scope, Body: func() []byte { return nil }}
		if got := claude.Family.Classify(r).Class; got != c.want {
			t.Errorf("%d %+v scope %q: %v, want %v", c.status, c.limits, c.scope, got, c.want)
		}
	}
}

// The table of 5-failover: how long an account cools down.
func TestCooldowns(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for _, c := range []struct {
		class      family.Class
		retryAfter string
		want       time.Duration
	}{
		{family.Rejected, "", 60 * time.Second},
		{family.Rejected, "0", time.Second},
		{family.Rejected, "120", 120 * time.Second},
		{family.Rejected, "99999", time.Hour},
		{family.Rejected, "soon", 60 * time.Second},
		{family.Rejected, now.Add(90 * time.Second).UTC().Format(http.TimeFormat), 90 * time.Second},
		{family.Rejected, now.Add(-time.Hour).UTC().Format(http.TimeFormat), time.Second},
		{family.ScopeRejected, "120", 120 * time.Second},
		{family.Throttled, "", 0},
		{family.Throttled, "0", time.Second},
		{family.Throttled, "999", 300 * time.Second},
		{family.Overloaded, "999", 5 * time.Second},
		{family.ServerError, "999", 30 * time.Second},
		{family.Unauthorized, "1", 300 * time.Second},
		{family.CredentialRefused, "", 300 * time.Second},
		{family.Unreachable, "", 30 * time.Second},
		{family.HostDown, "", 5 * time.Second},
		{family.Unresolved, "", 300 * time.Second},
	} {
		h := http.Header{}
		if c.retryAfter != "" {
			h.Set("Retry-After", c.retryAfter)
		}
		if got := claude.Family.Rules[c.class].Cooldown.For(h, now); got != c.want {
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
		want := family.Relayed
		if c.want {
			want = family.CredentialRefused
		}
		r := family.Response{Status: http.StatusForbidden, Body: func() []byte { return c.body }}
		if got := claude.Family.Classify(r).Class; got != want {
			t.Errorf("%s: %v", c.body, got)
		}
	}
}

// The scope of a request follows from the upstream model's name, in any case.
func TestScopeOf(t *testing.T) {
	for model, want := range map[string]quota.Scope{"claude-fable-1": "fable", "CLAUDE-FABLE": "fable", "claude-sonnet-4-5": "", "": ""} {
		if got := claude.Family.ScopeOf(model); got != want {
			t.Errorf("%q: %q", model, got)
		}
	}
}

// The table of 5-failover: where the body decides what a status means.
func TestClassifyBody(t *testing.T) {
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
		want   family.Class
	}{
		{401, nil, bad, family.Unauthorized},
		{401, nil, "", family.Unauthorized},
		{401, nil, "no JSON", family.Unauthorized},
		{401, nil, problem, family.RequestUnauthorized},
		{403, nil, oauth, family.CredentialRefused},
		{403, front, oauth, family.CredentialRefused},
		{403, nil, model, family.Relayed},
		{403, nil, page, family.Relayed},
		{403, front, page, family.Challenged},
		{403, http.Header{"Cf-Mitigated": {"challenge"}}, page, family.Challenged},
		{403, front, "", family.Relayed},
		{500, nil, page, family.ServerError},
		{502, front, page, family.Challenged},
		{529, front, problem, family.Overloaded},
		{404, front, page, family.Relayed},
	} {
		r := family.Response{Status: c.status, Header: c.header, Body: func() []byte { return []byte(c.body) }}
		if got := claude.Family.Classify(r).Class; got != c.want {
			t.Errorf("%d %v %s: %v, want %v", c.status, c.header, c.body, got, c.want)
		}
	}
}
