package quota_test

import (
	"testing"
	"time"

	"shunt/internal/quota"
)

// stored is a record of one window, with its aggregate if it has one.
func stored(w int, wr quota.WindowRecord) quota.Record {
	var r quota.Record
	r.Windows[w] = wr
	return r
}

// aggregate adds an aggregate status to a record; a stamp of less than 0 is none.
func aggregate(r quota.Record, text string, stamp time.Duration) quota.Record {
	r.Status = text
	if stamp >= 0 {
		r.ObservedAtStatus = epoch(stamp)
	}
	return r
}

// The process of these tests starts at 1000 h of Unix time, so that a file can have earlier times.
const begin = 1000 * time.Hour

func epoch(d time.Duration) time.Time { return time.Unix(int64(d/time.Second), 0).UTC() }

// lasts returns how long after the start of the process something is still there; 0 if it never is, a year if it stays.
func lasts(s quota.State, there func(quota.State) bool) time.Duration {
	const forever = 365 * 24 * time.Hour
	for d := time.Duration(0); d < forever; d += time.Hour / 2 {
		s.Expire(epoch(begin + d))
		if !there(s) {
			return d
		}
	}
	return forever
}

// QUO-34: the import of a record at the start, in the order that the specification gives. A lifetime shows the stamp.
func TestImport(t *testing.T) {
	const five, h, year = fiveHour, time.Hour, 365 * 24 * time.Hour
	type w = quota.WindowRecord
	tests := []struct {
		name                     string
		record                   w
		reading, reset, rejected time.Duration // how long each lasts after the start
	}{
		{"nothing", w{}, 0, 0, 0},
		{"a stamp without a reading", w{ObservedAt: epoch(begin)}, 0, 0, 0},
		{"a stamp and a boundary without a status", w{ObservedAtStatus: epoch(begin), ResetAtStatus: epoch(begin + h)}, 0, 0, 0},
		{"a reset alone", w{Reset: epoch(begin + h)}, 0, h, 0},
		{"a reset that has passed", w{Reset: epoch(begin)}, 0, 0, 0},
		{"a reading an hour old", w{HasUtilization: true, ObservedAt: epoch(begin - h)}, 4 * h, 0, 0},
		{"a reading that is out of date", w{HasUtilization: true, ObservedAt: epoch(begin - 5*h), Reset: epoch(begin + h)}, 0, h, 0},
		{"a reading without a stamp", w{HasUtilization: true}, 5 * h, 0, 0},
		{"a reading of the future", w{HasUtilization: true, ObservedAt: epoch(begin + 100*h)}, 5 * h, 0, 0},
		{"a reading whose reset has passed", w{HasUtilization: true, ObservedAt: epoch(begin - h), Reset: epoch(begin - 1)}, 0, 0, 0},
		{"a status two hours old", w{Status: "rejected", ObservedAtStatus: epoch(begin - 2*h)}, 0, 0, 3 * h},
		{"a status whose boundary comes first", w{Status: "rejected", ObservedAtStatus: epoch(begin - 2*h), ResetAtStatus: epoch(begin + h)}, 0, 0, h},
		{"a status whose boundary has passed", w{Status: "rejected", ResetAtStatus: epoch(begin)}, 0, 0, 0},
		{"a status without a stamp", w{Status: "rejected"}, 0, 0, 5 * h},
		{"a status of the future", w{Status: "rejected", ObservedAtStatus: epoch(begin + 100*h)}, 0, 0, 5 * h},
		{"FO-12: a reading that came after the status", w{HasUtilization: true, ObservedAt: epoch(begin - h), Status: "rejected", ObservedAtStatus: epoch(begin - 2*h)}, 4 * h, 0, 0},
		{"FO-12: a reading of the same second", w{HasUtilization: true, ObservedAt: epoch(begin - h), Status: "rejected", ObservedAtStatus: epoch(begin - h)}, 4 * h, 0, 4 * h},
		{"FO-12: a reading of unknown time", w{HasUtilization: true, Status: "rejected", ObservedAtStatus: epoch(begin - 2*h)}, 5 * h, 0, 3 * h},
		{"QUO-36: a reset is not a boundary", w{Status: "rejected", Reset: epoch(begin + h)}, 0, h, 5 * h},
		{"a time beyond all calendars", w{HasUtilization: true, Reset: epoch(290 * year)}, 5 * h, year, 0},
	}
	for _, tt := range tests {
		s := quota.Import(table, stored(five, tt.record), epoch(begin))
		if got := lasts(s, func(s quota.State) bool { _, ok := s.Utilization(five); return ok }); got != tt.reading {
			t.Errorf("%s: the reading lasts %v, want %v", tt.name, got, tt.reading)
		}
		if got := lasts(s, func(s quota.State) bool { _, ok := s.Reset(five); return ok }); got != tt.reset {
			t.Errorf("%s: the reset lasts %v, want %v", tt.name, got, tt.reset)
		}
		if got := lasts(s, func(s quota.State) bool { return s.Rejected(anyModel, soft) }); got != tt.rejected {
			t.Errorf("%s: rejected for %v, want %v", tt.name, got, tt.rejected)
		}
	}
}

// QUO-13, QUO-34: an aggregate lives a week from its stamp; without one it goes with any window that expires in the import,
// and else is as old as the process. It counts only if it was the only status in the record, even if others have expired since.
func TestImportAggregate(t *testing.T) {
	const five, h = fiveHour, time.Hour
	past := quota.WindowRecord{HasUtilization: true, Reset: epoch(begin - h)}
	ahead := quota.WindowRecord{HasUtilization: true, Reset: epoch(begin + h)}
	gone := quota.WindowRecord{Status: "rejected", ResetAtStatus: epoch(begin - h)}
	tests := []struct {
		name             string
		record           quota.Record
		stored, rejected time.Duration
	}{
		{"stamped", aggregate(quota.Record{}, "rejected", begin-h), week - h, week - h},
		{"stamped, a window expires", aggregate(stored(five, past), "rejected", begin-h), week - h, week - h},
		{"out of date", aggregate(quota.Record{}, "rejected", begin-week), 0, 0},
		{"of the future", aggregate(quota.Record{}, "rejected", begin+h), week, week},
		{"without a stamp", aggregate(quota.Record{}, "rejected", -1), week, week},
		{"without a stamp, a window is alive", aggregate(stored(five, ahead), "rejected", -1), week, week},
		{"without a stamp, a window expires", aggregate(stored(five, past), "rejected", -1), 0, 0},
		{"a stamp alone", aggregate(quota.Record{}, "", begin), 0, 0},
		{"beside a status that is over", aggregate(stored(five, gone), "rejected", begin-h), week - h, 0},
		{"beside a status without a stamp", aggregate(stored(five, quota.WindowRecord{Status: "allowed"}), "rejected", begin-h), week - h, 0},
	}
	for _, tt := range tests {
		s := quota.Import(table, tt.record, epoch(begin))
		if got := lasts(s, func(s quota.State) bool { return s.Aggregate() != "" }); got != tt.stored {
			t.Errorf("%s: stored for %v, want %v", tt.name, got, tt.stored)
		}
		if got := lasts(s, func(s quota.State) bool { return s.Rejected(anyModel, soft) }); got != tt.rejected {
			t.Errorf("%s: rejected for %v, want %v", tt.name, got, tt.rejected)
		}
	}
}

// QUO-35: a window status of version 2.
func TestMigrateWindow(t *testing.T) {
	const five, h = fiveHour, time.Hour
	type w = quota.WindowRecord
	tests := []struct {
		name        string
		record      w
		stamp, edge time.Duration // afterwards; 0 = none
	}{
		{"stamped by its reading", w{Status: "rejected", HasUtilization: true, ObservedAt: epoch(begin - h), Reset: epoch(begin + h)}, begin - h, begin + h},
		{"by a stamp without a reading", w{Status: "rejected", ObservedAt: epoch(begin - h)}, begin - h, 0},
		{"no stamp at all", w{Status: "rejected", Reset: epoch(begin + h)}, begin, begin + h},
		{"nothing but the status", w{Status: "rejected"}, begin, 0},
		{"a reset that has passed", w{Status: "rejected", Reset: epoch(begin - h)}, begin, begin - h},
		{"stamped already: no boundary is made", w{Status: "rejected", ObservedAtStatus: epoch(begin - 2*h), ObservedAt: epoch(begin - h), Reset: epoch(begin + h)}, begin - 2*h, 0},
		{"no status", w{HasUtilization: true, ObservedAt: epoch(begin - h), Reset: epoch(begin + h)}, 0, 0},
	}
	for _, tt := range tests {
		r := stored(five, tt.record)
		r.Migrate(epoch(begin))
		want := tt.record
		want.ObservedAtStatus, want.ResetAtStatus = time.Time{}, time.Time{}
		if tt.stamp != 0 {
			want.ObservedAtStatus = epoch(tt.stamp)
		}
		if tt.edge != 0 {
			want.ResetAtStatus = epoch(tt.edge)
		}
		if r.Windows[five] != want {
			t.Errorf("%s:\n%+v, want\n%+v", tt.name, r.Windows[five], want)
		}
	}
}

// QUO-35: an aggregate of version 2 ends with the first window, within a week of the start.
func TestMigrateAggregate(t *testing.T) {
	const five, seven, h, s = fiveHour, sevenDay, time.Hour, time.Second
	reset := func(five, seven time.Duration) quota.Record {
		var r quota.Record
		if five != 0 {
			r.Windows[fiveHour].Reset = epoch(five)
		}
		if seven != 0 {
			r.Windows[sevenDay].Reset = epoch(seven)
		}
		return aggregate(r, "rejected", -1)
	}
	tests := []struct {
		name   string
		record quota.Record
		start  time.Duration
		stamp  time.Duration // -1 = the aggregate has expired
	}{
		{"no reset", reset(0, 0), begin, begin},
		{"one reset", reset(begin+h, 0), begin, begin + h - week},
		{"the earliest of two", reset(begin+h, begin+2*h), begin, begin + h - week},
		{"the earliest of two, the other way", reset(begin+3*h, begin+2*h), begin, begin + 2*h - week},
		{"a second ahead", reset(begin+s, 0), begin, begin + s - week},
		{"now", reset(begin, 0), begin, -1},
		{"passed, another is ahead", reset(begin-h, begin+h), begin, -1},
		{"exactly a week ahead", reset(0, begin+week), begin, begin},
		{"more than a week ahead", reset(0, begin+week+s), begin, begin},
		{"beyond every calendar", reset(0, 292*365*24*h), begin, begin},
		{"never below 0", reset(week-h, 0), h, 0},
		{"passed, in the first week of all times", reset(h, 0), 2 * h, -1},
		{"stamped already", aggregate(reset(begin+h, 0), "rejected", begin-3*h), begin, begin - 3*h},
	}
	for _, tt := range tests {
		r := tt.record
		r.Migrate(epoch(tt.start))
		if (r.Status == "") != (tt.stamp < 0) || tt.stamp >= 0 && !r.ObservedAtStatus.Equal(epoch(tt.stamp)) {
			t.Errorf("%s: %q stamped %v, want %v", tt.name, r.Status, r.ObservedAtStatus, tt.stamp)
		}
	}

	// In the same import the reset that had passed goes with it, and nothing else does.
	r := reset(begin-h, begin+h)
	r.Migrate(epoch(begin))
	state := quota.Import(table, r, epoch(begin))
	_, was := state.Reset(five)
	_, is := state.Reset(seven)
	if was || !is || state.Aggregate() != "" {
		t.Errorf("after the import: reset of 5h %v, of 7d %v, aggregate %q", was, is, state.Aggregate())
	}
}

// QUO-33: times are whole seconds, and what has expired is not written.
func TestExport(t *testing.T) {
	h := newHistory()
	half := 500 * time.Millisecond
	sig := on(sevenDay, quota.WindowSignal{Utilization: 0.4, HasUtilization: true, Reset: at(time.Hour + half), Status: "allowed"})
	sig.Status = "allowed"
	h.record(half, sig)
	want := stored(sevenDay, quota.WindowRecord{
		Utilization: 0.4, HasUtilization: true, Reset: at(time.Hour), ObservedAt: start,
		Status: "allowed", ObservedAtStatus: start, ResetAtStatus: at(time.Hour),
	})
	want.Status, want.ObservedAtStatus = "allowed", start
	if got := h.state.Export(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if s := h.expired(2 * time.Hour); s.Export() != (quota.Record{}) {
		t.Errorf("after the reset: %+v", s.Export())
	}
}

// An account that ran out of its week serves again after the weekly reset, also in a process that starts after it: what is
// left of the aggregate that repeated the rejection must not become one that stood alone.
func TestRepeatedAggregateIsNotRevived(t *testing.T) {
	h := newHistory()
	h.record(0, merged("rejected", on(sevenDay, until(48*time.Hour, status("rejected")))))
	for _, saved := range []time.Duration{time.Hour, 48 * time.Hour} {
		s := h.expired(saved)
		if next := quota.Import(table, s.Export(), at(49*time.Hour)); next.Rejected(anyModel, soft) {
			t.Errorf("saved after %v: rejected", saved)
		}
	}
}
