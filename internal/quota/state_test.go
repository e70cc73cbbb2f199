package quota_test

import (
	"math"
	"testing"
	"time"

	"shunt/internal/quota"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const week = 7 * 24 * time.Hour

func at(d time.Duration) time.Time { return start.Add(d) }

// record records a signal at a time after the start; its request was sent a second before.
func (h *history) record(d time.Duration, sig quota.Signal) *history {
	h.state.Record(sig, at(d-time.Second), at(d))
	return h
}

func (h *history) expired(d time.Duration) quota.State {
	s := h.state
	s.Expire(at(d))
	return s
}

func on(w int, sig quota.WindowSignal) quota.Signal {
	var s quota.Signal
	s.Windows[w] = sig
	return s
}

func used(u float64) quota.WindowSignal {
	return quota.WindowSignal{Utilization: u, HasUtilization: true}
}

func status(text string) quota.WindowSignal { return quota.WindowSignal{Status: text} }

func resets(d time.Duration) quota.WindowSignal { return quota.WindowSignal{Reset: at(d)} }

func until(d time.Duration, sig quota.WindowSignal) quota.WindowSignal {
	sig.Reset = at(d)
	return sig
}

// view is all that can be read about one window; nil = unknown.
type view struct {
	used   any
	reset  any
	status string
}

func viewOf(s quota.State, w int) view {
	v := view{status: s.Status(w)}
	if u, ok := s.Utilization(w); ok {
		v.used = u
	}
	if r, ok := s.Reset(w); ok {
		v.reset = r.Sub(start)
	}
	return v
}

func expect(t *testing.T, what string, s quota.State, w int, want view) {
	t.Helper()
	if got := viewOf(s, w); got != want {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// QUO-2: a field that is absent or malformed leaves what is stored; more than 1 is kept.
func TestFieldsAreIndependent(t *testing.T) {
	full := quota.WindowSignal{Utilization: 0.4, HasUtilization: true, Reset: at(time.Hour), Status: "allowed"}
	tests := map[string]struct {
		sig  quota.WindowSignal
		want view
	}{
		"nothing":       {quota.WindowSignal{}, view{0.4, time.Hour, "allowed"}},
		"utilization":   {used(1.25), view{1.25, time.Hour, "allowed"}},
		"zero is known": {used(0), view{0.0, time.Hour, "allowed"}},
		"negative":      {used(-0.1), view{0.4, time.Hour, "allowed"}},
		"not a number":  {used(math.NaN()), view{0.4, time.Hour, "allowed"}},
		"infinite":      {used(math.Inf(1)), view{0.4, time.Hour, "allowed"}},
		"status":        {status("rejected"), view{0.4, time.Hour, "rejected"}},
		"reset":         {resets(2 * time.Hour), view{0.4, 2 * time.Hour, "allowed"}},
	}
	for name, tt := range tests {
		h := newHistory()
		h.record(0, on(fiveHour, full)).record(time.Second, on(fiveHour, tt.sig))
		expect(t, name, h.state, fiveHour, tt.want)
		expect(t, name+", other window", h.state, sevenDay, view{})
	}
}

// QUO-10 to QUO-12: how long each piece of knowledge lasts.
func TestLifetimes(t *testing.T) {
	const h = time.Hour
	tests := []struct {
		name   string
		window int
		sig    quota.WindowSignal
		after  time.Duration
		want   view
	}{
		{"QUO-10: before the reset", fiveHour, until(h, used(0.4)), h - 1, view{0.4, h, ""}},
		{"QUO-10: at the reset", fiveHour, until(h, used(0.4)), h, view{}},
		{"QUO-11: a reading without a reset, just alive", fiveHour, used(0.4), 5*h - 1, view{0.4, nil, ""}},
		{"QUO-11: a reading without a reset, over", fiveHour, used(0.4), 5 * h, view{}},
		{"QUO-11: a reading outlived by its reset", fiveHour, until(6*h, used(0.4)), 5 * h, view{nil, 6 * h, ""}},
		{"QUO-11: a weekly reading", sevenDay, used(0.4), week - 1, view{0.4, nil, ""}},
		{"QUO-11: a weekly reading, over", sevenDay, used(0.4), week, view{}},
		{"QUO-11: a Fable reading, over", fable, used(0.4), week, view{}},
		{"QUO-12: before the boundary", fiveHour, until(h, status("rejected")), h - 1, view{nil, h, "rejected"}},
		{"QUO-12: at the boundary", fiveHour, until(h, status("rejected")), h, view{}},
		{"QUO-12: no boundary", fiveHour, status("rejected"), 5*h - 1, view{nil, nil, "rejected"}},
		{"QUO-12: no boundary, over", fiveHour, status("rejected"), 5 * h, view{}},
		{"QUO-12: boundary beyond the length", fiveHour, until(9*h, status("rejected")), 5 * h, view{nil, 9 * h, ""}},
	}
	for _, tt := range tests {
		s := newHistory()
		s.record(0, on(tt.window, tt.sig))
		expect(t, tt.name, s.expired(tt.after), tt.window, tt.want)
	}
}

// QUO-12: the boundary of a status stays where it was when the status was written.
func TestBoundaryNeverMoves(t *testing.T) {
	const h = time.Hour
	later := newHistory()
	later.record(0, on(fiveHour, until(h, status("rejected")))).record(1, on(fiveHour, resets(3*h)))
	expect(t, "a later reset does not lengthen", later.expired(h), fiveHour, view{nil, 3 * h, ""})

	earlier := newHistory()
	earlier.record(0, on(fiveHour, until(3*h, status("rejected")))).record(1, on(fiveHour, until(h, used(0.2))))
	expect(t, "an earlier reset does not shorten", earlier.expired(h), fiveHour, view{nil, nil, "rejected"})

	none := newHistory()
	none.record(0, on(fiveHour, status("rejected"))).record(1, on(fiveHour, resets(h)))
	expect(t, "a later reset is not a boundary", none.expired(h), fiveHour, view{nil, nil, "rejected"})
}

// QUO-15: a response without a reset falls back on the stored one only while that is ahead.
func TestResetOfAResponse(t *testing.T) {
	const h = time.Hour
	ahead := newHistory()
	ahead.record(0, on(fiveHour, resets(h))).record(h/2, on(fiveHour, status("rejected")))
	expect(t, "the stored reset is the boundary", ahead.expired(h), fiveHour, view{})

	over := newHistory()
	over.record(0, on(fiveHour, resets(h))).record(h, on(fiveHour, used(0.1)))
	expect(t, "a reset that has passed is dropped", over.state, fiveHour, view{0.1, nil, ""})
}

// QUO-14: a write expires first, so that what is out of date is not revived by it.
func TestRecordExpires(t *testing.T) {
	h := newHistory()
	h.record(0, on(fiveHour, until(time.Hour, used(0.9)))).record(2*time.Hour, on(fiveHour, resets(5*time.Hour)))
	expect(t, "after the reset", h.state, fiveHour, view{nil, 5 * time.Hour, ""})
}

// QUO-13: the aggregate is valid for a week from its stamp, independent of its windows.
func TestAggregateLifetime(t *testing.T) {
	h := newHistory()
	sig := on(fiveHour, until(time.Hour, used(0.4)))
	sig.Status = "rejected"
	h.record(0, sig)
	for after, want := range map[time.Duration]string{2 * time.Hour: "rejected", week - 1: "rejected", week: ""} {
		s := h.expired(after)
		if got := s.Aggregate(); got != want {
			t.Errorf("after %v: %q, want %q", after, got, want)
		}
	}
}

// SEL-9: an account is unseen if nothing was ever observed, or if all has expired.
func TestUnseen(t *testing.T) {
	h := newHistory()
	if h.record(0, quota.Signal{}); !h.state.Unseen() {
		t.Error("a response without quota headers is not an observation")
	}
	h.record(0, quota.Signal{Status: "allowed"})
	h.record(0, on(fable, resets(time.Hour)))
	if h.state.Unseen() {
		t.Error("an observed account is not unseen")
	}
	if s := h.expired(time.Hour); s.Unseen() {
		t.Error("the aggregate is still known")
	}
	if s := h.expired(week); !s.Unseen() {
		t.Error("everything has expired")
	}
}

// A clock that steps back clears nothing.
func TestClockStepsBack(t *testing.T) {
	h := newHistory()
	h.record(0, on(fiveHour, until(time.Hour, used(0.4))))
	expect(t, "an hour earlier", h.expired(-time.Hour), fiveHour, view{0.4, time.Hour, ""})
}

// FO-13: ClearRejections clears every rejected status and nothing else, and a later rejection counts again.
func TestClearRejections(t *testing.T) {
	s := quota.NewState(table)
	sig := merged(
		"rejected", on(fiveHour, until(time.Hour, quota.WindowSignal{Utilization: 0.5, HasUtilization: true, Status: "rejected"})),
		on(sevenDay, until(48*time.Hour, quota.WindowSignal{Utilization: 0.2, HasUtilization: true, Status: "allowed"})),
		on(fable, status("rejected")),
	)
	s.Record(sig, at(-time.Second), at(0))
	s.ClearRejections()
	if s.Rejected(fableOnly, soft) || s.Aggregate() != "" {
		t.Errorf("still rejected; aggregate %q", s.Aggregate())
	}
	expect(t, "5h", s, fiveHour, view{0.5, time.Hour, ""})
	expect(t, "7d", s, sevenDay, view{0.2, 48 * time.Hour, "allowed"})
	s.Record(sig, at(1), at(2))
	if !s.Rejected(anyModel, soft) {
		t.Error("the next rejection does not count")
	}
	s = quota.NewState(table)
	s.Record(quota.Signal{Status: "rejected"}, at(0), at(0))
	s.ClearRejections()
	if !s.Unseen() {
		t.Error("an aggregate that stood alone is still known")
	}
}
