package usage

import (
	"slices"
	"time"
)

// The first polls of n accounts take shortestFirstRound or n times firstGap, whichever is longer (QUO-24).
const (
	shortestFirstRound = 30 * time.Second
	firstGap           = 500 * time.Millisecond
)

// firstStep returns the time between the first polls of n accounts.
func firstStep(n int) time.Duration {
	return max(shortestFirstRound/time.Duration(n), firstGap)
}

// spread returns a slot for each account, given the earliest time of each in ascending order. The slots are evenly spread over
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

// slotFrom returns the first time that is not before from and a whole number of intervals from slot, in either direction.
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

// schedule assigns slots to the listed targets that can be polled. As long as they are the same as before, no slot moves: a
// reload makes no poll earlier or later, and no polls coincide. The caller holds the lock.
func (p *Poller) schedule(listed []*target, now time.Time) {
	all := slices.DeleteFunc(listed, func(t *target) bool { _, ok := t.eligible(); return !ok })
	isNew := func(t *target) bool { return !slices.Contains(p.scheduled, t) }
	if len(all) == len(p.scheduled) && !slices.ContainsFunc(all, isNew) {
		return
	}
	var unpolled []*target
	for _, t := range all {
		if t.polled.IsZero() && isNew(t) {
			unpolled = append(unpolled, t)
		}
	}
	for i, t := range unpolled {
		t.due = now.Add(time.Duration(i) * firstStep(len(unpolled)))
	}
	earliest := func(t *target) time.Time {
		if t.polled.IsZero() {
			return t.due.Add(p.interval) // the slot is for the poll after the first one
		}
		return later(t.polled.Add(p.interval), now)
	}
	p.scheduled = all
	slices.SortStableFunc(all, func(a, b *target) int { return earliest(a).Compare(earliest(b)) })
	times := make([]time.Time, len(all))
	for i, t := range all {
		times[i] = earliest(t)
	}
	for i, slot := range spread(times, p.interval) {
		t := all[i]
		if t.slot = slot; !t.polled.IsZero() {
			t.due = slotFrom(slot, later(slot, t.notBefore), p.interval)
		}
	}
}
