package quota_test

import (
	"testing"

	"shunt/internal/quota"
)

// SEL-20: the account before the pool, a window's own value before the one for all, nothing above the hard threshold.
func TestSoft(t *testing.T) {
	v := func(f float64) *float64 { return &f }
	pool := quota.Setting{All: v(0.5), Window: [quota.MaxWindows]*float64{fiveHour: v(0.6)}}
	tests := []struct {
		name   string
		hard   float64
		levels []quota.Setting
		want   quota.Thresholds
	}{
		{"nothing configured", quota.DefaultHard, nil, quota.Thresholds{0.98, 0.98, 0.98}},
		{"an empty account", quota.DefaultHard, []quota.Setting{{}}, quota.Thresholds{0.98, 0.98, 0.98}},
		{"account keys alone", quota.DefaultHard, []quota.Setting{pool}, quota.Thresholds{0.6, 0.5, 0.5}},
		{"the pool's", 0.9, []quota.Setting{{}, pool}, quota.Thresholds{0.6, 0.5, 0.5}},
		{"the account's for all", 0.9, []quota.Setting{{All: v(0.7)}, pool}, quota.Thresholds{0.7, 0.7, 0.7}},
		{
			"the account's for a window, above hard", 0.9,
			[]quota.Setting{{Window: [quota.MaxWindows]*float64{fiveHour: v(0.95)}}, pool},
			quota.Thresholds{0.9, 0.5, 0.5},
		},
		{"zero is a value", 0.9, []quota.Setting{{All: v(0)}, pool}, quota.Thresholds{0, 0, 0}},
	}
	for _, tt := range tests {
		if got := quota.Soft(tt.hard, tt.levels...); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
