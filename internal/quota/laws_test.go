package quota_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"shunt/internal/quota"
)

// moment is a time within ten days of the start, coarse enough for times to coincide.
func moment(t *rapid.T, label string) time.Time {
	return at(time.Duration(rapid.IntRange(-48, 240).Draw(t, label)) * time.Hour)
}

func signal(t *rapid.T) quota.Signal {
	var sig quota.Signal
	statuses := rapid.SampledFrom([]string{"", "allowed", "rejected"})
	for w := range sig.Windows {
		ws := &sig.Windows[w]
		ws.Status = statuses.Draw(t, "status")
		if ws.HasUtilization = rapid.Bool().Draw(t, "has utilization"); ws.HasUtilization {
			ws.Utilization = rapid.SampledFrom([]float64{0, 0.2, 0.5, 0.8, 0.98, 1.1}).Draw(t, "utilization")
		}
		if rapid.Bool().Draw(t, "has reset") {
			ws.Reset = moment(t, "reset")
		}
	}
	sig.Status = statuses.Draw(t, "aggregate")
	if rapid.Bool().Draw(t, "has aggregate reset") {
		sig.Reset = moment(t, "aggregate reset")
	}
	return sig
}

func anyScope(t *rapid.T) quota.Scope {
	return rapid.SampledFrom([]quota.Scope{anyModel, fableOnly}).Draw(t, "scope")
}

// anyState returns the state after some history of responses. The clock may have stepped back in between.
func anyState(t *rapid.T) quota.State {
	s := quota.NewState(table)
	for range rapid.IntRange(0, 4).Draw(t, "responses") {
		s.Record(signal(t), moment(t, "sent"), moment(t, "received"))
	}
	return s
}

// QUO-14: expiring twice is expiring once, and expiring on the way changes nothing.
func TestLawExpiry(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyState(t)
		early, late := moment(t, "early"), moment(t, "late")
		if late.Before(early) {
			early, late = late, early
		}
		once, twice, onTheWay := s, s, s
		once.Expire(late)
		twice.Expire(late)
		twice.Expire(late)
		onTheWay.Expire(early)
		onTheWay.Expire(late)
		if once != twice {
			t.Fatalf("not idempotent:\n%+v\n%+v", once, twice)
		}
		if once != onTheWay {
			t.Fatalf("expiry at %v shows at %v:\n%+v\n%+v", early, late, once, onTheWay)
		}
	})
}

// QUO-14: nothing that is out of date can be read after expiry.
func TestLawNothingStaleIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := anyState(t), moment(t, "now")
		s.Expire(now)
		for w := range quota.MaxWindows {
			if r, ok := s.Reset(w); ok && !r.After(now) {
				t.Fatalf("%v resets at %v, now %v", w, r, now)
			}
		}
	})
}

// QUO-2: a response without quota headers changes nothing.
func TestLawEmptySignalChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expired, now := anyState(t), moment(t, "now")
		expired.Expire(now)
		recorded := expired
		recorded.Record(quota.Signal{}, now, now)
		if recorded != expired {
			t.Fatalf("%+v became %+v", expired, recorded)
		}
	})
}

// SEL-6, SEL-7: rejected is over hard is near, and raising thresholds never takes an account nearer to its quota.
func TestLawGroups(t *testing.T) {
	fraction := rapid.Float64Range(0, quota.DefaultHard)
	rapid.Check(t, func(t *rapid.T) {
		s, now, scope := anyState(t), moment(t, "now"), anyScope(t)
		s.Expire(now)
		var low, high quota.Thresholds
		for w := range low {
			a, b := fraction.Draw(t, "a"), fraction.Draw(t, "b")
			low[w], high[w] = min(a, b), max(a, b)
		}
		rejected, hard, near := s.Rejected(scope, low), s.OverHard(scope, low, quota.DefaultHard), s.Near(scope, low)
		if rejected && !hard || hard && !near {
			t.Fatalf("rejected %v, over hard %v, near %v", rejected, hard, near)
		}
		if s.Near(scope, high) && !near {
			t.Fatalf("near at %v but not at %v", high, low)
		}
		if s.OverHard(scope, high, quota.DefaultHard) && !hard {
			t.Fatalf("over hard at %v but not at %v", high, low)
		}
	})
}
