package main

import (
	"fmt"
	"slices"
)

// row is one row of the table, as text.
type row struct{ work, bare, measured, ratio, span, target, met string }

// none is the text of an empty cell.
const none = "–"

// goal is the target of a row: the most that its ratio or its value may be. The zero goal means that the row has no target.
type goal struct {
	text    string
	ofRatio bool
	most    float64
}

func atMost(ratio float64) goal { return goal{fmt.Sprintf("≤ %.2f", ratio), true, ratio} }

func below(most float64, unit func(float64) string) goal {
	return goal{"≤ " + unit(most), false, most}
}

func noneAtAll() goal { return goal{"0", false, 0} }

// goal returns g for shunt. Peers have no goals.
func (b *bench) goal(g goal) goal {
	if b.isPeer() {
		return goal{}
	}
	return g
}

func (r *row) judge(g goal, value, ratio float64) {
	r.target, r.met = none, none
	if g.text == "" {
		return
	}
	if g.ofRatio {
		value = ratio
	}
	r.target, r.met = g.text, "no"
	if value <= g.most {
		r.met = "yes"
	}
}

// compare returns a row that compares the values of both programs in each round.
func compare(work string, unit func(float64) string, values [2][]float64, g goal) row {
	all := ratios(values[1], values[0])
	ratio := median(all)
	r := row{
		work: work, bare: unit(median(values[0])), measured: unit(median(values[1])),
		ratio: fmt.Sprintf("%.3f", ratio), span: fmt.Sprintf("%.3f–%.3f", slices.Min(all), slices.Max(all)),
	}
	if len(all) == 1 {
		r.span = none
	}
	r.judge(g, median(values[1]), ratio)
	return r
}

// worst returns a row of counts of failures.
func worst(work string, counts [2]int, g goal) row {
	r := row{work: work, bare: fmt.Sprint(counts[0]), measured: fmt.Sprint(counts[1]), ratio: none, span: none}
	r.judge(g, float64(counts[1]), 0)
	return r
}

// alone returns a row of a value that the bare proxy does not have.
func alone(work string, unit func(float64) string, value float64, g goal) row {
	r := row{work: work, bare: none, measured: unit(value), ratio: none, span: none}
	r.judge(g, value, 0)
	return r
}

func microseconds(seconds float64) string { return fmt.Sprintf("%.1f µs", seconds*1e6) }
func milliseconds(seconds float64) string { return fmt.Sprintf("%.3f ms", seconds*1e3) }
func megabytes(bytes float64) string      { return fmt.Sprintf("%.1f MB", bytes/1e6) }
