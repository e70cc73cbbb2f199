package usage

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// QUO-24: a spread is even, covers one interval, polls no account too early, and one as early as possible.
func TestSpreadLaw(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(int64(time.Minute), int64(24*time.Hour)).Draw(t, "interval"))
		offsets := rapid.SliceOfN(rapid.Int64Range(0, 2*int64(interval)), 0, 200).Draw(t, "offsets")
		slices.Sort(offsets)
		earliest := make([]time.Time, len(offsets))
		for i, offset := range offsets {
			earliest[i] = began.Add(time.Duration(offset))
		}
		slots := spread(earliest, interval)
		if len(slots) != len(earliest) {
			t.Fatalf("%d slots for %d accounts", len(slots), len(earliest))
		}
		slack := time.Duration(1 << 62)
		for i, slot := range slots {
			slack = min(slack, slot.Sub(earliest[i]))
			if i > 0 && slot.Sub(slots[i-1]) != interval/time.Duration(len(slots)) {
				t.Fatalf("slot %d comes %v after the one before", i, slot.Sub(slots[i-1]))
			}
		}
		if len(slots) > 0 && slack != 0 {
			t.Fatalf("the spread could begin %v sooner", slack)
		}
	})
}

// QUO-24: an account that waits comes back in its own slot, the first that is late enough.
func TestSlotFromLaw(t *testing.T) {
	slot := time.Unix(1_800_000_000, 0)
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(int64(time.Minute), int64(24*time.Hour)).Draw(t, "interval"))
		from := slot.Add(time.Duration(rapid.Int64Range(-int64(1000*time.Hour), int64(1000*time.Hour)).Draw(t, "from")))
		at := slotFrom(slot, from, interval)
		if wait := at.Sub(from); wait < 0 || wait >= interval || at.Sub(slot)%interval != 0 {
			t.Fatalf("%v from %v is %v", slot, from, at)
		}
	})
}
