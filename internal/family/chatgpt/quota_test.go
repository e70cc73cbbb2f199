package chatgpt_test

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/family/chatgpt"
	"shunt/internal/quota"
)

// header returns the header with lines such as "primary-used-percent: 12".
func header(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Set("x-codex-"+name, value)
	}
	return h
}

func signal(windows map[int]quota.WindowSignal) (s quota.Signal) {
	for i, w := range windows {
		s.Windows[i] = w
	}
	return s
}

const (
	reset   = 1_800_000_000
	minutes = "primary-window-minutes: 300"
	weekly  = "secondary-window-minutes: 10080"
)

// GPT-6: the headers of responses.
func TestQuotaHeaders(t *testing.T) {
	used := func(fraction float64) quota.WindowSignal {
		return quota.WindowSignal{Utilization: fraction, HasUtilization: true}
	}
	at := used(0.125)
	at.Reset, at.ResetIn = time.Unix(reset, 0), time.Minute
	after := used(0.125)
	after.ResetIn = time.Minute
	for _, c := range []struct {
		name  string
		lines []string
		want  map[int]quota.WindowSignal
	}{
		{"none", nil, nil},
		{"both", []string{minutes, "primary-used-percent: 12.5", weekly, "secondary-used-percent: 110"}, map[int]quota.WindowSignal{chatgpt.FiveHour: used(0.125), chatgpt.SevenDay: used(1.1)}},
		{"by length, not by place", []string{"primary-window-minutes: 10080", "primary-used-percent: 12.5"}, map[int]quota.WindowSignal{chatgpt.SevenDay: used(0.125)}},
		{"shortest", []string{"primary-window-minutes: 285", "primary-used-percent: 12.5"}, map[int]quota.WindowSignal{chatgpt.FiveHour: used(0.125)}},
		{"longest", []string{"primary-window-minutes: 315", "primary-used-percent: 12.5"}, map[int]quota.WindowSignal{chatgpt.FiveHour: used(0.125)}},
		{"too short", []string{"primary-window-minutes: 284", "primary-used-percent: 12.5"}, nil},
		{"a month", []string{"primary-window-minutes: 43200", "primary-used-percent: 12.5"}, nil},
		{"no length", []string{"primary-used-percent: 12.5", "primary-reset-at: 1800000000"}, nil},
		{"all zero", []string{"primary-window-minutes: 0", "primary-used-percent: 0", "primary-reset-at: 0"}, nil},
		{"unused", []string{minutes, "primary-used-percent: 0"}, map[int]quota.WindowSignal{chatgpt.FiveHour: used(0)}},
		{"reset at and after", []string{minutes, "primary-used-percent: 12.5", "primary-reset-at: 1800000000", "primary-reset-after-seconds: 60"}, map[int]quota.WindowSignal{chatgpt.FiveHour: at}},
		{"reset after", []string{minutes, "primary-used-percent: 12.5", "primary-reset-after-seconds: 60"}, map[int]quota.WindowSignal{chatgpt.FiveHour: after}},
		{"QUO-2: a malformed percentage", []string{minutes, "primary-used-percent: NaN", "primary-reset-after-seconds: 60"}, map[int]quota.WindowSignal{chatgpt.FiveHour: {ResetIn: time.Minute}}},
		{"the higher of two", []string{minutes, "primary-used-percent: 12.5", "secondary-window-minutes: 300", "secondary-used-percent: 5"}, map[int]quota.WindowSignal{chatgpt.FiveHour: used(0.125)}},
		{"another family of limits", []string{"bengalfox-primary-window-minutes: 300", "bengalfox-primary-used-percent: 99"}, nil},
	} {
		if diff := cmp.Diff(signal(c.want), chatgpt.Family.Quota(header(c.lines...))); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
}

// GPT-6: a reset that is relative counts from the response, and an absolute one overrides it.
func TestRelativeReset(t *testing.T) {
	now := time.Unix(reset-1000, 0)
	for line, want := range map[string]time.Time{
		"primary-reset-after-seconds: 60": now.Add(time.Minute), "primary-reset-at: 1800000000": time.Unix(reset, 0),
	} {
		s := quota.NewState(chatgpt.Family.Windows)
		s.Record(chatgpt.Family.Quota(header(minutes, "primary-used-percent: 10", line)), now, now)
		if got, _ := s.Reset(chatgpt.FiveHour); !got.Equal(want) {
			t.Errorf("%s: reset %v, want %v", line, got, want)
		}
	}
	s := quota.NewState(chatgpt.Family.Windows)
	u, err := chatgpt.Family.Usage.Parse([]byte(`{"rate_limit": {"primary_window": {"used_percent": 1, "limit_window_seconds": 18000, "reset_after_seconds": 60}}}`))
	s.RecordUsage(u, now, now)
	if got, _ := s.Reset(chatgpt.FiveHour); err != nil || !got.Equal(now.Add(time.Minute)) {
		t.Errorf("usage: reset %v (%v)", got, err)
	}
}

// GPT-6: the event of streams.
func TestQuotaEvent(t *testing.T) {
	const windows = `"rate_limits": {"primary": {"used_percent": 40.0, "window_minutes": 300, "reset_at": 1800000000}, "secondary": null}`
	for data, want := range map[string]bool{
		`{"type": "codex.rate_limits", "plan_type": "pro", ` + windows + `}`:                    true,
		` {"type":"codex.rate_limits","metered_limit_name":"codex", ` + windows + `}`:           true,
		`{"type": "codex.rate_limits", "metered_limit_name": "codex_other", ` + windows + `}`:   false,
		`{"type": "response.output_text.delta", "delta": "codex.rate_limits", ` + windows + `}`: false,
		`{"type": "response.created"}`: false,
		`codex.rate_limits`:            false,
	} {
		s, ok := chatgpt.Family.QuotaEvent([]byte(data))
		w := s.Windows[chatgpt.FiveHour]
		if ok != want || w.HasUtilization != want || want && (w.Utilization != 0.4 || w.Reset.Unix() != reset) {
			t.Errorf("%s: %v, %+v", data, ok, w)
		}
	}
}

// GPT-6, QUO-22: the body of the usage endpoint.
func TestUsage(t *testing.T) {
	five, week := quota.WindowUsage{Utilization: 0.06, Has: true, Reset: time.Unix(reset, 0)}, quota.WindowUsage{Utilization: 0.24, Has: true}
	usage := func(windows ...quota.WindowUsage) (u quota.Usage) { copy(u.Windows[:], windows); return u }
	for body, want := range map[string]quota.Usage{
		`{"plan_type": "plus", "rate_limit": {"primary_window": {"used_percent": 6, "reset_at": 1800000000, "limit_window_seconds": 18000},
			"secondary_window": {"used_percent": 24, "limit_window_seconds": 604800}}, "credits": {"balance": "5"}}`: usage(five, week),
		`{"rate_limit": {"primary_window": {"used_percent": 24, "limit_window_seconds": 604800}, "secondary_window": null},
			"additional_rate_limits": [{"rate_limit": {"primary_window": {"used_percent": 99, "limit_window_seconds": 18000}}}]}`: usage(quota.WindowUsage{}, week),
		`{"plan_type": "free", "rate_limit": null}`: {},
		`{"rate_limit": {"primary_window": {"used_percent": "6", "limit_window_seconds": 18000}, "secondary_window": [1]}}`: {},
	} {
		got, err := chatgpt.Family.Usage.Parse([]byte(body))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", body, err, diff)
		}
	}
	for _, body := range []string{``, `[]`, `{}`, `{"detail": "secret"}`} {
		if _, err := chatgpt.Family.Usage.Parse([]byte(body)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// USE-2, GPT-10: clients read what shunt writes. Only a window without anything left is shown as full.
func TestAppendUsage(t *testing.T) {
	u := quota.Usage{}
	u.Windows[chatgpt.FiveHour] = quota.WindowUsage{Utilization: 0.999, Has: true, Reset: time.Unix(reset, 0)}
	const want = `{"plan_type":"unknown","rate_limit":{"allowed":true,"limit_reached":false,` +
		`"primary_window":{"used_percent":99,"limit_window_seconds":18000,"reset_at":1800000000},"secondary_window":null}}`
	if got := string(chatgpt.Family.Usage.Append(nil, nil, u)); got != want {
		t.Errorf("got %s", got)
	}
	u.Windows[chatgpt.SevenDay] = quota.WindowUsage{Utilization: 1e300, Has: true}
	body := chatgpt.Family.Usage.Append(nil, nil, u)
	got, err := chatgpt.Family.Usage.Parse(body)
	if err != nil || got.Windows[chatgpt.SevenDay].Utilization < 1 || !strings.Contains(string(body), `"limit_reached":true`) {
		t.Errorf("%v, %+v from %s", err, got, body)
	}
}

// FuzzHeaders: whatever the headers contain, the signal is one that the state can store.
func FuzzHeaders(f *testing.F) {
	f.Add("12.5", "300", "1800000000", "60")
	f.Add("-0", "1e309", "1e300", "9e18")
	f.Add("NaN", "285", "", "0x10")
	f.Fuzz(func(t *testing.T, used, length, at, after string) {
		s := chatgpt.Family.Quota(header("primary-used-percent: "+used, "primary-window-minutes: "+length, "primary-reset-at: "+at, "primary-reset-after-seconds: "+after))
		check(t, s)
	})
}

// FuzzUsage: the same for the bodies of the usage endpoint and for events.
func FuzzUsage(f *testing.F) {
	f.Add([]byte(`{"rate_limit": {"primary_window": {"used_percent": 6, "reset_at": 1800000000, "limit_window_seconds": 18000}}}`))
	f.Add([]byte(`{"type": "codex.rate_limits", "rate_limits": {"primary": {"used_percent": 1e400, "window_minutes": 300, "reset_after_seconds": 1e300}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, _ := chatgpt.Family.QuotaEvent(body)
		check(t, s)
		u, err := chatgpt.Family.Usage.Parse(body)
		if err != nil {
			return
		}
		again, err := chatgpt.Family.Usage.Parse(chatgpt.Family.Usage.Append(nil, nil, u))
		if err != nil {
			t.Fatal(err)
		}
		for i := range u.Windows {
			if w := u.Windows[i]; w.Has != again.Windows[i].Has || w.Utilization < 0 || math.IsInf(w.Utilization, 0) || w.ResetIn < 0 {
				t.Errorf("%+v became %+v", w, again.Windows[i])
			}
		}
	})
}

func check(t *testing.T, s quota.Signal) {
	now := time.Unix(reset, 0)
	for i := range s.Windows {
		w := &s.Windows[i]
		at := w.ResetAt(now)
		if w.Utilization < 0 || math.IsNaN(w.Utilization) || w.ResetIn < 0 || !at.IsZero() && (at.Unix() <= 0 || at.Year() > 10000) {
			t.Errorf("window %d: %+v", i, w)
		}
	}
}
