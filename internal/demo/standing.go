package demo

import (
	"strings"
	"time"

	"shunt/internal/app"
	"shunt/internal/family/claude"
)

// The windows of an account, in the order in which they are shown.
const (
	fiveHour = iota
	sevenDay
	fableWindow
	windows
)

// windowNames and windowLabels are the windows in sentences and in a state.
var (
	windowNames  = [windows]string{"5h window", "7d window", "Fable window"}
	windowLabels = [windows]string{"5h", "7d", "Fable"}
)

// standing describes an account's state in the pool.
type standing struct {
	name             string
	disabled, unseen bool
	windows          [windows]gauge

	// For requests to other models, and for Fable requests.
	near, fableNear         bool
	rejected, fableRejected bool
	cooldown, fableCooldown time.Duration // time left; zero = not cooling down
	cause                   string        // of the cooldown
}

// gauge describes a window's usage.
type gauge struct {
	known    bool
	used     float64       // fraction of the window
	soft     float64       // soft threshold: the fraction at which sessions leave the account
	rejected bool          // the provider rejects requests because of it
	resetIn  time.Duration // zero = unknown
}

func (g *gauge) near() bool { return g.rejected || g.known && g.used >= g.soft }

// standings returns the accounts of the demo's pool in listed order.
func standings(a *app.App, now time.Time) []standing {
	var all []standing
	for _, p := range a.Pool(providerName) {
		s := standing{
			name: p.Name, disabled: p.Disabled, unseen: p.Quota.Unseen(),
			near: p.NearQuota, fableNear: p.Quota.Near(claude.FableScope, p.Soft),
			rejected: p.Quota.Rejected("", p.Soft), fableRejected: p.Quota.Rejected(claude.FableScope, p.Soft),
			cooldown: p.Cooldown, cause: p.Cause.String(), fableCooldown: p.In(claude.FableScope).Cooldown,
		}
		for i, w := range [windows]int{fiveHour: claude.FiveHour, sevenDay: claude.SevenDay, fableWindow: claude.Fable} {
			g := &s.windows[i]
			if i == fableWindow && !p.Quota.Governing(claude.FableScope).Has(w) { // its utilization is unknown
				continue
			}
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

// state describes the standing in at most [stateWidth] columns.
func (s *standing) state() (string, style) {
	switch {
	case s.disabled:
		return "disabled", faint
	case s.cooldown > 0:
		return "cooling down " + short(s.cooldown), bad
	case s.rejected:
		return s.nearLimit(), bad
	case s.near:
		return s.nearLimit(), warn
	case s.fableNear || s.fableRejected || s.fableCooldown > 0:
		return "near limit " + windowLabels[fableWindow], warn
	case s.unseen:
		return "not seen yet", faint
	}
	return "ok", good
}

const stateWidth = len("cooling down 59m")

// nearLimit names the window that is near its limit, if it is known.
func (s *standing) nearLimit() string {
	if w := s.nearWindow(false); w >= 0 {
		return "near limit " + windowLabels[w]
	}
	return "near limit"
}

// nearWindow returns the window because of which sessions should leave the account, or -1.
func (s *standing) nearWindow(fable bool) int {
	weekly := sevenDay
	if fable && s.windows[fableWindow].known {
		weekly = fableWindow
	}
	for _, w := range [...]int{fiveHour, weekly} {
		if s.windows[w].near() {
			return w
		}
	}
	return -1
}

func isFable(model string) bool { return strings.Contains(strings.ToLower(model), "fable") }
