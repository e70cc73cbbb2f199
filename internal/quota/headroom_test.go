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
	const five, seven, s = fiveHour, sevenDay, time.Second
	inf := math.Inf(1)
	tests := []struct {
		name      string
		window    int
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
		// One that has just begun counts as a twentieth elapsed, 900 s: one big request is not a pace yet.
		{"begun a minute ago", five, until(17_940*s, used(0.01)), 1, 71_160, 71_160},
		{"begun a twentieth ago", five, until(17_100*s, used(0.01)), 1, 72_000, 72_000},
		{"a reset beyond the length", five, until(20_000*s, used(0.1)), 1, -11_900, -11_900},
		{"about to reset", five, until(1*s, used(0.5)), 1, 17_998, 17_998},
	}
	for _, tt := range tests {
		h := newHistory()
		h.record(0, on(tt.window, tt.used))
		if got := h.state.WindowHeadroom(tt.window, tt.threshold, at(0)); got < tt.min || got > tt.max {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.min)
		}
	}
}

// SEL-21: the headroom of an account.
func TestHeadroom(t *testing.T) {
	const five, seven = fiveHour, sevenDay
	wide := on(five, until(9000*time.Second, used(0.2))) // 0.6 * 9000 / 0.2 - 9000 = 18000
	tight := quota.Signal{}
	tight.Windows[seven] = until(302_400*time.Second, used(0.4)) // 0.4 * 302400 / 0.4 - 302400 = 0
	dear := quota.Signal{}
	dear.Windows[fable] = until(302_400*time.Second, used(0.6)) // 0.2 * 302400 / 0.6 - 302400 = -201600
	inf := math.Inf(1)
	tests := []struct {
		name          string
		sig           quota.Signal
		other, scoped float64
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
		h := newHistory()
		h.record(0, tt.sig)
		for scope, want := range map[quota.Scope]float64{anyModel: tt.other, fableOnly: tt.scoped} {
			if got := h.state.Headroom(scope, soft, at(0)); math.Abs(got-want) > 1e-6 {
				t.Errorf("%s (scope %q): %v, want %v", tt.name, scope, got, want)
			}
		}
	}
}

// SEL-6, SEL-21: a higher threshold never leaves less headroom, an account without headroom is near, and headroom is always a
// number.
func TestLawHeadroom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now, scope := anyState(t), moment(t, "now"), anyScope(t)
		s.Expire(now)
		var low, high quota.Thresholds
		for w := range low {
			a, b := rapid.Float64Range(0, 1).Draw(t, "a"), rapid.Float64Range(0, 1).Draw(t, "b")
			low[w], high[w] = min(a, b), max(a, b)
		}
		less, more := s.Headroom(scope, low, now), s.Headroom(scope, high, now)
		if !(less <= more) {
			t.Fatalf("%v at %v, but %v at %v", less, low, more, high)
		}
		if s.Near(scope, low) != math.IsInf(less, -1) {
			t.Fatalf("near %v, headroom %v", s.Near(scope, low), less)
		}
	})
}
