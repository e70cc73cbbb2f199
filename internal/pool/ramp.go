package pool

import "time"

// rampIdle is how long an identity must be without traffic before its ramp restarts (RMP-1).
const rampIdle = time.Minute

// ramp counts an identity's in-flight requests and limits how many it may have (RMP-1).
type ramp struct {
	inFlight  int
	doublings uint8
	began     time.Time // the success of a request that was sent before does not count
	last      time.Time // of traffic
}

// allowance returns how many requests the identity may have in flight, if it starts with initial.
func (r *ramp) allowance(initial int, now time.Time) int {
	if r.idle(now) {
		return initial
	}
	return initial << r.doublings
}

func (r *ramp) idle(now time.Time) bool { return r.inFlight == 0 && now.Sub(r.last) >= rampIdle }

func (r *ramp) admits(initial int, now time.Time) bool {
	return initial == 0 || r.inFlight < r.allowance(initial, now)
}

func (r *ramp) take(now time.Time) {
	if r.idle(now) {
		r.restart(now)
	}
	r.inFlight++
	r.last = now
}

func (r *ramp) release(now time.Time) {
	r.inFlight--
	r.last = now
}

func (r *ramp) restart(now time.Time) { r.doublings, r.began = 0, now }

// succeed doubles the allowance (RMP-1). When the ramp restarts during a storm, the successes of requests that were
// sent before must not open it at once.
func (r *ramp) succeed(sent time.Time) {
	if r.doublings < maxDoublings && !sent.Before(r.began) {
		r.doublings++
	}
}

const maxDoublings = 20
