package quota

// DefaultHard is the utilization, a fraction, from which an account counts as exhausted where nothing else is
// configured (SEL-7).
const DefaultHard = 0.98

// Thresholds are fractions of utilization, one for each window.
type Thresholds [MaxWindows]float64

// Uniform returns thresholds that are the same for every window.
func Uniform(limit float64) (t Thresholds) {
	for w := range t {
		t[w] = limit
	}
	return t
}

// Setting is one level of configured thresholds; nil = not set at this level.
type Setting struct {
	All    *float64 // for every window without a value of its own
	Window [MaxWindows]*float64
}

// Soft resolves the soft thresholds (SEL-20): the first level that has a value for a window decides, and at each level the
// window's own value comes before the one for all; hard where no level has one, and never more than hard.
func Soft(hard float64, levels ...Setting) Thresholds {
	t := Uniform(hard)
	for w := range t {
		for _, l := range levels {
			if v := l.value(w); v != nil {
				t[w] = min(*v, hard)
				break
			}
		}
	}
	return t
}

func (l *Setting) value(w int) *float64 {
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

// Cap resolves the caps (CAP-1): the first level that has a value for a window decides, as in [Soft]; a window without a value
// at any level has no cap. The hard threshold does not limit a cap.
func Cap(levels ...Setting) Caps {
	var c Caps
	for w := range c.At {
		for _, l := range levels {
			if v := l.value(w); v != nil {
				c.At[w], c.Set = *v, c.Set|Of(w)
				break
			}
		}
	}
	return c
}
