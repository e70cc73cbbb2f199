package upstream

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"shunt/internal/anthropic"
)

// informs ranks the responses that a request collected, the most informative highest (FO-8). A class without a rank has no
// response that a client may see: none came, or it is about the pool's own credential (FO-8b), or it is a page of the
// provider's front.
var informs = [classes]uint8{
	requestUnauthorized: 1, serverError: 2, overloaded: 3, throttled: 4, fableRejected: 5, rejected: 5,
}

// collect keeps a response for the end if it says more than the one that is kept: of quota rejections the one whose account
// recovers soonest, of other equals the latest.
func (x *exchange) collect(class class, k *kept) {
	if k == nil || informs[class] == 0 {
		return
	}
	k.class = class
	switch best := x.best; {
	case best == nil, informs[class] > informs[best.class]:
	case informs[class] < informs[best.class]:
		return
	case isQuota(class) && x.rejectionEnds(k) >= x.rejectionEnds(best):
		return
	}
	x.best = k
}

func isQuota(c class) bool { return c == rejected || c == fableRejected }

// rejectionEnds is how long it takes until the account behind a quota rejection serves again; where the response does not
// say so, it is as long as the account cools down.
func (x *exchange) rejectionEnds(k *kept) time.Duration {
	if wait, known := recovery(k.header, x.clock.Now()); known {
		return wait
	}
	return claudeRules[rejected].cooldown.otherwise
}

// recovery is how long a 429 says that it takes until its sender serves again: by its retry-after, or by the last reset of the
// windows that reject.
func recovery(h http.Header, now time.Time) (wait time.Duration, known bool) {
	if after, ok := anthropic.RetryAfter(h, now); ok {
		return after, true
	}
	limits := anthropic.ParseRateLimit(h)
	for _, w := range limits.Windows {
		if w.Status == statusRejected && w.Reset != 0 {
			wait, known = max(wait, time.Unix(w.Reset, 0).Sub(now)), true
		}
	}
	return wait, known
}

// exhausted ends a request that no account is left for: with the most informative response, else with a failure of shunt's
// own (FO-8).
func (x *exchange) exhausted() Outcome {
	switch {
	case x.best != nil && isQuota(x.best.class):
		return x.relayExhausted(x.best)
	case x.best != nil:
		return x.relayKept(nil, x.best)
	case x.hostDown():
		return x.failed(http.StatusBadGateway, unheard, fmt.Sprintf(
			"provider '%s' cannot be reached (%d accounts tried): check the network and the provider's base_url", x.name, x.tried))
	case x.challenged:
		return x.failed(http.StatusBadGateway, failed, fmt.Sprintf(
			"the front of provider '%s' answered with a web page instead of the API (%d accounts tried): try again in a minute; if it stays, "+
				"the provider blocks this machine's address", x.name, x.tried))
	case x.tried == len(x.missing):
		return Outcome{Failure: x.emptyPool(x.selection.Verdict(), x.missing)}
	case len(x.refused) > 0: // FO-8b
		o := x.failed(http.StatusBadGateway, emptyPool, fmt.Sprintf("provider '%s' refuses the credential of account '%s'%s: %s",
			x.name, x.refused[0].Name(), others(len(x.refused)-1), x.refused[0].Remedy()))
		o.Failure.reason = loginNeeded.String()
		o.Failure.Final = x.tried == len(x.missing)+len(x.refused)
		return o
	}
	return x.failed(http.StatusBadGateway, unheard, fmt.Sprintf(
		"no account of provider '%s' sent a response (%d tried%s): the log of shunt says why", x.name, x.tried, x.firstBack(", ")))
}

func (x *exchange) failed(status int, t telling, message string) Outcome {
	return Outcome{Failure: &Failure{Status: status, Type: anthropic.TypeAPI, Message: message, telling: t}}
}

func others(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " (and of one more)"
	}
	return fmt.Sprintf(" (and of %d more)", n)
}

// relayExhausted relays the rejection of a pool whose quota is used up: as the upstream sent it, and with the time at which
// the first account is back if that is later than what it says itself (FO-8c).
func (x *exchange) relayExhausted(k *kept) Outcome {
	back, known := x.selection.Recovery()
	wait := back.Sub(x.clock.Now())
	if !known || wait <= 0 {
		return x.relayKept(nil, k)
	}
	if after, ok := anthropic.RetryAfter(k.header, x.clock.Now()); !ok || wait > after {
		k.header.Set("Retry-After", strconv.FormatInt(ceil(wait, time.Second), 10))
	}
	x.selection.Release() // RMP-3
	return x.r.end(x.w, &held{k, func(h http.Header) {
		x.writeHeader(h, k.header, nil)
		h[headerPool] = []string{"exhausted"}
	}})
}

// firstBack says when the first account serves again, after the given words; empty if that is not known.
func (x *exchange) firstBack(before string) string {
	back, known := x.selection.Recovery()
	if wait := back.Sub(x.clock.Now()); known && wait > 0 {
		return before + "the first is back in " + inWords(wait)
	}
	return ""
}

// inWords is a duration as a person would say it, rounded up: "40 s", "42 min", "3 h 5 min", "2 d 4 h".
func inWords(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", ceil(d, time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%d min", ceil(d, time.Minute))
	case d < day:
		return twoUnits(ceil(d, time.Minute), 60, "h", "min")
	}
	return twoUnits(ceil(d, time.Hour), 24, "d", "h")
}

func twoUnits(n, per int64, large, small string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", n/per, large)
	if rest := n % per; rest > 0 {
		fmt.Fprintf(&b, " %d %s", rest, small)
	}
	return b.String()
}

func ceil(d, unit time.Duration) int64 { return int64((d + unit - 1) / unit) }
