package quota

// DefaultHard is the utilization, a fraction, from which an account counts as exhausted where nothing else is
// configured (SEL-7).
const DefaultHard = 0.98

// Thresholds are fractions of utilization, one a window.
type Thresholds [Windows]float64

// Setting is one level of configured thresholds; nil = not set at this level.
type Setting struct {
	All    *float64 // for every window that has none of its own
	Window [Windows]*float64
}

// Soft resolves the soft thresholds (SEL-20): the first level that says anything about a window decides, at each level
// the window's own value before the one for all; hard where no level does, and never more than hard.
func Soft(hard float64, levels ...Setting) Thresholds {
	var t Thresholds
	for w := range t {
		t[w] = hard
		for _, l := range levels {
			if v := l.value(Window(w)); v != nil {
				t[w] = min(*v, hard)
				break
			}
		}
	}
	return t
}

func (l *Setting) value(w Window) *float64 {
	if v := l.Window[w]; v != nil {
		return v
	}
	return l.All
}

// Caps are the utilizations from which an account is not used at all (CAP-1). The zero value caps nothing.
type Caps struct {
	At  Thresholds
	Set Set // the windows that have a cap
}

// Cap resolves the caps (CAP-1): the first level that says anything about a window decides, as in [Soft], and a window
// that no level speaks of has none. The hard threshold is no limit to a cap.
func Cap(levels ...Setting) Caps {
	var c Caps
	for w := range Window(Windows) {
		for _, l := range levels {
			if v := l.value(w); v != nil {
				c.At[w], c.Set = *v, c.Set|Of(w)
				break
			}
		}
	}
	return c
}
