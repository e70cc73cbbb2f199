package chatgpt_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect"
	"shunt/internal/family"
	"shunt/internal/family/chatgpt"
	"shunt/internal/quota"
)

var now = time.Unix(reset, 0)

func body(typ, code, more string) string {
	return fmt.Sprintf(`{"error": {"type": %q, "code": %q, "message": "Text."%s}}`, typ, code, more)
}

// GPT-7: what responses mean, and how long rejections last.
func TestClassify(t *testing.T) {
	const limit = "usage_limit_reached"
	full := []string{minutes, "primary-used-percent: 100", "primary-reset-after-seconds: 900", weekly, "secondary-used-percent: 50", "secondary-reset-after-seconds: 9000"}
	bothFull := []string{minutes, "primary-used-percent: 100", "primary-reset-after-seconds: 900", weekly, "secondary-used-percent: 101", "secondary-reset-after-seconds: 9000"}
	nearly := []string{minutes, "primary-used-percent: 96", "primary-reset-after-seconds: 900"}
	rejected := func(cooldown time.Duration, windows ...int) family.Verdict {
		return family.Verdict{Class: family.Rejected, Details: family.Details{Cooldown: cooldown, Windows: quota.Of(windows...)}}
	}
	is := func(c family.Class) family.Verdict { return family.Verdict{Class: c} }
	for _, c := range []struct {
		name   string
		status int
		body   string
		quota  []string
		after  string
		want   family.Verdict
	}{
		{"success", 200, ``, nil, "", is(family.Success)},
		{"resets_at", 429, body(limit, "", `, "resets_at": 1800000600, "resets_in_seconds": 60`), full, "30", rejected(600*time.Second, chatgpt.FiveHour)},
		{"resets_at that has passed", 429, body(limit, "", `, "resets_at": 1799999999, "resets_in_seconds": 60`), nil, "30", rejected(time.Minute)},
		{"retry-after", 429, body(limit, "", ``), full, "30", rejected(30*time.Second, chatgpt.FiveHour)},
		{"retry-after of 0", 429, body(limit, "", ``), nil, "0", rejected(time.Second)},
		{"retry-after, at most an hour", 429, body(limit, "", ``), nil, "86400", rejected(time.Hour)},
		{"reset of the full window", 429, body(limit, "", ``), full, "", rejected(900*time.Second, chatgpt.FiveHour)},
		{"later reset of two", 429, body(limit, "", ``), bothFull, "", rejected(9000*time.Second, chatgpt.FiveHour, chatgpt.SevenDay)},
		{"a minute", 429, body("", "insufficient_quota", ``), nil, "", rejected(time.Minute)},
		{"eight days at most", 429, body(limit, "", `, "resets_in_seconds": 9999999`), nil, "", rejected(8 * 24 * time.Hour)},
		{"no Codex", 429, body("usage_not_included", "", ``), nil, "", family.Verdict{Class: family.NotIncluded, Details: family.Details{Reason: "this plan has no Codex"}}},
		{"throttle", 429, body("rate_limit_error", "rate_limit_exceeded", ``), full[:2], "3", rejected(3*time.Second, chatgpt.FiveHour)},
		{"window above 95 %", 429, body("rate_limit_error", "rate_limit_exceeded", ``), nearly, "", rejected(time.Minute, chatgpt.FiveHour)},
		{"window at 95 %", 429, `{"detail": "slow"}`, []string{minutes, "primary-used-percent: 95"}, "", is(family.Throttled)},
		{"throttle without quota", 429, body("rate_limit_error", "rate_limit_exceeded", ``), nil, "3", is(family.Throttled)},
		{"throttle without a body", 429, ``, nil, "", is(family.Throttled)},
		{"401, whatever its type", 401, body("invalid_request_error", "token_invalidated", ``), nil, "", is(family.Unauthorized)},
		{"402", 402, `{"detail": {"code": "deactivated_workspace"}}`, nil, "", is(family.PaymentRequired)},
		{"403 of the account", 403, body("invalid_request_error", "account_deactivated", ``), nil, "", is(family.CredentialRefused)},
		{"403 of a banned account", 403, body("", "user_banned", ``), nil, "", is(family.CredentialRefused)},
		{"403 of the request", 403, body("", "unsupported_country", ``), nil, "", is(family.Relayed)},
		{"400 of reasoning", 400, body("invalid_request_error", "invalid_encrypted_content", ``), nil, "", is(family.ForeignReasoning)},
		{"400", 400, body("invalid_request_error", "context_length_exceeded", ``), nil, "", is(family.Relayed)},
		{"404", 404, `{"detail": "Not Found"}`, nil, "", is(family.Relayed)},
		{"422", 422, ``, nil, "", is(family.Relayed)},
		{"overloaded", 503, body("service_unavailable_error", "server_is_overloaded", ``), nil, "", is(family.Overloaded)},
		{"slow down", 503, body("", "slow_down", ``), nil, "", is(family.Overloaded)},
		{"at capacity", 503, `{"error": {"type": "x", "message": "Selected model is at capacity. Try another."}}`, nil, "", is(family.Overloaded)},
		{"503", 503, ``, nil, "", is(family.ServerError)},
		{"500", 500, body("server_error", "server_error", ``), nil, "", is(family.ServerError)},
	} {
		h := header(c.quota...)
		h.Set("Server", "cloudflare") // as the provider's are
		if c.after != "" {
			h.Set("Retry-After", c.after)
		}
		got := chatgpt.Family.Classify(family.Response{
			Status: c.status, Header: h, Quota: chatgpt.Family.Quota(h), Now: now, Body: func() []byte { return []byte(c.body) },
		})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
	page := family.Response{Status: 403, Header: http.Header{"Cf-Mitigated": {"challenge"}}, Now: now, Body: func() []byte { return []byte("<html>") }}
	if got := chatgpt.Family.Classify(page).Class; got != family.Challenged {
		t.Errorf("a web page is classified as %v", got)
	}
}

// FAM-7: what the failure means that a stream begins with.
func TestClassifyEvent(t *testing.T) {
	for _, c := range []struct {
		failure  dialect.Error
		want     family.Class
		status   int
		cooldown time.Duration
	}{
		{dialect.Error{Code: "usage_limit_reached", Resets: now.Add(time.Hour)}, family.Rejected, 429, time.Hour},
		{dialect.Error{Code: "insufficient_quota"}, family.Rejected, 429, time.Minute},
		{dialect.Error{Code: "usage_not_included"}, family.NotIncluded, 429, 0},
		{dialect.Error{Code: "rate_limit_exceeded", Kind: dialect.RateLimit}, family.StreamThrottled, 429, 0},
		{dialect.Error{Code: "rate_limit_exceeded", RetryAfter: 1200 * time.Millisecond}, family.StreamThrottled, 429, 1200 * time.Millisecond},
		{dialect.Error{Code: "rate_limit_exceeded", RetryAfter: time.Hour}, family.StreamThrottled, 429, 300 * time.Second},
		{dialect.Error{Code: "server_is_overloaded"}, family.Overloaded, 529, 0},
		{dialect.Error{Code: "slow_down"}, family.Overloaded, 529, 0},
		{dialect.Error{Code: "server_error"}, family.ServerError, 500, 0},
		{dialect.Error{Code: "new_code"}, family.ServerError, 500, 0},
	} {
		got, status := chatgpt.Family.ClassifyEvent(family.Response{Status: 200, Header: http.Header{}, Now: now, Failure: &c.failure})
		if got.Class != c.want || status != c.status || got.Cooldown != c.cooldown {
			t.Errorf("%s: %+v, %d", c.failure.Code, got, status)
		}
	}
}

// GPT-4b: where the requests of an account belong.
func TestRoute(t *testing.T) {
	parse := chatgpt.Family.Route.Parse
	list := func(accounts string) []byte {
		return []byte(`{"accounts": [{"id": "other", "workspace_backend_origin": "https://other.chatgpt.com"}` + accounts + `]}`)
	}
	for body, want := range map[string]family.Route{
		`, {"id": "a", "workspace_backend_origin": "NO_CONSTRAINT", "account_routing_override": "NO_CONSTRAINT"}`:  {},
		`, {"id": "a", "workspace_backend_origin": "https://eu.chatgpt.com", "account_routing_override": "us_cr"}`: {Origin: "https://eu.chatgpt.com", Override: "us_cr"},
		`, {"id": "a", "workspace_backend_origin": null}`:                                                          {},
	} {
		if got, err := parse(list(body), family.AccountInfo{ID: "a"}); err != nil || got != want {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
	for _, body := range []string{``, `, {"id": "a", "account_routing_override": "mars\r\nx: y"}`, `, {"id": 5}`} {
		if got, err := parse(list(body), family.AccountInfo{ID: "a"}); err == nil {
			t.Errorf("%s: %+v", body, got)
		}
	}
	own := chatgpt.Family.Fixed[0].Respond(nil, http.Header{"Chatgpt-Account-Id": {"a"}}) // GPT-10
	if got, err := parse(own, family.AccountInfo{ID: "a"}); err != nil || got != (family.Route{}) {
		t.Errorf("%s: %+v, %v", own, got, err)
	}
}
