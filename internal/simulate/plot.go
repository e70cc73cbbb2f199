package simulate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// scale is a vertical axis that begins at 0.
type scale interface {
	top(highest float64) float64          // where the axis ends
	at(value, top float64) float64        // the position of a value, from 0 to 1
	marks(top float64) (values []float64) // the values that are marked
	name(value float64) string
}

var (
	linear      scale = linearScale{}
	logarithmic scale = logScale{}
)

// linearScale is for fractions.
type linearScale struct{}

func (linearScale) top(highest float64) float64 {
	for _, top := range []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8} {
		if highest <= top {
			return top
		}
	}
	return math.Ceil(highest)
}

func (linearScale) at(value, top float64) float64 { return value / top }

func (linearScale) marks(top float64) []float64 { return []float64{0, top / 2, top} }

func (linearScale) name(value float64) string { return fmt.Sprintf("%.3g %%", 100*value) }

// logScale is for counts: 0 is one step below 1.
type logScale struct{}

func (logScale) top(highest float64) float64 {
	return math.Pow(10, max(1, math.Ceil(math.Log10(highest+1))))
}

func (logScale) at(value, top float64) float64 { return math.Log1p(value) / math.Log1p(top) }

func (logScale) marks(top float64) []float64 {
	marks := []float64{0}
	for v := 1.0; v <= top; v *= 10 {
		marks = append(marks, v)
	}
	return marks
}

func (logScale) name(value float64) string { return fmt.Sprintf("%.0f", value) }

// spread moves the names at the ends of lines apart, so that each can be read, and keeps them between top and bottom as
// long as there is room.
func spread(lines []line, top, bottom float64) {
	order := make([]*line, len(lines))
	for i := range lines {
		order[i] = &lines[i]
	}
	slices.SortStableFunc(order, func(a, b *line) int { return cmp.Compare(a.LabelY, b.LabelY) })
	least := top + 4
	for _, l := range order {
		l.LabelY = max(l.LabelY, least)
		least = l.LabelY + labelGap
	}
	most := bottom
	for _, l := range slices.Backward(order) {
		l.LabelY = min(l.LabelY, most)
		most = l.LabelY - labelGap
	}
}
