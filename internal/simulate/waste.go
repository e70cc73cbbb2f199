package simulate

// waste is the quota that expired unused although a request could have used it: what was left in an account's week when it
// reset, up to the turns that had been refused during that week. Quota without demand is not waste. A refused turn counts for one
// week only, the first that expires.
type waste struct {
	refused float64 // so far
	charged float64 // of that, what has been counted for a week
	total   float64
}

func (w *waste) refuse(units float64) { w.refused += units }

// watch compares what a week leaves unused with the refusals during it.
func (w *waste) watch(m *meter) {
	before := 0.0 // refused when the week began
	m.closed = func(unused float64) {
		lost := min(unused, w.refused-max(before, w.charged))
		w.total += lost
		w.charged = max(before, w.charged) + lost
		before = w.refused
	}
}
