package quota

import (
	"math"
	"time"
)

// leastElapsed is the part of a window, one twentieth, that counts as elapsed at least: one that has just begun has no pace yet.
const leastElapsed = 20

// Headroom returns how far the account is ahead of its quota for a request of a scope, in seconds: the least of its governing
// windows, negative if the account would reach a soft threshold before that window resets (SEL-21). It is minus infinity if the
// account is rejected, and plus infinity if nothing is observed.
func (s *State) Headroom(scope Scope, soft Thresholds, now time.Time) float64 {
	if s.Rejected(scope, soft) {
		return math.Inf(-1)
	}
	least := math.Inf(1)
	governing := s.Governing(scope)
	for w := range s.table.Windows() {
		if governing.Has(w) {
			least = min(least, s.WindowHeadroom(w, soft[w], now))
		}
	}
	return least
}

// WindowHeadroom returns how long, at the window's average pace so far, its utilization takes to reach the soft threshold,
// less the time until it resets, in seconds (SEL-21).
func (s *State) WindowHeadroom(w int, soft float64, now time.Time) float64 {
	used, known := s.Utilization(w)
	reset := s.windows[w].reset
	switch {
	case known && used >= soft:
		return math.Inf(-1)
	case !known, used == 0, reset.IsZero():
		return math.Inf(1)
	}
	length, left := s.table.windows[w].Length.Seconds(), reset.Sub(now).Seconds()
	elapsed := max(length-left, length/leastElapsed)
	return (soft-used)*elapsed/used - left
}

// OverPace reports whether the pace of a window would exhaust it early, with hysteresis (STR-5): from a negative headroom on,
// and then until the headroom exceeds a twentieth of the window's length. Was is what it reported before.
func (s *State) OverPace(w int, was bool, soft float64, now time.Time) bool {
	headroom := s.WindowHeadroom(w, soft, now)
	return headroom < 0 || was && headroom <= s.table.windows[w].Length.Seconds()/leastElapsed
}
