package quota

import "time"

// Weekly is the weekly window that governs a request: Fable for a Fable request once its utilization is observed, else
// SevenDay (SEL-4).
func (s *State) Weekly(fable bool) Window {
	if _, observed := s.Utilization(Fable); fable && observed {
		return Fable
	}
	return SevenDay
}

// Governing are the windows whose soft thresholds count for a request (SEL-4).
func (s *State) Governing(fable bool) [2]Window { return [2]Window{FiveHour, s.Weekly(fable)} }

// Rejected reports whether the provider's last word is that it refuses such requests (SEL-5). A status that a newer
// reading below its soft threshold refutes does not count (FO-12).
func (s *State) Rejected(fable bool, soft Thresholds) bool {
	for w := range Window(Windows) {
		st := &s.windows[w].status
		if st.text == rejected && (w != Fable || fable) && !s.Refutes(Of(w), st.at, soft) {
			return true
		}
	}
	return s.aggregate.text == rejected && s.alone && !s.hasWindowStatus() && !s.Refutes(0, s.aggregate.at, soft)
}

// Near reports whether the account should be left before it hits a wall: rejected, or a governing window at or above
// its soft threshold (SEL-6).
func (s *State) Near(fable bool, soft Thresholds) bool {
	return s.Rejected(fable, soft) || s.reaches(fable, soft)
}

// OverHard reports whether the account is as good as exhausted: rejected, or a governing window at or above the hard
// threshold, a fraction (SEL-7).
func (s *State) OverHard(fable bool, soft Thresholds, hard float64) bool {
	return s.Rejected(fable, soft) || s.reaches(fable, Thresholds{hard, hard, hard})
}

// Capped reports whether a window that counts for the request has an observed utilization at or above its cap, and if
// so, when the last of these windows has expired (CAP-2, CAP-4). For caps the shared week counts for every request
// (SEL-4).
func (s *State) Capped(fable bool, caps Caps) (until time.Time, capped bool) {
	if caps.Set == 0 {
		return time.Time{}, false
	}
	for w := range Window(Windows) {
		u := &s.windows[w].utilization
		if !caps.Set.Has(w) || w == Fable && !fable || u.at.IsZero() || u.value < caps.At[w] {
			continue
		}
		end := u.at.Add(w.Length())
		if reset := s.windows[w].reset; !reset.IsZero() && reset.Before(end) {
			end = reset
		}
		if end.After(until) {
			until = end
		}
		capped = true
	}
	return until, capped
}

func (s *State) reaches(fable bool, limits Thresholds) bool {
	for _, w := range s.Governing(fable) {
		if u, ok := s.Utilization(w); ok && u >= limits[w] {
			return true
		}
	}
	return false
}

// Refutes reports whether readings speak against a rejection that was received at since (FO-12): every window that it
// named has a utilization below its soft threshold, learnt from a request that was sent after that. A rejection that
// named no window came from the aggregate and needs this of every window that is reported at all.
func (s *State) Refutes(named Set, since time.Time, soft Thresholds) bool {
	refuted := false
	for w := range Window(Windows) {
		u := &s.windows[w].utilization
		switch {
		case named == 0 && u.at.IsZero(), named != 0 && !named.Has(w):
			continue
		case u.at.IsZero(), !u.sent.After(since), u.value >= soft[w]:
			return false
		}
		refuted = true
	}
	return refuted
}

// Relief returns when the last of the named windows resets, which is the latest that a rejection by them can last. If none is
// named, it is the aggregate's own reset (QUO-1) or, if that is unknown, the last of the known resets. Not ok if a named
// window's reset is unknown, or has passed and so cannot be what a rejection of now waits for.
func (s *State) Relief(named Set, now time.Time) (last time.Time, ok bool) {
	if named == 0 && s.aggregate.boundary.After(now) {
		return s.aggregate.boundary, true
	}
	for w := range Window(Windows) {
		reset := s.windows[w].reset
		switch {
		case named == 0 && reset.IsZero(), named != 0 && !named.Has(w):
			continue
		case !reset.After(now):
			return time.Time{}, false
		case reset.After(last):
			last = reset
		}
	}
	return last, !last.IsZero()
}
