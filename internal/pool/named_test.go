package pool_test

import (
	"testing"
	"time"

	"shunt/internal/pool"
	"shunt/internal/quota"
)

// FO-12, GPT-7: a rejection without statuses is about the windows that its observer names. It ends with the last of their resets,
// and when newer readings of these windows refute it, whatever the others are.
func TestNamedWindows(t *testing.T) {
	table := quota.NewTable(quota.Window{Name: "short", Length: 5 * time.Hour}, quota.Window{Name: "long", Length: 168 * time.Hour})
	soft := quota.Uniform(0.9)
	start := time.Unix(1_800_000_000, 0)
	used := func(short, long float64) (s quota.Signal) {
		s.Windows[0] = quota.WindowSignal{Utilization: short, HasUtilization: true, ResetIn: time.Hour}
		s.Windows[1] = quota.WindowSignal{Utilization: long, HasUtilization: true, ResetIn: 100 * time.Hour}
		return s
	}
	for _, c := range []struct {
		name  string
		named quota.Set
		ends  time.Duration // of the cooldown
		after quota.Signal  // a reading a minute later
		over  bool          // the reading ends it
	}{
		{"short", quota.Of(0), time.Hour, used(0.1, 0.95), true},
		{"short, still full", quota.Of(0), time.Hour, used(1, 0.1), false},
		{"both", quota.Of(0, 1), 48 * time.Hour, used(0.1, 0.95), false},
		{"none", 0, 48 * time.Hour, used(0.1, 0.95), false},
		{"none, all below", 0, 48 * time.Hour, used(0.1, 0.1), true},
	} {
		h := pool.Observe(pool.NewHealth(table), pool.Outcome{
			Sent: start, Signal: used(1, 0.95), Event: pool.Rejected, Named: c.named, Cooldown: 48 * time.Hour,
		}, soft, start)
		if until, cause := h.CooledUntil("", start); !until.Equal(start.Add(c.ends)) || cause.Event != pool.Rejected {
			t.Errorf("%s: cools down for %v because of %v", c.name, until.Sub(start), cause)
		}
		later := start.Add(time.Minute)
		h = pool.Observe(h, pool.Outcome{Sent: later, Signal: c.after}, soft, later)
		if until, _ := h.CooledUntil("", later); until.IsZero() != c.over {
			t.Errorf("%s: afterwards it cools down until %v", c.name, until)
		}
	}
}
