package quota

import "time"

// Record is a [State] as it is kept between two runs of the process (QUO-33). Times are whole seconds; zero = absent.
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
	ResetAtStatus    time.Time // the reset that stood when the status was written
}

// Export is the state as a record; expire it first (QUO-14). A record does not tell whether its aggregate was the only
// verdict when it was written, so one that was not is left out once the windows behind it have gone: it has no effect,
// and must not get one by being read back.
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

// whole drops fractions of a second, and what makes equal times differ.
func whole(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return time.Unix(t.Unix(), 0).UTC()
}

// Import is the state that a record stands for at the start of a process (QUO-34). Stamps and boundaries of nothing are
// ignored; what has no stamp is as old as the process, and nothing is younger. A reading is taken to have been asked for
// when it was written (FO-12): later than it was, which costs a refusal at the most.
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
	if r.Status == "" || r.ObservedAtStatus.IsZero() && s.windows != stored { // QUO-13: an unstamped one goes with any window
		s.aggregate, s.alone = status{}, false
	}
	return s
}

// stamp is a stored stamp, or start if there is none or it lies in the future.
func stamp(stored, start time.Time) time.Time {
	if stored.IsZero() || stored.After(start) {
		return start
	}
	return stored
}

// Migrate turns a record of version 2, which had no stamps of statuses, into one of now (QUO-35).
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
		r.Status = "" // its reset goes when it is imported
	default:
		r.ObservedAtStatus = time.Unix(max(first.Add(-aggregateLife).Unix(), 0), 0).UTC()
	}
}
