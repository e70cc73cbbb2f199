// Package clock is the time that shunt decides by: the machine's, one that runs a number of times as fast (the demo), or
// one that its owner sets (the simulator). Under testing/synctest the machine's clock is virtual, so tests need no other
// kind. Socket time-outs do not use it.
package clock

import (
	"context"
	"time"
)

// Clock tells the time. The zero value is the machine's clock. It is immutable and safe for concurrent use.
type Clock struct {
	origin time.Time
	speed  float64
	now    func() time.Time // nil = the machine's
}

// Accelerated starts at the present and runs n times as fast; n must be positive.
func Accelerated(n float64) Clock { return Clock{origin: time.Now(), speed: n} }

// Virtual shows what now returns, for whoever only reads the time: a wait on it takes the machine's time.
func Virtual(now func() time.Time) Clock { return Clock{now: now} }

// Now is the present. The result carries a monotonic reading, so differences survive steps of the wall clock; that of a
// virtual clock is as it was set.
func (c Clock) Now() time.Time {
	switch {
	case c.now != nil:
		return c.now()
	case c.speed == 0:
		return time.Now()
	}
	return c.origin.Add(time.Duration(float64(time.Since(c.origin)) * c.speed))
}

// Scale turns a duration of this clock into one of the machine's, for a timer.
func (c Clock) Scale(d time.Duration) time.Duration {
	if c.speed == 0 {
		return d
	}
	return time.Duration(float64(d) / c.speed)
}

// Sleep waits for d on this clock, or returns the context's error as soon as that ends.
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
