package quota

import (
	"math"
	"time"
)

// pace is the part of a window that counts as elapsed at the least: one that has just begun has no pace yet.
const pace = 20

// Headroom is how far the account is ahead of its quota for a request, in seconds: the least of its governing windows,
// negative if the account would reach a soft threshold before that window resets (SEL-21). Rejected is minus infinity,
// nothing observed plus infinity.
func (s *State) Headroom(fable bool, soft Thresholds, now time.Time) float64 {
	if s.Rejected(fable, soft) {
		return math.Inf(-1)
	}
	least := math.Inf(1)
	for _, w := range s.Governing(fable) {
		least = min(least, s.WindowHeadroom(w, soft[w], now))
	}
	return least
}

// WindowHeadroom is how long, at the window's average pace so far, its utilization takes to reach the soft threshold,
// less the time until it resets, in seconds (SEL-21).
func (s *State) WindowHeadroom(w Window, soft float64, now time.Time) float64 {
	used, known := s.Utilization(w)
	reset := s.windows[w].reset
	switch {
	case known && used >= soft:
		return math.Inf(-1)
	case !known, used == 0, reset.IsZero():
		return math.Inf(1)
	}
	length, left := w.Length().Seconds(), reset.Sub(now).Seconds()
	elapsed := max(length-left, length/pace)
	return (soft-used)*elapsed/used - left
}

// OverPace reports whether the pace of a window would exhaust it early, with hysteresis (STR-5): from a negative headroom on,
// and then until the headroom exceeds a twentieth of the window's length. Was is what it reported before.
func (s *State) OverPace(w Window, was bool, soft float64, now time.Time) bool {
	headroom := s.WindowHeadroom(w, soft, now)
	return headroom < 0 || was && headroom <= w.Length().Seconds()/pace
}
