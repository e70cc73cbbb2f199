package quota_test

import (
	"testing"
	"time"

	"shunt/internal/quota"
)

// CAP-1: the account before the pool, a window's own value before the one for all; not limited by the hard threshold.
func TestCap(t *testing.T) {
	v := func(f float64) *float64 { return &f }
	at := func(five, seven, third float64) quota.Caps {
		return quota.Caps{At: quota.Thresholds{five, seven, third}, Set: quota.Of(fiveHour, sevenDay, fable)}
	}
	pool := quota.Setting{All: v(0.5), Window: [quota.MaxWindows]*float64{fiveHour: v(0.6)}}
	tests := []struct {
		name   string
		levels []quota.Setting
		want   quota.Caps
	}{
		{"nothing configured", nil, quota.Caps{}},
		{"empty levels", []quota.Setting{{}, {}}, quota.Caps{}},
		{"account keys alone", []quota.Setting{{All: v(0.7)}}, at(0.7, 0.7, 0.7)},
		{"the pool's", []quota.Setting{{}, pool}, at(0.6, 0.5, 0.5)},
		{"the account's for all", []quota.Setting{{All: v(0.7)}, pool}, at(0.7, 0.7, 0.7)},
		{"above the hard threshold", []quota.Setting{{Window: [quota.MaxWindows]*float64{fiveHour: v(1)}}, pool}, at(1, 0.5, 0.5)},
		{"zero is a cap", []quota.Setting{{All: v(0)}, pool}, at(0, 0, 0)},
		{
			"one window only",
			[]quota.Setting{{Window: [quota.MaxWindows]*float64{sevenDay: v(0.4)}}},
			quota.Caps{At: quota.Thresholds{0, 0.4, 0}, Set: quota.Of(sevenDay)},
		},
	}
	for _, tt := range tests {
		if got := quota.Cap(tt.levels...); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// CAP-2, CAP-3, CAP-4, SEL-4: who is at a cap, for which request, and until when.
func TestCapped(t *testing.T) {
	const five, seven, h = fiveHour, sevenDay, time.Hour
	half := 0.5
	all := quota.Cap(quota.Setting{All: &half})
	tests := []struct {
		name          string
		caps          quota.Caps
		sig           quota.Signal
		other, scoped time.Duration // until when, after the start; 0 = not capped
	}{
		{"no cap", quota.Caps{}, on(five, until(h, used(1))), 0, 0},
		{"nothing observed", all, quota.Signal{}, 0, 0},
		{"below", all, on(five, until(h, used(0.49))), 0, 0},
		{"at the cap", all, on(five, until(h, used(0.5))), h, h},
		{"above", all, on(five, until(h, used(1.2))), h, h},
		{"a cap of 0 and nothing used", quota.Cap(quota.Setting{All: new(float64)}), on(five, until(h, used(0))), h, h},
		{"another window has the cap", quota.Caps{At: all.At, Set: quota.Of(seven)}, on(five, until(h, used(1))), 0, 0},
		{"the last of two windows", all, merged("", on(five, until(h, used(0.9))), on(seven, until(50*h, used(0.6)))), 50 * h, 50 * h},
		{"no reset: until the reading is out of date", all, on(five, used(0.9)), 5 * h, 5 * h},
		{"a reset beyond that", all, on(five, until(9*h, used(0.9))), 5 * h, 5 * h},
		{"Fable's window", all, on(fable, until(h, used(0.9))), 0, h},
		{"the shared week counts for Fable too", all, merged("", on(seven, until(2*h, used(0.9))), on(fable, until(h, used(0.1)))), 2 * h, 2 * h},
		{"rejected without a utilization", all, on(five, until(h, status("rejected"))), 0, 0},
	}
	for _, tt := range tests {
		s := newHistory()
		s.record(0, tt.sig)
		for scope, want := range map[quota.Scope]time.Duration{anyModel: tt.other, fableOnly: tt.scoped} {
			end, capped := s.state.Capped(scope, tt.caps)
			if capped != (want != 0) || capped && !end.Equal(at(want)) {
				t.Errorf("%s (scope %q): %v until %v", tt.name, scope, capped, end.Sub(start))
			}
			if expired := s.expired(want); want != 0 {
				if _, capped := expired.Capped(scope, tt.caps); capped {
					t.Errorf("%s (scope %q): still capped then", tt.name, scope)
				}
			}
		}
	}
}

// CAP-3: a lower observation lets it come back.
func TestLowerObservationEndsACap(t *testing.T) {
	caps := quota.Caps{At: quota.Thresholds{0.5, 0.5, 0.5}, Set: quota.Of(fiveHour)}
	h := newHistory()
	h.record(0, on(fiveHour, until(time.Hour, used(0.6)))).record(time.Minute, on(fiveHour, used(0.4)))
	if _, capped := h.state.Capped(anyModel, caps); capped {
		t.Error("still capped")
	}
}
