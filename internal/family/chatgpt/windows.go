package chatgpt

import (
	"time"

	"shunt/internal/quota"
)

// The indexes of the windows.
const (
	FiveHour = iota
	SevenDay
	WindowCount
)

// windows have the names of other families' windows of the same length, so that one setting applies to both.
var windows = quota.NewTable(
	quota.Window{Name: "5h", Field: "5h", Title: "five-hour window", Length: 5 * time.Hour},
	quota.Window{Name: "7d", Field: "7d", Title: "weekly window", Length: 7 * 24 * time.Hour},
)

// tolerance is the part of a window's length by which the provider's may differ (GPT-6).
const tolerance = 0.05

// windowOf returns the window of a length in minutes. The provider has names for places in a list, and what is in them depends
// on the plan.
func windowOf(minutes float64) (w int, ok bool) {
	for i, window := range windows.Windows() {
		length := window.Length.Minutes()
		if minutes >= length*(1-tolerance) && minutes <= length*(1+tolerance) {
			return i, true
		}
	}
	return 0, false
}
