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

// QUO-1: every field of every window has its header, and what is written is read back.
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
	if diff := cmp.Diff(limits, messages.ParseRateLimit(want)); diff != "" {
		t.Errorf("read:\n%s", diff)
	}
	empty := http.Header{}
	messages.RateLimit{}.WriteTo(empty)
	if len(empty) != 0 || messages.ParseRateLimit(empty) != (messages.RateLimit{}) {
		t.Errorf("nothing became %v", empty)
	}
}

// QUO-2: a malformed field is absent and takes no other field with it; more than 1 is kept.
func TestRateLimitFieldsStandAlone(t *testing.T) {
	for value, want := range map[string]float64{"0": 0, "0.25": 0.25, "7": 7, "1e-3": 0.001, " 0.5 ": 0.5, "-0": 0, "-0.0": 0} {
		got := parseFiveHour("Utilization", value)
		if !got.HasUtilization || got.Utilization != want || math.Signbit(got.Utilization) {
			t.Errorf("utilization %q = %+v, want %v", value, got, want)
		}
	}
	for _, value := range []string{"", "x", "NaN", "nan", "Inf", "-inf", "infinity", "1e999", "-0.1", "0x1p-1", "0,5", "50%", "1_0", "0.5 0.6", "--1", "."} {
		got := parseFiveHour("Utilization", value)
		if got != (messages.WindowLimit{Status: "allowed"}) {
			t.Errorf("utilization %q = %+v, want absent", value, got)
		}
	}
	for value, want := range map[string]int64{
		"1735689600": 1735689600, "1735689600.9": 1735689600, "0": 0, "-5": 0, "soon": 0, "NaN": 0, "2025-01-01T00:00:00Z": 0,
		"9223372036854775807": 253402300799, "99999999999999999999": 253402300799,
	} {
		if got := parseFiveHour("Reset", value); got.Reset != want || got.Status != "allowed" {
			t.Errorf("reset %q = %+v, want %d", value, got, want)
		}
	}
}

func parseFiveHour(field, value string) messages.WindowLimit {
	h := http.Header{}
	h.Set("Anthropic-Ratelimit-Unified-5h-Status", "allowed")
	h.Set("Anthropic-Ratelimit-Unified-5h-"+field, value)
	return messages.ParseRateLimit(h).Windows[messages.FiveHour]
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

// FuzzRateLimit: whatever the headers hold, values are in range, and writing what was read and reading it again changes
// nothing (QUO-2).
func FuzzRateLimit(f *testing.F) {
	f.Add("0.5", "1735689600", "allowed", "rejected")
	f.Add("-0", "1e400", "", " allowed ")
	f.Add("NaN", "99999999999999999999", "\x00", "")
	f.Add("1e-320", "0.5", "5", "30")
	f.Fuzz(func(t *testing.T, utilization, reset, status, aggregate string) {
		h := http.Header{}
		for _, window := range []string{"5h", "7d", "7d_oi"} {
			h.Set("anthropic-ratelimit-unified-"+window+"-utilization", utilization)
			h.Set("anthropic-ratelimit-unified-"+window+"-reset", reset)
			h.Set("anthropic-ratelimit-unified-"+window+"-status", status)
		}
		h.Set("anthropic-ratelimit-unified-status", aggregate)
		h.Set("anthropic-ratelimit-unified-reset", reset)
		limits := messages.ParseRateLimit(h)
		if limits.Reset != limits.Windows[0].Reset {
			t.Errorf("the aggregate's reset reads %d, a window's %d", limits.Reset, limits.Windows[0].Reset)
		}
		for w, limit := range limits.Windows {
			u := limit.Utilization
			if math.IsNaN(u) || math.IsInf(u, 0) || math.Signbit(u) || !limit.HasUtilization && u != 0 {
				t.Errorf("window %d: utilization %v, %v", w, u, limit.HasUtilization)
			}
			if limit.Reset < 0 || time.Unix(limit.Reset, 0).Year() > 9999+1 {
				t.Errorf("window %d: reset %d", w, limit.Reset)
			}
			if limit != limits.Windows[0] {
				t.Errorf("window %d reads %+v, window 0 %+v", w, limit, limits.Windows[0])
			}
		}
		written := http.Header{}
		limits.WriteTo(written)
		if again := messages.ParseRateLimit(written); again != limits {
			t.Errorf("%+v became %+v", limits, again)
		}
	})
}
