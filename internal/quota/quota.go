// Package quota holds what is known about the quota of one account: the windows that its provider reports, how long each
// observation stays valid, and whether the account is near its quota, rejected or over a cap.
//
// The windows are values in the [Table] of a family of accounts. A window counts for every request, or for the models of one
// [Scope] only.
//
// The package is pure: the current time is an argument, and it does no I/O and takes no lock. A [State] is a plain value that its
// owner guards. The package does not know how headers are called or where a state is stored.
package quota

import (
	"fmt"
	"slices"
	"time"
)

// MaxWindows is the most windows that a [Table] may have. It is small because a [State] is copied for every decision.
const MaxWindows = 3

// Scope names a class of models that has a quota window of its own. The empty Scope stands for all models.
type Scope string

// Window is one of a family's quota windows.
type Window struct {
	Name   string        // in configuration keys, where it is the end, and in logs: a-z and 0-9
	Field  string        // part of the names of headers and of the keys of the state file
	Title  string        // for people
	Length time.Duration // from one reset to the next
	Scope  Scope         // the models that use it; empty = all
}

// counts reports whether a request of a scope uses the window.
func (w *Window) counts(scope Scope) bool { return w.Scope == "" || w.Scope == scope }

// Table lists the windows of a family of accounts. Everything that has one value for each window is indexed as the table is.
// It never changes. A nil Table has no windows.
type Table struct {
	windows []Window
	scopes  []Scope
	shared  Set             // the windows of all requests
	instead [MaxWindows]Set // of a window with a scope: the shared ones of the same length, in whose place it governs
}

// NewTable returns the table of the given windows. It panics if there are more than [MaxWindows].
func NewTable(windows ...Window) *Table {
	if len(windows) > MaxWindows {
		panic(fmt.Sprintf("quota: %d windows, at most %d are possible", len(windows), MaxWindows))
	}
	t := &Table{windows: slices.Clone(windows)}
	for i, w := range windows {
		switch {
		case w.Scope == "":
			t.shared |= Of(i)
		case !slices.Contains(t.scopes, w.Scope):
			t.scopes = append(t.scopes, w.Scope)
		}
		for j, other := range windows {
			if w.Scope != "" && other.Scope == "" && other.Length == w.Length {
				t.instead[i] |= Of(j)
			}
		}
	}
	return t
}

// Windows returns the windows in the order of their indexes. The caller must not change them.
func (t *Table) Windows() []Window {
	if t == nil {
		return nil
	}
	return t.windows
}

// Scopes returns the scopes that have windows of their own. The caller must not change them.
func (t *Table) Scopes() []Scope {
	if t == nil {
		return nil
	}
	return t.scopes
}

// Set is a set of windows, by their indexes.
type Set uint8

// Of returns the set of the given windows.
func Of(windows ...int) Set {
	var s Set
	for _, w := range windows {
		s |= 1 << w
	}
	return s
}

// Has reports whether the window of index w is in the set.
func (s Set) Has(w int) bool { return s&(1<<w) != 0 }

// rejected is the only status that has a meaning here (QUO-4).
const rejected = "rejected"

// Signal is what one upstream response reports about quota (QUO-1). The zero value reports nothing.
type Signal struct {
	Windows [MaxWindows]WindowSignal
	Status  string    // the aggregate's; empty = absent
	Reset   time.Time // the aggregate's; zero = absent. It bounds a rejection by the aggregate alone, and nothing else
}

// WindowSignal is what one response reports about one window. Each field is independent of the others (QUO-2).
type WindowSignal struct {
	Utilization    float64 // fraction: 0 = unused, 1 = exhausted; may be more
	HasUtilization bool
	Reset          time.Time // zero = absent
	// ResetIn is the time until the reset, from when the response was received; 0 = absent. Reset overrides it.
	ResetIn time.Duration
	Status  string // empty = absent
}

// ResetAt returns the reset that a response received at now reports; zero = absent.
func (w *WindowSignal) ResetAt(now time.Time) time.Time { return resetAt(w.Reset, w.ResetIn, now) }

func resetAt(reset time.Time, in time.Duration, now time.Time) time.Time {
	if reset.IsZero() && in > 0 {
		return now.Add(in)
	}
	return reset
}

// Rejected returns the windows whose status in the signal is "rejected".
func (sig *Signal) Rejected() Set {
	var s Set
	for w := range sig.Windows {
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

// Usage is what the provider's usage endpoint reports about quota (QUO-22). The zero value reports nothing.
type Usage struct{ Windows [MaxWindows]WindowUsage }

// WindowUsage is what the endpoint reports about one window; nothing without a utilization.
type WindowUsage struct {
	Utilization float64 // fraction; may be more than 1
	Has         bool
	Reset       time.Time // zero = not reported
	// ResetIn is the time until the reset, from when the response was received; 0 = not reported. Reset overrides it.
	ResetIn time.Duration
}
