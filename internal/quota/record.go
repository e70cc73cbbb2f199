package quota

import "time"

// Record is a [State] as it is stored between two runs of the process (QUO-33). Times are whole seconds; zero = absent.
type Record struct {
	Windows          [MaxWindows]WindowRecord
	Status           string // the aggregate's
	ObservedAtStatus time.Time
	ResetAtStatus    time.Time // the reset that bounds it, if it rejected alone (QUO-1)
}

// WindowRecord is one window of a [Record].
type WindowRecord struct {
	Utilization    float64
	HasUtilization bool
	Reset          time.Time
	ObservedAt     time.Time // when the utilization was written

	Status           string
	ObservedAtStatus time.Time
	ResetAtStatus    time.Time // the reset that was known when the status was written
}

// Export returns the state as a record; expire it first (QUO-14). A record does not contain whether its aggregate was the only
// verdict when it was written. An aggregate that was not is therefore left out once the windows behind it have expired: it has
// no effect, and must not have one after it is read back.
func (s *State) Export() Record {
	var r Record
	for i := range s.windows {
		w := &s.windows[i]
		r.Windows[i] = WindowRecord{
			Utilization: w.utilization.value, HasUtilization: !w.utilization.at.IsZero(),
			Reset: whole(w.reset), ObservedAt: whole(w.utilization.at),
			Status: w.status.text, ObservedAtStatus: whole(w.status.at), ResetAtStatus: whole(w.status.boundary),
		}
	}
	if s.alone || s.hasWindowStatus() {
		r.Status, r.ObservedAtStatus, r.ResetAtStatus = s.aggregate.text, whole(s.aggregate.at), whole(s.aggregate.boundary)
	}
	return r
}

// whole drops fractions of a second, the location and the monotonic reading, so that equal times are equal with ==.
func whole(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Unix(t.Unix(), 0).UTC()
}

// Import returns the state that a record represents at the start of a process (QUO-34). Stamps and boundaries without a value
// are ignored; a value without a stamp is as old as the process, and none is younger. The request of a reading counts as sent
// when the reading was written (FO-12): that is too late, and costs one rejected request at most.
func Import(t *Table, r Record, start time.Time) State {
	start = whole(start)
	s := NewState(t)
	s.aggregate = status{text: r.Status, at: stamp(r.ObservedAtStatus, start)}
	if r.Status == rejected {
		s.aggregate.boundary = r.ResetAtStatus
	}
	for i := range t.Windows() {
		w, from := &s.windows[i], &r.Windows[i]
		w.reset = from.Reset
		if from.HasUtilization {
			at := stamp(from.ObservedAt, start)
			w.utilization = reading{value: from.Utilization, at: at}
			if !from.ObservedAt.IsZero() {
				w.utilization.sent = at
			}
		}
		if from.Status != "" {
			w.status = status{from.Status, stamp(from.ObservedAtStatus, start), from.ResetAtStatus}
		}
	}
	s.alone = !s.hasWindowStatus()
	stored := s.windows
	s.Expire(start)
	if r.Status == "" || r.ObservedAtStatus.IsZero() && s.windows != stored { // QUO-13: an unstamped one expires with any window
		s.aggregate, s.alone = status{}, false
	}
	return s
}

// stamp returns a stored stamp, or start if there is none or it lies in the future.
func stamp(stored, start time.Time) time.Time {
	if stored.IsZero() || stored.After(start) {
		return start
	}
	return stored
}

// Migrate converts a record of version 2, which had no stamps of statuses, to version 3 (QUO-35).
func (r *Record) Migrate(start time.Time) {
	var first time.Time // the earliest reset
	for i := range r.Windows {
		w := &r.Windows[i]
		if w.Status != "" && w.ObservedAtStatus.IsZero() {
			w.ObservedAtStatus, w.ResetAtStatus = w.ObservedAt, w.Reset
			if w.ObservedAt.IsZero() {
				w.ObservedAtStatus = start
			}
		}
		if !w.Reset.IsZero() && (first.IsZero() || w.Reset.Before(first)) {
			first = w.Reset
		}
	}
	switch {
	case r.Status == "" || !r.ObservedAtStatus.IsZero():
	case first.IsZero() || first.After(start.Add(aggregateLife)):
		r.ObservedAtStatus = start
	case !first.After(start):
		r.Status = "" // its reset is cleared by Import
	default:
		r.ObservedAtStatus = time.Unix(max(first.Add(-aggregateLife).Unix(), 0), 0).UTC()
	}
}
