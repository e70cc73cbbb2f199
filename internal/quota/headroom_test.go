package quota_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shunt/internal/quota"
)

// SEL-21: the headroom of one window, in seconds.
func TestWindowHeadroom(t *testing.T) {
	const five, seven, s = quota.FiveHour, quota.SevenDay, time.Second
	inf := math.Inf(1)
	tests := []struct {
		name      string
		window    quota.Window
		used      quota.WindowSignal
		threshold float64
		min, max  float64
	}{
		{"a quarter used in half the window", five, until(9000*s, used(0.25)), 1, 18_000, 18_000},
		{"nearly all used in a tenth", five, until(16_200*s, used(0.9)), 0.98, -16_040.01, -16_039.99},
		{"exactly on pace", five, until(9000*s, used(0.5)), 1, 0, 0},
		{"a week", seven, until(302_400*s, used(0.25)), 1, 604_800, 604_800},
		{"at the threshold", five, until(9000*s, used(0.98)), 0.98, -inf, -inf},
		{"above it", five, until(9000*s, used(1.2)), 0.98, -inf, -inf},
		{"at a threshold of 0", five, until(9000*s, used(0)), 0, -inf, -inf},
		{"nothing used", five, until(9000*s, used(0)), 0.98, inf, inf},
		{"reset unknown", five, used(0.9), 0.98, inf, inf},
		{"utilization unknown", five, resets(9000 * s), 0.98, inf, inf},
		{"nothing known", five, quota.WindowSignal{}, 0.98, inf, inf},
		// One that has just begun counts as a twentieth elapsed, 900 s: a first big request is no pace.
		{"begun a minute ago", five, until(17_940*s, used(0.01)), 1, 71_160, 71_160},
		{"begun a twentieth ago", five, until(17_100*s, used(0.01)), 1, 72_000, 72_000},
		{"a reset beyond the length", five, until(20_000*s, used(0.1)), 1, -11_900, -11_900},
		{"about to reset", five, until(1*s, used(0.5)), 1, 17_998, 17_998},
	}
	for _, tt := range tests {
		var h history
		h.record(0, on(tt.window, tt.used))
		if got := h.state.WindowHeadroom(tt.window, tt.threshold, at(0)); got < tt.min || got > tt.max {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.min)
		}
	}
}

// SEL-21: the headroom of an account.
func TestHeadroom(t *testing.T) {
	const five, seven, fable = quota.FiveHour, quota.SevenDay, quota.Fable
	wide := on(five, until(9000*time.Second, used(0.2))) // 0.6 * 9000 / 0.2 - 9000 = 18000
	tight := quota.Signal{}
	tight.Windows[seven] = until(302_400*time.Second, used(0.4)) // 0.4 * 302400 / 0.4 - 302400 = 0
	dear := quota.Signal{}
	dear.Windows[fable] = until(302_400*time.Second, used(0.6)) // 0.2 * 302400 / 0.6 - 302400 = -201600
	inf := math.Inf(1)
	tests := []struct {
		name         string
		sig          quota.Signal
		other, fable float64
	}{
		{"nothing observed", quota.Signal{}, inf, inf},
		{"one window", wide, 18_000, 18_000},
		{"the least governs", merged("", wide, tight), 0, 0},
		{"Fable's governs Fable requests in place of the week", merged("", wide, tight, dear), 0, -201_600},
		{"a window at its threshold", merged("", wide, on(seven, used(0.8))), -inf, -inf},
		{"rejected", merged("", wide, on(seven, status("rejected"))), -inf, -inf},
		{"rejected for Fable", merged("", wide, on(fable, status("rejected"))), 18_000, -inf},
	}
	for _, tt := range tests {
		var h history
		h.record(0, tt.sig)
		for isFable, want := range map[bool]float64{false: tt.other, true: tt.fable} {
			if got := h.state.Headroom(isFable, soft, at(0)); math.Abs(got-want) > 1e-6 {
				t.Errorf("%s (Fable %v): %v, want %v", tt.name, isFable, got, want)
			}
		}
	}
}

// SEL-6, SEL-21: a higher threshold never leaves less headroom, no headroom at all is what near means, and it is always a
// number.
func TestLawHeadroom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now, fable := anyState(t), moment(t, "now"), rapid.Bool().Draw(t, "fable")
		s.Expire(now)
		var low, high quota.Thresholds
		for w := range low {
			a, b := rapid.Float64Range(0, 1).Draw(t, "a"), rapid.Float64Range(0, 1).Draw(t, "b")
			low[w], high[w] = min(a, b), max(a, b)
		}
		less, more := s.Headroom(fable, low, now), s.Headroom(fable, high, now)
		if !(less <= more) {
			t.Fatalf("%v at %v, but %v at %v", less, low, more, high)
		}
		if s.Near(fable, low) != math.IsInf(less, -1) {
			t.Fatalf("near %v, headroom %v", s.Near(fable, low), less)
		}
	})
}
