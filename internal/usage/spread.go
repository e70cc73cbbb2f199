package usage

import (
	"slices"
	"time"
)

// shortestFirstRound and firstGap say how long the first polls of n accounts take: the longer of the first, and n times the
// second (QUO-24).
const (
	shortestFirstRound = 30 * time.Second
	firstGap           = 500 * time.Millisecond
)

// firstStep lies between the first polls of n accounts.
func firstStep(n int) time.Duration {
	return max(shortestFirstRound/time.Duration(n), firstGap)
}

// spread returns a slot for each account, given the earliest time of each in ascending order: the slots lie evenly over
// one interval, none is before the earliest time of its account, and no other even spread begins sooner (QUO-24).
func spread(earliest []time.Time, interval time.Duration) []time.Time {
	if len(earliest) == 0 {
		return nil
	}
	step := interval / time.Duration(len(earliest))
	begin := earliest[0]
	for i, at := range earliest {
		begin = later(begin, at.Add(-time.Duration(i)*step))
	}
	slots := make([]time.Time, len(earliest))
	for i := range slots {
		slots[i] = begin.Add(time.Duration(i) * step)
	}
	return slots
}

// slotFrom returns the first time that is not before from and lies a whole number of intervals from slot, in either
// direction.
func slotFrom(slot, from time.Time, interval time.Duration) time.Time {
	at := slot.Add(from.Sub(slot) / interval * interval) // the division rounds towards the slot
	if at.Before(from) {
		at = at.Add(interval)
	}
	return at
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// schedule gives each of the listed identities that can be polled its slot. As long as they are the same ones as before,
// no slot moves: a reload is no reason to poll earlier, later, or all at once. The caller holds the lock.
func (p *Poller) schedule(listed []*subject, now time.Time) {
	ring := slices.DeleteFunc(listed, func(s *subject) bool { _, ok := s.eligible(); return !ok })
	isNew := func(s *subject) bool { return !slices.Contains(p.ring, s) }
	if len(ring) == len(p.ring) && !slices.ContainsFunc(ring, isNew) {
		return
	}
	var fresh []*subject
	for _, s := range ring {
		if s.asked.IsZero() && isNew(s) {
			fresh = append(fresh, s)
		}
	}
	for i, s := range fresh {
		s.due = now.Add(time.Duration(i) * firstStep(len(fresh)))
	}
	earliest := func(s *subject) time.Time {
		if s.asked.IsZero() {
			return s.due.Add(p.interval) // its slot is for the poll after its first
		}
		return later(s.asked.Add(p.interval), now)
	}
	p.ring = ring
	slices.SortStableFunc(ring, func(a, b *subject) int { return earliest(a).Compare(earliest(b)) })
	times := make([]time.Time, len(ring))
	for i, s := range ring {
		times[i] = earliest(s)
	}
	for i, slot := range spread(times, p.interval) {
		s := ring[i]
		if s.slot = slot; !s.asked.IsZero() {
			s.due = slotFrom(slot, later(slot, s.notBefore), p.interval)
		}
	}
}
