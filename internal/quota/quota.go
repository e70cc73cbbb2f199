// Package quota is what shunt knows about the quota of one account: the windows that the provider reports, how long each
// piece of that knowledge lasts, and how an account stands by it.
//
// It is pure: the present is an argument, there is no I/O and no lock. A [State] is a plain value that its owner guards.
// What the headers are called, and where a state is kept, is not its business.
package quota

import "time"

// Window is one of the provider's quota windows.
type Window uint8

// The windows. Fable is the weekly window of the Fable model family, 7d_oi on the wire.
const (
	FiveHour Window = iota
	SevenDay
	Fable
)

// Windows is how many windows there are.
const Windows = 3

const week = 7 * 24 * time.Hour

// String is the window's name in configuration keys and logs: 5h, 7d or fable.
func (w Window) String() string { return [Windows]string{"5h", "7d", "fable"}[w] }

// Length is the time from one reset of the window to the next.
func (w Window) Length() time.Duration { return [Windows]time.Duration{5 * time.Hour, week, week}[w] }

// Set is a set of windows.
type Set uint8

// Of is the set of the given windows.
func Of(windows ...Window) Set {
	var s Set
	for _, w := range windows {
		s |= 1 << w
	}
	return s
}

// Has reports whether w is in the set.
func (s Set) Has(w Window) bool { return s&(1<<w) != 0 }

// rejected is the only status that means anything to shunt (QUO-4).
const rejected = "rejected"

// Signal is what one upstream response says about quota (QUO-1). The zero value says nothing.
type Signal struct {
	Windows [Windows]WindowSignal
	Status  string    // the aggregate's; empty = absent
	Reset   time.Time // the aggregate's; zero = absent. It bounds a rejection by the aggregate alone, and nothing else
}

// WindowSignal is what one response says about one window. Each field stands alone (QUO-2).
type WindowSignal struct {
	Utilization    float64 // fraction: 0 = unused, 1 = exhausted; may be more
	HasUtilization bool
	Reset          time.Time // zero = absent
	Status         string    // empty = absent
}

// Rejected is the set of windows that the signal itself calls rejected.
func (sig *Signal) Rejected() Set {
	var s Set
	for w := range Window(Windows) {
		if sig.Windows[w].Status == rejected {
			s |= Of(w)
		}
	}
	return s
}

// rejectsAlone reports whether the aggregate rejects and no window has a status that it could merely repeat (QUO-4).
func (sig *Signal) rejectsAlone() bool {
	for w := range sig.Windows {
		if sig.Windows[w].Status != "" {
			return false
		}
	}
	return sig.Status == rejected
}

// Usage is what the provider's usage endpoint says about quota (QUO-22). The zero value says nothing.
type Usage struct{ Windows [Windows]WindowUsage }

// WindowUsage is what the endpoint says about one window; nothing without a utilization.
type WindowUsage struct {
	Utilization float64 // fraction; may be more than 1
	Has         bool
	Reset       time.Time // zero = not reported
}
