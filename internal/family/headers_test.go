package family_test

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/family"
	"shunt/internal/quota"
)

// readTwo reads the headers of a provider with two windows.
var readTwo = family.QuotaHeaders{
	Utilization: "x-quota-*-used", Reset: "x-quota-*-reset", Status: "x-quota-*-status",
	AccountReset: "x-quota-reset", AccountStatus: "x-quota-status",
}.Reader(quota.NewTable(quota.Window{Name: "hour", Field: "1h"}, quota.Window{Name: "big", Field: "1d_big"}))

// QUO-1: every field of every window has its header; a field without one is not read.
func TestQuotaHeaders(t *testing.T) {
	h := http.Header{}
	for name, value := range map[string]string{
		"x-quota-1h-used": "0.5", "x-quota-1h-reset": "1735689600", "x-quota-1h-status": "allowed",
		"x-quota-1d_big-used": "1.25", "x-quota-1d_big-reset": "1735689601", "x-quota-1d_big-status": "rejected",
		"x-quota-reset": "1735689603", "x-quota-status": "allowed_warning",
	} {
		h.Set(name, value)
	}
	want := quota.Signal{Status: "allowed_warning", Reset: time.Unix(1735689603, 0), Windows: [quota.MaxWindows]quota.WindowSignal{
		{Utilization: 0.5, HasUtilization: true, Reset: time.Unix(1735689600, 0), Status: "allowed"},
		{Utilization: 1.25, HasUtilization: true, Reset: time.Unix(1735689601, 0), Status: "rejected"},
	}}
	if diff := cmp.Diff(want, readTwo(h)); diff != "" {
		t.Error(diff)
	}
	if got := readTwo(http.Header{}); got != (quota.Signal{}) {
		t.Errorf("nothing reads as %+v", got)
	}
	pair := family.QuotaHeaders{Utilization: "x-quota-*-used", Reset: "x-quota-*-reset"}.Reader(quota.NewTable(quota.Window{Field: "1h"}))
	want = quota.Signal{Windows: [quota.MaxWindows]quota.WindowSignal{{Utilization: 0.5, HasUtilization: true, Reset: time.Unix(1735689600, 0)}}}
	if diff := cmp.Diff(want, pair(h)); diff != "" {
		t.Error(diff)
	}
	if got := (family.QuotaHeaders{}).Reader(nil)(h); got != (quota.Signal{}) {
		t.Errorf("without windows: %+v", got)
	}
}

// A utilization is a fraction (QUO-1), from a provider that reports percentages too.
func TestQuotaHeadersInPercent(t *testing.T) {
	read := family.QuotaHeaders{Utilization: "x-*-used", Percent: true}.Reader(quota.NewTable(quota.Window{Field: "1h"}))
	for value, want := range map[string]quota.WindowSignal{
		"25": {Utilization: 0.25, HasUtilization: true}, "0": {HasUtilization: true}, "125": {Utilization: 1.25, HasUtilization: true}, "x": {},
	} {
		if got := read(http.Header{"X-1h-Used": {value}}).Windows[0]; got != want {
			t.Errorf("%s: %+v, want %+v", value, got, want)
		}
	}
}

// A pattern without * would read one header for every window.
func TestQuotaHeadersNeedPatterns(t *testing.T) {
	for _, q := range []family.QuotaHeaders{{Utilization: "x-used"}, {Reset: "x-reset"}, {Status: "x-status"}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v is accepted", q)
				}
			}()
			q.Reader(quota.NewTable(quota.Window{Field: "1h"}))
		}()
	}
}

// QUO-2: a malformed field is absent and takes no other field with it; more than 1 is kept.
func TestQuotaHeadersAreIndependent(t *testing.T) {
	read := func(field, value string) quota.WindowSignal {
		h := http.Header{}
		h.Set("x-quota-1h-status", "allowed")
		h.Set("x-quota-1h-"+field, value)
		return readTwo(h).Windows[0]
	}
	for value, want := range map[string]float64{"0": 0, "0.25": 0.25, "7": 7, "1e-3": 0.001, " 0.5 ": 0.5, "-0": 0, "-0.0": 0} {
		got := read("used", value)
		if !got.HasUtilization || got.Utilization != want || math.Signbit(got.Utilization) {
			t.Errorf("utilization %q = %+v, want %v", value, got, want)
		}
	}
	for _, value := range []string{"", "x", "NaN", "nan", "Inf", "-inf", "infinity", "1e999", "-0.1", "0x1p-1", "0,5", "50%", "1_0", "0.5 0.6", "--1", "."} {
		if got := read("used", value); got != (quota.WindowSignal{Status: "allowed"}) {
			t.Errorf("utilization %q = %+v, want absent", value, got)
		}
	}
	for value, want := range map[string]time.Time{
		"1735689600": time.Unix(1735689600, 0), "1735689600.9": time.Unix(1735689600, 0), "0": {}, "-5": {}, "soon": {}, "NaN": {},
		"2025-01-01T00:00:00Z": {}, "9223372036854775807": time.Unix(253402300799, 0), "99999999999999999999": time.Unix(253402300799, 0),
	} {
		if got := read("reset", value); !got.Reset.Equal(want) || got.Status != "allowed" {
			t.Errorf("reset %q = %+v, want %v", value, got, want)
		}
	}
}

// FuzzQuotaHeaders: whatever the headers hold, values are in range and every window is read alike (QUO-2).
func FuzzQuotaHeaders(f *testing.F) {
	f.Add("0.5", "1735689600", "allowed", "rejected")
	f.Add("-0", "1e400", "", " allowed ")
	f.Add("NaN", "99999999999999999999", "\x00", "")
	f.Add("1e-320", "0.5", "5", "30")
	f.Fuzz(func(t *testing.T, used, reset, status, aggregate string) {
		h := http.Header{}
		for _, window := range []string{"1h", "1d_big"} {
			h.Set("x-quota-"+window+"-used", used)
			h.Set("x-quota-"+window+"-reset", reset)
			h.Set("x-quota-"+window+"-status", status)
		}
		h.Set("x-quota-status", aggregate)
		h.Set("x-quota-reset", reset)
		s := readTwo(h)
		w := s.Windows[0]
		if u := w.Utilization; math.IsNaN(u) || math.IsInf(u, 0) || math.Signbit(u) || !w.HasUtilization && u != 0 {
			t.Errorf("utilization %v, %v", u, w.HasUtilization)
		}
		if !w.Reset.IsZero() && (w.Reset.Unix() <= 0 || w.Reset.UTC().Year() > 9999) {
			t.Errorf("reset %v", w.Reset)
		}
		if s.Windows[1] != w || s.Reset != w.Reset {
			t.Errorf("windows %+v, aggregate %v", s.Windows, s.Reset)
		}
	})
}
