package quota

import (
	"math"
	"time"
)

// State is the quota of one identity as observed so far. Make one with [NewState]: the zero value has no windows. Its methods
// read what is stored; call [State.Expire] first, on a copy if need be (QUO-14).
type State struct {
	table     *Table
	windows   [MaxWindows]window
	aggregate status
	// alone is set if no window had a status when the aggregate was written, so that the aggregate was the only
	// verdict. A response that rejects by window repeats that verdict as its aggregate; without this flag the account
	// would stay rejected for a week after the window behind it has reset.
	alone bool
}

// NewState returns the state of an account of the family that has the table, with nothing observed (SEL-9).
func NewState(t *Table) State { return State{table: t} }

// Table returns the table of the account's windows.
func (s *State) Table() *Table { return s.table }

type window struct {
	utilization reading
	reset       time.Time // zero = unknown
	status      status
}

// reading is an observed utilization; there is none if at is zero.
type reading struct {
	value float64
	at    time.Time // when it was written
	sent  time.Time // when the request was sent whose response reported it (FO-12)
}

// status is an observed verdict; there is none if text is empty.
type status struct {
	text     string
	at       time.Time
	boundary time.Time // the reset that was known when the status was written, zero = none; never moves (QUO-12)
	// The aggregate has a boundary only if it rejects and its response named no window (QUO-1).
}

// aggregateLife is how long an aggregate status is valid (QUO-13).
const aggregateLife = 7 * 24 * time.Hour

// Record updates the state from the headers of one response to a request that was sent at sent (QUO-2, QUO-3, QUO-15). Fields
// that are absent, and utilizations that are not finite fractions >= 0, leave what is stored.
func (s *State) Record(sig Signal, sent, now time.Time) {
	s.Expire(now)
	for w := range s.table.Windows() {
		s.windows[w].record(sig.Windows[w], sent, now)
	}
	if sig.Status != "" {
		s.aggregate = status{text: sig.Status, at: now}
		if sig.rejectsAlone() && sig.Reset.After(now) {
			s.aggregate.boundary = sig.Reset
		}
		s.alone = !s.hasWindowStatus()
	}
}

func (w *window) record(sig WindowSignal, sent, now time.Time) {
	if reset := sig.ResetAt(now); !reset.IsZero() {
		w.reset = reset
	}
	if sig.HasUtilization && isFraction(sig.Utilization) {
		w.utilization = reading{value: sig.Utilization, at: now, sent: sent}
	}
	if sig.Status != "" {
		w.status = status{text: sig.Status, at: now, boundary: w.reset}
	}
}

// RecordUsage updates the state from a response of the usage endpoint to a request that was sent at sent (QUO-23). It changes
// no status; a window without a utilization keeps what it has.
func (s *State) RecordUsage(u Usage, sent, now time.Time) {
	s.Expire(now)
	for i := range s.table.Windows() {
		w, update := &s.windows[i], &u.Windows[i]
		if !update.Has || !isFraction(update.Utilization) {
			continue
		}
		w.utilization = reading{value: update.Utilization, at: now, sent: sent}
		if reset := resetAt(update.Reset, update.ResetIn, now); !reset.IsZero() {
			w.reset = reset
		}
	}
}

func isFraction(u float64) bool { return u >= 0 && !math.IsInf(u, 1) }

// Expire clears what is out of date (QUO-1, QUO-10 to QUO-13). A time that equals now has passed.
func (s *State) Expire(now time.Time) {
	windows := s.table.Windows()
	for w := range windows {
		s.windows[w].expire(windows[w].Length, now)
	}
	if passed(s.aggregate.boundary, 0, now) || passed(s.aggregate.at, aggregateLife, now) {
		s.aggregate, s.alone = status{}, false
	}
}

func (w *window) expire(length time.Duration, now time.Time) {
	if passed(w.reset, 0, now) {
		w.utilization, w.reset = reading{}, time.Time{}
	}
	if passed(w.utilization.at, length, now) {
		w.utilization = reading{}
	}
	if passed(w.status.boundary, 0, now) || passed(w.status.at, length, now) {
		w.status = status{}
	}
}

// ClearRejections clears every rejected status, the aggregate's included: the operator says "try again" (FO-13). Utilizations
// and resets stay.
func (s *State) ClearRejections() {
	for w := range s.windows {
		if st := &s.windows[w].status; st.text == rejected {
			*st = status{}
		}
	}
	if s.aggregate.text == rejected {
		s.aggregate, s.alone = status{}, false
	}
}

// passed reports whether a known time plus a lifetime is over.
func passed(t time.Time, life time.Duration, now time.Time) bool {
	return !t.IsZero() && now.Sub(t) >= life
}

// Utilization returns the window's observed utilization as a fraction, if any.
func (s *State) Utilization(w int) (float64, bool) {
	u := &s.windows[w].utilization
	return u.value, !u.at.IsZero()
}

// Reset returns when the window resets, if known. It may be known where the utilization is not (QUO-11).
func (s *State) Reset(w int) (time.Time, bool) {
	r := s.windows[w].reset
	return r, !r.IsZero()
}

// Status returns the window's own status, empty if none is recorded.
func (s *State) Status(w int) string { return s.windows[w].status.text }

// Aggregate returns the account's overall status, empty if none is recorded.
func (s *State) Aggregate() string { return s.aggregate.text }

// Unseen reports whether nothing at all is known (SEL-9).
func (s *State) Unseen() bool { return *s == NewState(s.table) }

func (s *State) hasWindowStatus() bool {
	for w := range s.windows {
		if s.windows[w].status.text != "" {
			return true
		}
	}
	return false
}
