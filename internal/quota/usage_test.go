package quota_test

import (
	"math"
	"testing"
	"time"

	"shunt/internal/quota"
)

// poll records a response of the usage endpoint to a request that was sent a second before.
func (h *history) poll(d time.Duration, w int, u quota.WindowUsage) *history {
	var all quota.Usage
	all.Windows[w] = u
	h.state.RecordUsage(all, at(d-time.Second), at(d))
	return h
}

// QUO-23: what a usage update writes, and what it leaves.
func TestUsageUpdate(t *testing.T) {
	const five, hour = fiveHour, time.Hour
	full := quota.WindowSignal{Utilization: 0.4, HasUtilization: true, Reset: at(2 * hour), Status: "rejected"}
	percent := func(u float64) quota.WindowUsage { return quota.WindowUsage{Utilization: u, Has: true} }
	tests := []struct {
		name   string
		stored quota.WindowSignal
		usage  quota.WindowUsage
		after  time.Duration
		want   view
	}{
		{"a reading and its reset", full, quota.WindowUsage{Utilization: 0.5, Has: true, Reset: at(3 * hour)}, hour, view{0.5, 3 * hour, "rejected"}},
		{"no reset: the stored one, still ahead", full, percent(0.5), hour, view{0.5, 2 * hour, "rejected"}},
		{"no reset, the stored one has passed", full, percent(0.5), 2 * hour, view{0.5, nil, ""}},
		{"nothing stored", quota.WindowSignal{}, percent(0.5), hour, view{0.5, nil, ""}},
		{"zero is known", full, percent(0), hour, view{0.0, 2 * hour, "rejected"}},
		{"more than all", full, percent(1.5), hour, view{1.5, 2 * hour, "rejected"}},
		{"a window that is not in the response", full, quota.WindowUsage{Reset: at(3 * hour)}, hour, view{0.4, 2 * hour, "rejected"}},
		{"a negative number", full, percent(-1), hour, view{0.4, 2 * hour, "rejected"}},
		{"no number", full, percent(math.NaN()), hour, view{0.4, 2 * hour, "rejected"}},
	}
	for _, tt := range tests {
		h := newHistory()
		h.record(0, on(five, tt.stored)).poll(tt.after, five, tt.usage)
		expect(t, tt.name, h.state, five, tt.want)
		expect(t, tt.name+", other window", h.state, sevenDay, view{})
	}
}

// QUO-11, QUO-23: an update renews the reading's age, and no status's.
func TestUsageUpdateStamps(t *testing.T) {
	const five, hour = fiveHour, time.Hour
	h := newHistory()
	h.record(0, on(five, quota.WindowSignal{Utilization: 0.4, HasUtilization: true, Status: "allowed"}))
	h.poll(3*hour, five, quota.WindowUsage{Utilization: 0.5, Has: true})
	expect(t, "the status is out of date", h.expired(5*hour), five, view{0.5, nil, ""})
	expect(t, "the reading is not yet", h.expired(8*hour-1), five, view{0.5, nil, ""})
	expect(t, "now it is", h.expired(8*hour), five, view{})
}

// QUO-12, QUO-23: an update never moves the boundary that a status captured.
func TestUsageUpdateLeavesBoundaries(t *testing.T) {
	const five, hour = fiveHour, time.Hour
	h := newHistory()
	h.record(0, on(five, until(hour, status("rejected"))))
	h.poll(1, five, quota.WindowUsage{Utilization: 0.9, Has: true, Reset: at(4 * hour)})
	expect(t, "at the boundary", h.expired(hour), five, view{0.9, 4 * hour, ""})

	none := newHistory()
	none.record(0, on(five, status("rejected")))
	none.poll(1, five, quota.WindowUsage{Utilization: 0.9, Has: true, Reset: at(hour)})
	expect(t, "a status without one gets none", none.expired(hour), five, view{nil, nil, "rejected"})
}

// FO-12: a poll that was sent after a rejection came, and reads below the soft threshold, outranks it.
func TestUsageOutranksRejection(t *testing.T) {
	for sent, rejected := range map[time.Duration]bool{-1: true, 0: true, 1: false} {
		s := quota.NewState(table)
		s.Record(on(fiveHour, until(4*time.Hour, status("rejected"))), at(-time.Second), at(0))
		var u quota.Usage
		u.Windows[fiveHour] = quota.WindowUsage{Utilization: 0.3, Has: true}
		s.RecordUsage(u, at(sent), at(time.Minute))
		if got := s.Rejected(anyModel, soft); got != rejected {
			t.Errorf("sent %v after it: rejected = %v", sent, got)
		}
	}
}
