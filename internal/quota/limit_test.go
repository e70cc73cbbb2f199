package quota_test

import (
	"testing"
	"time"

	"shunt/internal/quota"
)

var soft = quota.Thresholds{0.8, 0.8, 0.8}

// merged puts the windows of several signals into one.
func merged(aggregate string, parts ...quota.Signal) quota.Signal {
	sig := quota.Signal{Status: aggregate}
	for _, p := range parts {
		for w, ws := range p.Windows {
			if ws != (quota.WindowSignal{}) {
				sig.Windows[w] = ws
			}
		}
	}
	return sig
}

// SEL-5, QUO-4: which statuses reject which requests, utilization or not.
func TestRejected(t *testing.T) {
	const five, seven = fiveHour, sevenDay
	tests := []struct {
		name          string
		sig           quota.Signal
		other, scoped bool
	}{
		{"nothing", quota.Signal{}, false, false},
		{"5h", on(five, status("rejected")), true, true},
		{"7d", on(seven, status("rejected")), true, true},
		{"fable", on(fable, status("rejected")), false, true},
		{"another word", on(five, status("Rejected")), false, false},
		{"a warning", on(five, status("allowed_warning")), false, false},
		{"aggregate alone", merged("rejected"), true, true},
		{"aggregate beside a status", merged("rejected", on(seven, status("allowed"))), false, false},
		{"aggregate beside a Fable status", merged("rejected", on(fable, status("rejected"))), false, true},
		{"aggregate beside a utilization", merged("rejected", on(five, used(0.1))), true, true},
	}
	for _, tt := range tests {
		h := newHistory()
		h.record(0, tt.sig)
		if got := h.state.Rejected(anyModel, soft); got != tt.other {
			t.Errorf("%s: rejected = %v for another model", tt.name, got)
		}
		if got := h.state.Rejected(fableOnly, soft); got != tt.scoped {
			t.Errorf("%s: rejected = %v for a Fable request", tt.name, got)
		}
	}
}

// SEL-5, QUO-13: an aggregate that only repeated the windows' statuses ends with them; one that was the only status outlives
// windows without one.
func TestAggregateEndsWithItsWindows(t *testing.T) {
	repeated := newHistory()
	repeated.record(0, merged("rejected", on(sevenDay, until(48*time.Hour, status("rejected")))))
	if s := repeated.expired(48 * time.Hour); s.Rejected(anyModel, soft) || s.Aggregate() != "rejected" {
		t.Error("after the weekly reset the account serves again, though the aggregate is still stored")
	}
	alone := newHistory()
	alone.record(0, merged("rejected", on(fiveHour, until(time.Hour, used(0.3)))))
	if s := alone.expired(time.Hour); !s.Rejected(anyModel, soft) {
		t.Error("an aggregate that stood alone still counts")
	}
}

// SEL-5: an aggregate that stood alone does not count while a window has a status.
func TestWindowStatusMasksAggregate(t *testing.T) {
	h := newHistory()
	h.record(0, merged("rejected")).record(1, on(fiveHour, until(time.Hour, status("allowed"))))
	if h.state.Rejected(anyModel, soft) {
		t.Error("the window's status is the newer and the closer word")
	}
	if s := h.expired(time.Hour); !s.Rejected(anyModel, soft) {
		t.Error("QUO-13: it counts again when the window's status has expired")
	}
}

// SEL-6, SEL-7: at or above the threshold of a governing window.
func TestNearAndOverHard(t *testing.T) {
	const five, seven = fiveHour, sevenDay
	tests := []struct {
		name       string
		sig        quota.Signal
		scope      quota.Scope
		near, hard bool
	}{
		{"nothing", quota.Signal{}, anyModel, false, false},
		{"below", on(five, used(0.79)), anyModel, false, false},
		{"at the soft threshold", on(five, used(0.8)), anyModel, true, false},
		{"at the hard threshold", on(five, used(0.98)), anyModel, true, true},
		{"weekly", on(seven, used(0.9)), anyModel, true, false},
		{"Fable's window, another model", on(fable, used(1)), anyModel, false, false},
		{"Fable's window", on(fable, used(1)), fableOnly, true, true},
		{"weekly, Fable known", merged("", on(seven, used(1)), on(fable, used(0.1))), fableOnly, false, false},
		{"rejected without a utilization", on(seven, status("rejected")), anyModel, true, true},
	}
	for _, tt := range tests {
		h := newHistory()
		h.record(0, tt.sig)
		near, hard := h.state.Near(tt.scope, soft), h.state.OverHard(tt.scope, soft, quota.DefaultHard)
		if near != tt.near || hard != tt.hard {
			t.Errorf("%s: near %v over hard %v", tt.name, near, hard)
		}
	}
}

// FO-12: a reading of a request that was sent after the rejection came, and that is below the soft threshold, outranks
// the rejection, which stays stored.
func TestNewerReadingOutranksRejection(t *testing.T) {
	five := on(fiveHour, until(4*time.Hour, status("rejected")))
	both := merged("rejected", five, on(sevenDay, until(48*time.Hour, status("rejected"))))
	aggregate := merged("rejected", on(fiveHour, used(1)), on(sevenDay, used(0.5)))
	low5, low7 := on(fiveHour, used(0.79)), on(sevenDay, used(0.1))
	tests := []struct {
		name      string
		rejection quota.Signal
		reading   quota.Signal
		sent      time.Duration // after the rejection was received
		rejected  bool
	}{
		{"newer and low", five, low5, 1, false},
		{"sent before it came", five, low5, -1, true},
		{"sent in the same instant", five, low5, 0, true},
		{"not low", five, on(fiveHour, used(0.8)), 1, true},
		{"another window", five, low7, 1, true},
		{"one of two", both, low5, 1, true},
		{"both", both, merged("", low5, low7), 1, false},
		{"aggregate, one of two reported", aggregate, low5, 1, true},
		{"aggregate, all reported", aggregate, merged("", low5, low7), 1, false},
		{"aggregate, nothing reported", merged("rejected"), quota.Signal{}, 1, true},
	}
	for _, tt := range tests {
		s := quota.NewState(table)
		s.Record(tt.rejection, at(-time.Second), at(0))
		if !s.Rejected(anyModel, soft) {
			t.Fatalf("%s: not rejected to begin with", tt.name)
		}
		s.Record(tt.reading, at(tt.sent), at(time.Minute))
		if got := s.Rejected(anyModel, soft); got != tt.rejected {
			t.Errorf("%s: rejected = %v", tt.name, got)
		}
		if w := fiveHour; s.Status(w) != tt.rejection.Windows[w].Status || s.Aggregate() != tt.rejection.Status {
			t.Errorf("%s: the stored verdict changed to %q, %q", tt.name, s.Status(w), s.Aggregate())
		}
	}
}

// FO-12: a refusal after the reading is newer and counts again.
func TestNextRejectionCountsAgain(t *testing.T) {
	s := quota.NewState(table)
	rejection := on(fiveHour, until(4*time.Hour, status("rejected")))
	s.Record(rejection, at(-time.Second), at(0))
	s.Record(on(fiveHour, used(0.2)), at(1), at(time.Minute))
	s.Record(rejection, at(time.Minute), at(2*time.Minute))
	if !s.Rejected(anyModel, soft) {
		t.Error("the newer rejection does not count")
	}
}

// FO-12: how long a rejection can last at most.
func TestRelief(t *testing.T) {
	s := quota.NewState(table)
	s.Record(merged("", on(fiveHour, resets(time.Hour)), on(sevenDay, resets(48*time.Hour))), at(0), at(0))
	tests := []struct {
		name  string
		named quota.Set
		now   time.Duration
		want  any
	}{
		{"one window", quota.Of(fiveHour), 0, time.Hour},
		{"the later of two", quota.Of(fiveHour, sevenDay), 0, 48 * time.Hour},
		{"an unknown reset", quota.Of(fable), 0, nil},
		{"one of them unknown", quota.Of(fiveHour, fable), 0, nil},
		{"passed", quota.Of(fiveHour), time.Hour, nil},
		{"the aggregate", 0, 0, 48 * time.Hour},
	}
	for _, tt := range tests {
		var got any
		if r, ok := s.Relief(tt.named, at(tt.now)); ok {
			got = r.Sub(start)
		}
		if got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	unseen := quota.NewState(table)
	if _, ok := unseen.Relief(0, at(0)); ok {
		t.Error("no reset is known")
	}
}

// QUO-1: the aggregate's own reset bounds a rejection by the aggregate alone, and nothing else.
func TestAggregateReset(t *testing.T) {
	week := on(sevenDay, resets(48*time.Hour))
	alone := merged("rejected", week)
	alone.Reset = at(time.Hour)
	s := quota.NewState(table)
	s.Record(alone, at(0), at(0))
	if r, ok := s.Relief(0, at(0)); !ok || !r.Equal(at(time.Hour)) {
		t.Errorf("relief at %v, %v", r, ok)
	}
	if r, ok := s.Relief(quota.Of(sevenDay), at(0)); !ok || !r.Equal(at(48*time.Hour)) {
		t.Errorf("relief of the week at %v, %v", r, ok)
	}
	for after, want := range map[time.Duration]bool{time.Hour - 1: true, time.Hour: false} {
		expired := s
		expired.Expire(at(after))
		if got := expired.Rejected(anyModel, soft); got != want {
			t.Errorf("rejected after %v: %v", after, got)
		}
		if r, ok := expired.Reset(sevenDay); !ok || !r.Equal(at(48*time.Hour)) {
			t.Errorf("after %v the week resets at %v, %v", after, r, ok)
		}
	}

	byWindow := merged("rejected", on(sevenDay, until(48*time.Hour, status("rejected"))))
	allowed := merged("allowed", week)
	for name, sig := range map[string]quota.Signal{"a rejection by window": byWindow, "no rejection": allowed} {
		sig.Reset = at(time.Hour)
		s := quota.NewState(table)
		s.Record(sig, at(0), at(0))
		s.Expire(at(2 * time.Hour))
		if s.Aggregate() != sig.Status {
			t.Errorf("%s: aggregate %q", name, s.Aggregate())
		}
		if r, ok := s.Relief(0, at(2*time.Hour)); !ok || !r.Equal(at(48*time.Hour)) {
			t.Errorf("%s: relief at %v, %v", name, r, ok)
		}
	}

	passed := quota.Signal{Status: "rejected", Reset: at(-time.Second)}
	s = quota.NewState(table)
	s.Record(passed, at(0), at(0))
	if s.Expire(at(time.Hour)); !s.Rejected(anyModel, soft) {
		t.Error("a reset that has passed still counts")
	}
}

func TestSignalNamesItsRejections(t *testing.T) {
	sig := merged("rejected", on(fiveHour, status("allowed")), on(fable, status("rejected")))
	if got := sig.Rejected(); got != quota.Of(fable) {
		t.Errorf("got %b", got)
	}
}
