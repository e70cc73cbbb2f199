package pool

import (
	"testing"
	"time"

	"shunt/internal/quota"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return noon.Add(d) }

var soft = quota.Thresholds{0.8, 0.8, 0.8}

// step is an outcome and when it became known, after noon.
type step struct {
	at time.Duration
	Outcome
}

func fail(when time.Duration, e Event, cooldown time.Duration) step {
	return step{when, Outcome{Sent: at(when - time.Second), Event: e, Cooldown: cooldown}}
}

func failFable(cooldown time.Duration) step {
	s := fail(0, ScopeRejected, cooldown)
	s.RejectedScope = Fable
	return s
}

func succeed(when, sent time.Duration, scope quota.Scope) step {
	return step{when, Outcome{Sent: at(sent), Event: Success, Scope: scope}}
}

// saying adds quota headers to a step.
func (s step) saying(parts ...quota.Signal) step {
	for _, p := range parts {
		for w, ws := range p.Windows {
			if ws != (quota.WindowSignal{}) {
				s.Signal.Windows[w] = ws
			}
		}
	}
	return s
}

func rejects(w int, reset time.Duration) quota.Signal {
	var sig quota.Signal
	sig.Windows[w] = quota.WindowSignal{Status: "rejected"}
	if reset != 0 {
		sig.Windows[w].Reset = at(reset)
	}
	return sig
}

func uses(w int, u float64) quota.Signal {
	var sig quota.Signal
	sig.Windows[w] = quota.WindowSignal{Utilization: u, HasUtilization: true}
	return sig
}

// reading is a response with a reading of one window and nothing else.
func reading(when, sent time.Duration, w int, u float64) step {
	return step{when, Outcome{Sent: at(sent), Signal: uses(w, u)}}
}

// SEL-8, FO-2, FO-3, FO-12: an identity's cooldown after a history of outcomes.
func TestCooldowns(t *testing.T) {
	const s, m, h = time.Second, time.Minute, time.Hour
	const five, seven, fable = FiveHour, SevenDay, FableWeek
	aggregate := fail(0, Rejected, m).saying(uses(five, 1), uses(seven, 0.5))
	aggregate.Signal.Status = "rejected"
	tests := []struct {
		name  string
		steps []step
		until time.Duration // for a request of another model, after noon; 0 = no cooldown
		fable time.Duration // for a Fable request
		cause Event         // of the former
	}{
		{"SEL-9: nothing happened", nil, 0, 0, None},
		{"a response that is not about the account", []step{fail(0, None, m)}, 0, 0, None},
		{"a server error", []step{fail(0, ServerError, 30*s)}, 30 * s, 30 * s, ServerError},
		{"SEL-8: a Fable rejection", []step{failFable(m).saying(rejects(fable, 0))}, 0, m, None},
		{
			"SEL-8: the later of two for Fable",
			[]step{failFable(m).saying(rejects(fable, 0)), fail(0, ServerError, 30*s)},
			30 * s, m, ServerError,
		},
		{"FO-3: a shorter one after it", []step{fail(0, ServerError, 30*s), fail(s, Overloaded, 5*s)}, 30 * s, 30 * s, ServerError},
		{"FO-3: a longer one after it", []step{fail(0, Overloaded, 5*s), fail(s, ServerError, 30*s)}, 31 * s, 31 * s, ServerError},
		{"FO-3: of another kind", []step{fail(0, Unauthorized, 300*s), fail(s, Overloaded, 5*s)}, 300 * s, 300 * s, Unauthorized},
		{"one after it is over", []step{fail(0, ServerError, 30*s), fail(30*s, Overloaded, 5*s)}, 35 * s, 35 * s, Overloaded},

		{"FO-2: a later request's success", []step{fail(0, Rejected, h), succeed(2*s, s, NoScope)}, 0, 0, None},
		{"FO-2: an earlier request's success", []step{fail(2*s, Rejected, m), succeed(3*s, s, NoScope)}, m + 2*s, m + 2*s, Rejected},
		{"FO-2: sent in the same instant", []step{fail(2*s, Rejected, m), succeed(3*s, 2*s, NoScope)}, m + 2*s, m + 2*s, Rejected},
		{
			"FO-2: sent between two",
			[]step{fail(0, ServerError, 30*s), fail(2*s, Overloaded, 5*s), succeed(3*s, s, NoScope)},
			30 * s, 30 * s, ServerError,
		},
		{
			"FO-2: sent between two of different kinds",
			[]step{fail(0, Rejected, m), fail(2*s, Overloaded, 5*s), succeed(3*s, s, NoScope)},
			7 * s, 7 * s, Overloaded,
		},
		{"FO-2: another model's success", []step{failFable(m), succeed(2*s, s, NoScope)}, 0, m, None},
		{"FO-2: a Fable success", []step{failFable(m), succeed(2*s, s, Fable)}, 0, 0, None},
		{"FO-2: a Fable success ends the account's too", []step{fail(0, ServerError, 30*s), succeed(2*s, s, Fable)}, 0, 0, None},

		{"FO-12: not past the reset", []step{fail(0, Rejected, h).saying(rejects(five, 10*s))}, 10 * s, 10 * s, Rejected},
		{"FO-12: not past a sub-second reset", []step{fail(0, Rejected, h).saying(rejects(five, 1500*time.Millisecond))}, 1500 * time.Millisecond, 1500 * time.Millisecond, Rejected},
		{"FO-12: the last of two resets", []step{fail(0, Rejected, h).saying(rejects(five, 10*s), rejects(seven, 20*s))}, 20 * s, 20 * s, Rejected},
		{"FO-12: one of two resets unknown", []step{fail(0, Rejected, m).saying(rejects(five, 10*s), rejects(seven, 0))}, m, m, Rejected},
		{"FO-12: Fable's reset", []step{failFable(h).saying(rejects(fable, 10*s))}, 0, 10 * s, None},
		{"FO-12: a reset that has passed does not count", []step{fail(0, Rejected, m).saying(rejects(five, -s))}, m, m, Rejected},
		{
			"FO-12: a throttle has no window",
			[]step{{0, Outcome{Signal: quota.Signal{Windows: [3]quota.WindowSignal{{Reset: at(s), Status: "allowed"}}}, Event: Throttled, Cooldown: m}}},
			m, m, Throttled,
		},
		{"FO-12: a newer reading", []step{fail(0, Rejected, m).saying(rejects(five, 0)), reading(9*s, s, five, 0.7)}, 0, 0, None},
		{"FO-12: a reading whose request was sent before", []step{fail(0, Rejected, m).saying(rejects(five, 0)), reading(9*s, -s, five, 0.7)}, m, m, Rejected},
		{"FO-12: a reading at the threshold", []step{fail(0, Rejected, m).saying(rejects(five, 0)), reading(9*s, s, five, 0.8)}, m, m, Rejected},
		{"FO-12: a reading of another window", []step{fail(0, Rejected, m).saying(rejects(five, 0)), reading(9*s, s, seven, 0.1)}, m, m, Rejected},
		{"FO-12: a reading of Fable's", []step{failFable(m).saying(rejects(fable, 0)), reading(9*s, s, fable, 0.1)}, 0, 0, None},
		{
			"FO-12: what has ended stays ended",
			[]step{fail(0, Rejected, m).saying(rejects(five, 0)), reading(9*s, s, five, 0.7), reading(10*s, 9*s, five, 0.9)},
			0, 0, None,
		},
		{
			"FO-12: a reading ends no other kind",
			[]step{fail(0, Rejected, m).saying(rejects(five, 0)), fail(0, ServerError, 30*s), reading(9*s, s, five, 0.7)},
			30 * s, 30 * s, ServerError,
		},
		{
			"FO-12: two rejections need both readings",
			[]step{fail(0, Rejected, m).saying(rejects(five, 0)), fail(0, Rejected, m).saying(rejects(seven, 0)), reading(9*s, s, five, 0.7)},
			m, m, Rejected,
		},
		{
			"FO-12: two rejections and the other reading",
			[]step{fail(0, Rejected, m).saying(rejects(five, 0)), fail(0, Rejected, m).saying(rejects(seven, 0)), reading(9*s, s, seven, 0.7)},
			m, m, Rejected,
		},
		{
			"FO-12: both readings",
			[]step{
				fail(0, Rejected, m).saying(rejects(five, 0)), fail(0, Rejected, m).saying(rejects(seven, 0)),
				reading(9*s, s, five, 0.7), reading(10*s, s, seven, 0.7),
			},
			0, 0, None,
		},
		{"FO-12: an aggregate and one reading", []step{aggregate, reading(9*s, s, five, 0.1)}, m, m, Rejected},
		{"FO-12: an aggregate and all readings", []step{aggregate, reading(9*s, s, five, 0.1), reading(9*s, s, seven, 0.1)}, 0, 0, None},
		{
			"FO-12: an aggregate and a window need all readings",
			[]step{aggregate, fail(0, Rejected, m).saying(rejects(five, 0)), reading(9*s, s, five, 0.1)},
			m, m, Rejected,
		},
		{"QUO-5: a 529's reset does not shorten", []step{fail(0, Overloaded, 5*s).saying(rejects(five, s))}, 5 * s, 5 * s, Overloaded},
	}
	for _, tt := range tests {
		h := *newHealth()
		now := at(0)
		for _, s := range tt.steps {
			now = at(s.at)
			h = Observe(h, s.Outcome, soft, now)
		}
		for scope, want := range map[quota.Scope]time.Duration{NoScope: tt.until, Fable: tt.fable} {
			until, cause := h.CooledUntil(scope, now)
			if got := max(0, until.Sub(noon)); got != want {
				t.Errorf("%s (scope %q): cooled until +%v, want +%v", tt.name, scope, got, want)
			}
			if scope == NoScope && cause.Event != tt.cause {
				t.Errorf("%s: cause %v, want %v", tt.name, cause, tt.cause)
			}
		}
		if until, _ := h.CooledUntil(NoScope, at(tt.until)); !until.IsZero() {
			t.Errorf("%s: still cooled when it is over", tt.name)
		}
	}
}

// QUO-5, SEL-3: the headers of every outcome are recorded, for any event.
func TestHeadersAreAlwaysRecorded(t *testing.T) {
	for e := None; e <= LoginNeeded; e++ {
		h := Observe(*newHealth(), fail(0, e, time.Second).saying(uses(FiveHour, 0.3)).Outcome, soft, at(0))
		if u, ok := h.Quota.Utilization(FiveHour); !ok || u != 0.3 {
			t.Errorf("%v: utilization %v, %v", e, u, ok)
		}
	}
}

// TOK-7: a changed credential ends what the old one caused, and nothing else. A later response to a request with the old one does
// not count.
func TestChangedCredential(t *testing.T) {
	for e := Success + 1; e <= LoginNeeded; e++ {
		ofCredential := e == Unauthorized || e == Forbidden || e == Unresolved || e == LoginNeeded
		h := Observe(*newHealth(), fail(0, e, time.Minute).Outcome, soft, at(0))
		h.credentialChanged(at(10 * time.Second))
		if until, _ := h.CooledUntil(Fable, at(10*time.Second)); until.IsZero() != ofCredential {
			t.Errorf("%v: cooled until %v", e, until)
		}
		for sent, cools := range map[time.Duration]bool{9 * time.Second: !ofCredential, 10 * time.Second: true, 11 * time.Second: true} {
			h := *newHealth()
			h.credentialChanged(at(10 * time.Second))
			h = Observe(h, Outcome{Sent: at(sent), Event: e, Cooldown: time.Minute}, soft, at(20*time.Second))
			if until, _ := h.CooledUntil(Fable, at(20*time.Second)); until.IsZero() == cools {
				t.Errorf("%v of a request sent at %v: cooled until %v", e, sent, until)
			}
		}
	}
}
