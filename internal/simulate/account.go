package simulate

import (
	"fmt"
	"math/rand/v2"
	"time"

	"shunt/internal/family/claude"
)

// sizes are the sizes of the windows of a plan of size 1, in units.
var sizes = [claude.WindowCount]float64{claude.FiveHour: 1.5e6, claude.SevenDay: 15e6, claude.Fable: 6e6}

// account is one account of the provider at the beginning of the run.
type account struct {
	name    string
	windows [claude.WindowCount]limit
}

// limit is one window of an account.
type limit struct {
	length time.Duration
	size   float64       // units
	used   float64       // when the run begins
	reset  time.Duration // the first one, after the beginning of the run
}

// newAccounts makes accounts, their plans multiplied by scale, whose windows reset at whole hours of their own. Nothing of them
// is used yet.
func newAccounts(plans []float64, scale float64, rng *rand.Rand) []account {
	accounts := make([]account, len(plans))
	for i, plan := range plans {
		a := account{name: fmt.Sprintf("account-%d", i+1)}
		for w, window := range claude.Family.Windows.Windows() {
			hours := int(window.Length / time.Hour)
			a.windows[w] = limit{window.Length, plan * scale * sizes[w], 0, time.Duration(1+rng.IntN(hours)) * time.Hour}
		}
		accounts[i] = a
	}
	return accounts
}

// elapsed returns the fraction of the window that has passed when the run begins.
func (l *limit) elapsed() float64 { return 1 - l.reset.Hours()/l.length.Hours() }

// began returns when the instance of the window that contains at began; before 0 for the first one.
func (l *limit) began(at time.Duration) time.Duration {
	before := l.reset - l.length
	return before + (at-before)/l.length*l.length
}

// counts reports whether a request counts in a window.
func counts(w int, fable bool) bool { return w != claude.Fable || fable }
