package gateway

import (
	"net/http"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/upstream"
)

// slot is a request's place among those in flight (server.max_concurrent_requests).
type slot struct {
	gateway  *Gateway
	unrouted bool // it has no token, and its route, which may need one, is unknown
}

// takeSlot returns a slot, or a failure if none is free. Unrouted requests may take a tenth of the slots, so that clients without
// a token never keep out those with one (AUTH-2c).
func (g *Gateway) takeSlot(unrouted bool, header string) (slot, *upstream.Failure) {
	limit := int64(g.fixed.MaxConcurrentRequests)
	if unrouted && g.unrouted.Add(1) > max(1, limit/10) && limit > 0 {
		g.unrouted.Add(-1)
		return slot{}, busy("too many requests without a token of this gateway are in flight: send yours in the header " + header + ", or try again in a moment")
	}
	s := slot{g, unrouted}
	if g.inFlight.Add(1) > limit && limit > 0 {
		s.release()
		return slot{}, busy("too many requests are in flight (server.max_concurrent_requests): try again in a moment")
	}
	return s, nil
}

// busy is the failure of a request that may succeed a moment later.
func busy(message string) *upstream.Failure {
	return &upstream.Failure{Status: http.StatusServiceUnavailable, Kind: dialect.Overloaded, Message: message, RetryAfter: time.Second}
}

// routed records that the request's route needs no token.
func (s *slot) routed() {
	if s.unrouted {
		s.unrouted = false
		s.gateway.unrouted.Add(-1)
	}
}

func (s *slot) release() {
	s.routed()
	s.gateway.inFlight.Add(-1)
}
