package main

import (
	"slices"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		given := slices.Clone(c.values)
		if got := median(c.values); got != c.want || !slices.Equal(given, c.values) {
			t.Errorf("of %v: %v, and the values are %v", given, got, c.values)
		}
	}
}

func TestP50(t *testing.T) {
	if got := p50(nil); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	if got := p50([]time.Duration{5 * time.Second, time.Second, 2 * time.Second}); got != 2 {
		t.Errorf("of 1, 2 and 5 s: %v", got)
	}
}

func TestRatios(t *testing.T) {
	if got := ratios([]float64{2, 3}, []float64{1, 6}); !slices.Equal(got, []float64{2, 0.5}) {
		t.Error(got)
	}
}

func TestAlternate(t *testing.T) {
	var order []int
	_ = alternate(3, func(_, program int) error {
		order = append(order, program)
		return nil
	})
	if !slices.Equal(order, []int{0, 1, 1, 0, 0, 1}) {
		t.Error(order)
	}
}
