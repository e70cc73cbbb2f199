package upstream

import (
	"testing"
	"time"
)

// CAP-4, FO-8c: the time until the first account is back, as a person says it; never less than it is.
func TestInWords(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		time.Second:                 "1 s",
		1500 * time.Millisecond:     "2 s",
		59 * time.Second:            "59 s",
		time.Minute:                 "1 min",
		41*time.Minute + 1:          "42 min",
		time.Hour:                   "1 h",
		3*time.Hour + 5*time.Minute: "3 h 5 min",
		52 * time.Hour:              "2 d 4 h",
	} {
		if got := inWords(wait); got != want {
			t.Errorf("%v: %q, want %q", wait, got, want)
		}
	}
}
