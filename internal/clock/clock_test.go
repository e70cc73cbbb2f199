package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/clock"
)

// CLI-3: an accelerated clock advances n seconds in one, for readings and for waits.
func TestAccelerated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		machine, fast := clock.Clock{}, clock.Accelerated(60)
		m0, f0 := machine.Now(), fast.Now()
		if err := fast.Sleep(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := machine.Now().Sub(m0); got != time.Minute {
			t.Errorf("an hour at 60x took %v", got)
		}
		if got := fast.Now().Sub(f0); got != time.Hour {
			t.Errorf("the fast clock advanced %v", got)
		}
	})
}

// FO-6: a wait ends as soon as its context ends.
func TestSleepEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := (clock.Clock{}).Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v", err)
		}
		if got := time.Since(start); got != time.Second {
			t.Errorf("waited %v", got)
		}
	})
}

// SIM-1: a virtual clock shows the time that its owner sets, forwards or backwards.
func TestVirtual(t *testing.T) {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	var now time.Time
	c := clock.Virtual(func() time.Time { return now })
	for _, now = range []time.Time{noon, noon.Add(time.Hour), noon.Add(-time.Second)} {
		if got := c.Now(); got != now {
			t.Errorf("shows %v at %v", got, now)
		}
	}
}
