package messages_test

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect/messages"
	"shunt/internal/wire"
)

// QUO-1: every field of every window has its header.
func TestRateLimitHeaders(t *testing.T) {
	want := http.Header{
		"Anthropic-Ratelimit-Unified-Status":            {"allowed_warning"},
		"Anthropic-Ratelimit-Unified-Reset":             {"1735689603"},
		"Anthropic-Ratelimit-Unified-5h-Utilization":    {"0.5"},
		"Anthropic-Ratelimit-Unified-5h-Reset":          {"1735689600"},
		"Anthropic-Ratelimit-Unified-5h-Status":         {"allowed"},
		"Anthropic-Ratelimit-Unified-7d-Utilization":    {"1.25"},
		"Anthropic-Ratelimit-Unified-7d-Reset":          {"1735689601"},
		"Anthropic-Ratelimit-Unified-7d-Status":         {"rejected"},
		"Anthropic-Ratelimit-Unified-7d_oi-Utilization": {"0"},
		"Anthropic-Ratelimit-Unified-7d_oi-Reset":       {"1735689602"},
		"Anthropic-Ratelimit-Unified-7d_oi-Status":      {"allowed"},
	}
	limits := messages.RateLimit{Status: "allowed_warning", Reset: 1735689603, Windows: [messages.Windows]messages.WindowLimit{
		messages.FiveHour: {Utilization: 0.5, HasUtilization: true, Reset: 1735689600, Status: "allowed"},
		messages.SevenDay: {Utilization: 1.25, HasUtilization: true, Reset: 1735689601, Status: "rejected"},
		messages.Fable:    {HasUtilization: true, Reset: 1735689602, Status: "allowed"},
	}}
	got := http.Header{}
	limits.WriteTo(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("written:\n%s", diff)
	}
	empty := http.Header{}
	messages.RateLimit{}.WriteTo(empty)
	if len(empty) != 0 {
		t.Errorf("nothing became %v", empty)
	}
}

// FO-1: whole seconds or an HTTP date; a date that has passed is 0; anything else is absent.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2025, 1, 1, 12, 0, 0, 500_000_000, time.UTC)
	for _, tt := range []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"0", 0, true},
		{"30", 30 * time.Second, true},
		{" 30 ", 30 * time.Second, true},
		{"0030", 30 * time.Second, true},
		{"9223372036", 9223372036 * time.Second, true},
		{"9223372037", math.MaxInt64, true},
		{"99999999999999999999999", math.MaxInt64, true},
		{"Wed, 01 Jan 2025 12:00:10 GMT", 9500 * time.Millisecond, true},
		{"Wednesday, 01-Jan-25 12:00:10 GMT", 9500 * time.Millisecond, true},
		{"Wed Jan  1 12:00:10 2025", 9500 * time.Millisecond, true},
		{"Wed, 01 Jan 2025 12:00:00 GMT", 0, true},
		{"Mon, 01 Jan 0001 00:00:00 GMT", 0, true},
		{"", 0, false},
		{"-1", 0, false},
		{"+1", 0, false},
		{"1.5", 0, false},
		{"1e2", 0, false},
		{"30s", 0, false},
		{"soon", 0, false},
		{"2025-01-01T12:00:10Z", 0, false},
	} {
		h := http.Header{"Retry-After": {tt.value}}
		if got, ok := wire.RetryAfter(h, now); got != tt.want || ok != tt.ok {
			t.Errorf("%q = %v, %v; want %v, %v", tt.value, got, ok, tt.want, tt.ok)
		}
	}
	if _, ok := wire.RetryAfter(http.Header{}, now); ok {
		t.Error("an absent header was read")
	}
}
