package quota

import "time"

// Governing returns the windows whose soft thresholds count for a request of a scope: for each length, the scope's window if
// its utilization is observed, else the window of all requests (SEL-4).
func (s *State) Governing(scope Scope) Set {
	t := s.table
	if t == nil {
		return 0
	}
	governing := t.shared
	if scope == "" {
		return governing
	}
	for w := range t.windows {
		if t.windows[w].Scope == scope && !s.windows[w].utilization.at.IsZero() {
			governing = governing&^t.instead[w] | Of(w)
		}
	}
	return governing
}

// Longest returns the longest governing window for a request of a scope; not ok if the account has no windows.
func (s *State) Longest(scope Scope) (longest int, ok bool) {
	windows, governing := s.table.Windows(), s.Governing(scope)
	for w := range windows {
		if governing.Has(w) && (!ok || windows[w].Length > windows[longest].Length) {
			longest, ok = w, true
		}
	}
	return longest, ok
}

// Rejected reports whether the provider refuses requests of a scope, as far as its last statuses say (SEL-5). A status that a
// newer reading below its soft threshold refutes does not count (FO-12).
func (s *State) Rejected(scope Scope, soft Thresholds) bool {
	windows := s.table.Windows()
	for w := range windows {
		st := &s.windows[w].status
		if st.text == rejected && windows[w].counts(scope) && !s.Refutes(Of(w), st.at, soft) {
			return true
		}
	}
	return s.aggregate.text == rejected && s.alone && !s.hasWindowStatus() && !s.Refutes(0, s.aggregate.at, soft)
}

// Near reports whether sessions should leave the account before its quota is exhausted: it is rejected, or a governing window
// is at or above its soft threshold (SEL-6).
func (s *State) Near(scope Scope, soft Thresholds) bool {
	return s.Rejected(scope, soft) || s.reaches(scope, soft)
}

// OverHard reports whether the account counts as exhausted: it is rejected, or a governing window is at or above the hard
// threshold, a fraction (SEL-7).
func (s *State) OverHard(scope Scope, soft Thresholds, hard float64) bool {
	return s.Rejected(scope, soft) || s.reaches(scope, Uniform(hard))
}

// Capped reports whether a window that a request of a scope uses has an observed utilization at or above its cap, and if so,
// when the last of these windows expires (CAP-2, CAP-4). A window of all requests has its cap also where a window of the scope
// governs in its place (SEL-4).
func (s *State) Capped(scope Scope, caps Caps) (until time.Time, capped bool) {
	if caps.Set == 0 {
		return time.Time{}, false
	}
	windows := s.table.Windows()
	for w := range windows {
		u := &s.windows[w].utilization
		if !caps.Set.Has(w) || !windows[w].counts(scope) || u.at.IsZero() || u.value < caps.At[w] {
			continue
		}
		end := u.at.Add(windows[w].Length)
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

func (s *State) reaches(scope Scope, limits Thresholds) bool {
	governing := s.Governing(scope)
	for w := range s.windows {
		if u := &s.windows[w].utilization; governing.Has(w) && !u.at.IsZero() && u.value >= limits[w] {
			return true
		}
	}
	return false
}

// Refutes reports whether readings contradict a rejection that was received at since (FO-12): every window that it named has a
// utilization below its soft threshold, reported in response to a request that was sent after that. A rejection that named no
// window came from the aggregate; to refute it takes this of every window that is reported at all.
func (s *State) Refutes(named Set, since time.Time, soft Thresholds) bool {
	refuted := false
	for w := range s.windows {
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
// window's reset is unknown, or has passed and so cannot end a rejection of now.
func (s *State) Relief(named Set, now time.Time) (last time.Time, ok bool) {
	if named == 0 && s.aggregate.boundary.After(now) {
		return s.aggregate.boundary, true
	}
	for w := range s.windows {
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
