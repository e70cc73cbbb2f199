package quota

import (
	"math"
	"time"
)

// State is the quota of one identity as observed so far. The zero value has seen nothing (SEL-9). Every reader answers
// for what is stored: call [State.Expire] first, on a copy if need be (QUO-14).
type State struct {
	windows   [Windows]window
	aggregate status
	// alone tells that no window had a status when the aggregate was written, so that the aggregate is the only
	// verdict there was. A response that rejects by window repeats the verdict as its aggregate; without this
	// the account would stay rejected for a week after the window behind it has reset.
	alone bool
}

type window struct {
	utilization reading
	reset       time.Time // zero = unknown
	status      status
}

// reading is an observed utilization; none if at is zero.
type reading struct {
	value float64
	at    time.Time // when it was written
	sent  time.Time // when the request went out whose answer said so (FO-12)
}

// status is an observed verdict; none if text is empty.
type status struct {
	text     string
	at       time.Time
	boundary time.Time // the reset that stood when the status was written, zero = none; never moves (QUO-12)
	// The aggregate has a boundary only if it rejects and its response named no window (QUO-1).
}

// Record takes in the headers of one response to a request that went out at sent (QUO-2, QUO-3, QUO-15). Fields that
// are absent, and utilizations that are no finite fraction >= 0, leave what is stored.
func (s *State) Record(sig Signal, sent, now time.Time) {
	s.Expire(now)
	for w := range sig.Windows {
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
	if !sig.Reset.IsZero() {
		w.reset = sig.Reset
	}
	if sig.HasUtilization && isFraction(sig.Utilization) {
		w.utilization = reading{value: sig.Utilization, at: now, sent: sent}
	}
	if sig.Status != "" {
		w.status = status{text: sig.Status, at: now, boundary: w.reset}
	}
}

// RecordUsage takes in an answer of the usage endpoint to a request that went out at sent (QUO-23). It leaves every
// status as it is; a window that has no utilization keeps what it has.
func (s *State) RecordUsage(u Usage, sent, now time.Time) {
	s.Expire(now)
	for i := range u.Windows {
		w, update := &s.windows[i], &u.Windows[i]
		if !update.Has || !isFraction(update.Utilization) {
			continue
		}
		w.utilization = reading{value: update.Utilization, at: now, sent: sent}
		if !update.Reset.IsZero() {
			w.reset = update.Reset
		}
	}
}

func isFraction(u float64) bool { return u >= 0 && !math.IsInf(u, 1) }

// Expire forgets what is out of date (QUO-1, QUO-10 to QUO-13). A time that equals now has passed.
func (s *State) Expire(now time.Time) {
	for w := range s.windows {
		s.windows[w].expire(Window(w).Length(), now)
	}
	if passed(s.aggregate.boundary, 0, now) || passed(s.aggregate.at, week, now) {
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

// Utilization is the window's observed utilization as a fraction, if any.
func (s *State) Utilization(w Window) (float64, bool) {
	u := &s.windows[w].utilization
	return u.value, !u.at.IsZero()
}

// Reset is when the window resets, if known. It may be known where the utilization is not (QUO-11).
func (s *State) Reset(w Window) (time.Time, bool) {
	r := s.windows[w].reset
	return r, !r.IsZero()
}

// Status is the window's own status, empty if none is recorded.
func (s *State) Status(w Window) string { return s.windows[w].status.text }

// Aggregate is the account's overall status, empty if none is recorded.
func (s *State) Aggregate() string { return s.aggregate.text }

// Unseen reports whether nothing at all is known (SEL-9).
func (s *State) Unseen() bool { return *s == State{} }

func (s *State) hasWindowStatus() bool {
	for w := range s.windows {
		if s.windows[w].status.text != "" {
			return true
		}
	}
	return false
}
