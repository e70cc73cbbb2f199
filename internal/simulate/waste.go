package simulate

// waste is the quota that expired unused although somebody could have used it: what was left in an account's week when it
// reset, as far as turns had been refused while that week ran. Quota that nobody asked for is no waste. A refused turn
// counts against one week only, the first that expires.
type waste struct {
	refused float64 // so far
	charged float64 // of that, what has been held against a week
	total   float64
}

func (w *waste) refuse(units float64) { w.refused += units }

// watch holds what a week leaves unused against the refusals that fell into it.
func (w *waste) watch(m *meter) {
	before := 0.0 // refused when the week began
	m.closed = func(unused float64) {
		lost := min(unused, w.refused-max(before, w.charged))
		w.total += lost
		w.charged = max(before, w.charged) + lost
		before = w.refused
	}
}
