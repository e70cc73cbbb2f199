package demo

import (
	"time"

	"shunt/internal/app"
)

// The windows of an account, in the order in which they are shown.
const (
	fiveHour = iota
	sevenDay
	fableWeek
	windows
)

// windowWords are the windows in sentences.
var windowWords = [windows]string{"5h window", "week", "Fable week"}

// standing is how an account stands in the pool.
type standing struct {
	name             string
	disabled, unseen bool
	windows          [windows]gauge

	// For requests that are not for Fable, and for those that are.
	near, fableNear         bool
	rejected, fableRejected bool
	cooldown, fableCooldown time.Duration // what is left; zero = not cooled
	cause                   string        // of cooldown
}

// gauge is what is known of a window.
type gauge struct {
	known    bool
	used     float64       // fraction
	soft     float64       // the fraction from which sessions leave the account
	rejected bool          // the provider refuses because of it
	resetIn  time.Duration // zero = unknown
}

func (g *gauge) near() bool { return g.rejected || g.known && g.used >= g.soft }

// standings are the accounts of the demo's pool in listed order.
func standings(a *app.App, now time.Time) []standing {
	var all []standing
	for _, p := range a.Pool(providerName) {
		s := standing{
			name: p.Name, disabled: p.Disabled, unseen: p.Quota.Unseen(),
			near: p.NearQuota, fableNear: p.Quota.Near(true, p.Soft),
			rejected: p.Quota.Rejected(false, p.Soft), fableRejected: p.Quota.Rejected(true, p.Soft),
			cooldown: p.Cooldown, cause: p.Cause.String(), fableCooldown: p.FableCooldown,
		}
		governing, weekly := p.Quota.Governing(false), p.Quota.Weekly(true)
		shown := append(governing[:], weekly)
		if weekly == governing[sevenDay] { // nothing is known of the Fable week
			shown = governing[:]
		}
		for i, w := range shown {
			g := &s.windows[i]
			g.used, g.known = p.Quota.Utilization(w)
			g.soft, g.rejected = p.Soft[w], p.Quota.Status(w) == "rejected"
			if reset, ok := p.Quota.Reset(w); ok {
				g.resetIn = reset.Sub(now)
			}
		}
		all = append(all, s)
	}
	return all
}

// state is the standing in one or two words, at most [stateWidth] wide, and how good it is.
func (s *standing) state() (string, mood) {
	switch {
	case s.disabled:
		return "disabled", faint
	case s.cooldown > 0 && s.cause == "rejected":
		return "rejected " + short(s.cooldown), bad
	case s.cooldown > 0:
		return "cooling " + short(s.cooldown), bad
	case s.rejected:
		return "rejected", bad
	case s.near:
		return "near quota", warn
	case s.fableRejected || s.fableCooldown > 0:
		return "Fable rejected", warn
	case s.fableNear:
		return "Fable near", warn
	case s.unseen:
		return "unseen", faint
	}
	return "ok", good
}

const stateWidth = len("Fable rejected")

// nearWindow is the window because of which the account should be left, for a request of that kind; -1 if there is none.
func (s *standing) nearWindow(fable bool) int {
	weekly := sevenDay
	if fable && s.windows[fableWeek].known {
		weekly = fableWeek
	}
	for _, w := range [...]int{fiveHour, weekly} {
		if s.windows[w].near() {
			return w
		}
	}
	return -1
}
