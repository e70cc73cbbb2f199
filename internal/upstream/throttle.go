package upstream

import (
	"math/rand/v2"
	"time"

	"shunt/internal/family"
	"shunt/internal/wire"
)

const (
	defaultWait = time.Second      // for a throttle without a retry-after
	shortWait   = 5 * time.Second  // the longest throttle that is waited out
	longestWait = 60 * time.Second // the same if no other account is available
)

// throttle records a plain 429 and how long to wait before a resend: up to a fifth longer than its retry-after, so that clients
// do not all return at once (FO-6).
func (x *exchange) throttle(a *attempt, k *kept) {
	now := x.clock.Now()
	a.throttle, a.wait = k, defaultWait
	if after, ok := wire.RetryAfter(k.header, now); ok {
		a.wait = after
	}
	a.until = now.Add(a.wait + rand.N(a.wait/5+1))
}

// afterThrottle waits until the request may be resent to the throttled account, or another one is available (FO-6). It
// reports false if the request must not wait: the chain continues, the wait is too long, or the account has had its resend.
func (x *exchange) afterThrottle() (*attempt, bool) {
	a := x.throttled
	if x.r.next || a.wait > longestWait || !a.mayRepeat(reply{class: family.Throttled}) {
		return nil, false
	}
	for {
		c, ok := x.selection.Wait(x.r.Client.Context(), a.until)
		if !ok {
			break
		}
		if other := x.attempt(c); other != nil {
			return other, true
		}
	}
	if x.r.gone() {
		return nil, false
	}
	x.throttled = nil
	x.selection.Resume(a.Candidate)
	a.resent, a.waited = true, true
	return a, true
}
