// Package clock provides the time for shunt's decisions: the machine's clock, one that runs faster by a factor (for the
// demo), or one that its owner sets (for the simulator). Under testing/synctest the machine's clock is virtual, so tests
// need no other kind. Socket timeouts do not use this package.
package clock

import (
	"context"
	"time"
)

// Clock shows the time. The zero value is the machine's clock. A Clock is immutable and safe for concurrent use.
type Clock struct {
	origin time.Time
	speed  float64
	now    func() time.Time // nil = the machine's
}

// Accelerated returns a clock that starts now and runs n times as fast as the machine's; n must be positive.
func Accelerated(n float64) Clock { return Clock{origin: time.Now(), speed: n} }

// Virtual returns a clock that shows what now returns. Its owner must not wait on it: Sleep takes the machine's time.
func Virtual(now func() time.Time) Clock { return Clock{now: now} }

// Now returns the time. It has a monotonic reading, so differences survive steps of the wall clock; a virtual clock
// returns the time exactly as its owner set it.
func (c Clock) Now() time.Time {
	switch {
	case c.now != nil:
		return c.now()
	case c.speed == 0:
		return time.Now()
	}
	return c.origin.Add(time.Duration(float64(time.Since(c.origin)) * c.speed))
}

// Scale converts a duration of this clock into one of the machine's clock, for a timer.
func (c Clock) Scale(d time.Duration) time.Duration {
	if c.speed == 0 {
		return d
	}
	return time.Duration(float64(d) / c.speed)
}

// Sleep waits for d on this clock, or returns the context's error as soon as ctx ends.
func (c Clock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(c.Scale(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
