package upstream

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/family"
	"shunt/internal/wire"
)

// informativeness ranks the classes of responses, the most informative highest (FO-8). A class without a rank has no response
// that a client may see: there was none, it is about the pool's own credential (FO-8b), or it is a web page of the provider's
// front proxy.
var informativeness = [family.Classes]uint8{
	family.RequestUnauthorized: 1, family.PaymentRequired: 1, family.NotIncluded: 1, family.ServerError: 2, family.Overloaded: 3, family.Throttled: 4, family.StreamThrottled: 4, family.ScopeRejected: 5, family.Rejected: 5,
}

// collect keeps a response if it is more informative than the one kept so far. Among quota rejections, it keeps the one whose
// account recovers soonest; among other responses of one rank, the latest.
func (x *exchange) collect(class family.Class, k *kept) {
	if k == nil || informativeness[class] == 0 {
		return
	}
	k.class = class
	switch best := x.best; {
	case best == nil, informativeness[class] > informativeness[best.class]:
	case informativeness[class] < informativeness[best.class]:
		return
	case class.IsQuota() && x.rejectionEnds(k) >= x.rejectionEnds(best):
		return
	}
	x.best = k
}

// rejectionEnds returns how long it takes until the account behind a quota rejection serves again: what the response says, or
// else the length of the account's cooldown.
func (x *exchange) rejectionEnds(k *kept) time.Duration {
	if wait, known := k.recovery(x.clock.Now()); known {
		return wait
	}
	return x.family.Rules[family.Rejected].Cooldown.Otherwise
}

// exhausted ends a request for which no account is left, with the most informative response or, if there is none, with a
// failure of shunt's own (FO-8).
func (x *exchange) exhausted() Outcome {
	switch {
	case x.best != nil && x.best.class.IsQuota():
		return x.relayExhausted(x.best)
	case x.best != nil:
		return x.relayKept(nil, x.best)
	case x.hostDown():
		return x.failed(http.StatusBadGateway, noResponse, fmt.Sprintf(
			"provider '%s' cannot be reached (%d accounts tried): check the network and the provider's base_url", x.name, x.tried))
	case x.challenged:
		return x.failed(http.StatusBadGateway, failed, fmt.Sprintf(
			"provider '%s' returned a web page instead of an API response (%d accounts tried): try again in a minute; if this does not "+
				"help, the provider may be blocking this machine's address", x.name, x.tried))
	case x.tried == len(x.missing):
		return Outcome{Failure: x.emptyPool(x.selection.Verdict(), x.missing)}
	case len(x.refused) > 0: // FO-8b
		o := x.failed(http.StatusBadGateway, emptyPool, fmt.Sprintf("provider '%s' refuses the credential of account '%s'%s: %s",
			x.name, x.refused[0].Name(), others(len(x.refused)-1), x.refused[0].Remedy()))
		o.Failure.Kind, o.Failure.reason = dialect.NoAccount, family.LoginNeeded.String()
		o.Failure.Final = x.tried == len(x.missing)+len(x.refused)
		return o
	}
	return x.failed(http.StatusBadGateway, noResponse, fmt.Sprintf(
		"no account of provider '%s' sent a response (%d tried%s): shunt's log says why", x.name, x.tried, x.firstBack()))
}

func (x *exchange) failed(status int, s severity, message string) Outcome {
	return Outcome{Failure: &Failure{Status: status, Kind: dialect.ServerError, Message: message, severity: s}}
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

// relayExhausted ends a request with a rejection because the whole pool is exhausted. The response is the upstream's, but its
// retry-after lasts until the pool's earliest recovery if that is later (FO-8c).
func (x *exchange) relayExhausted(k *kept) Outcome {
	back, known := x.selection.Recovery()
	wait := back.Sub(x.clock.Now())
	if x.r.Dialect.RendersExhaustion() { // GPT-12
		f := &Failure{
			Status: http.StatusTooManyRequests, Kind: dialect.QuotaExhausted, Final: wait > shownAtOnce, severity: rateLimited, reason: "exhausted",
			Message: fmt.Sprintf("all accounts of provider '%s' are out of quota (%d tried%s)", x.name, x.tried, x.firstBack()),
		}
		if known && wait > 0 {
			f.Resets, f.RetryAfter = back, wait
		}
		return Outcome{Failure: f}
	}
	if !known || wait <= 0 {
		return x.relayKept(nil, k)
	}
	if after, ok := wire.RetryAfter(k.header, x.clock.Now()); !ok || wait > after {
		k.header.Set("Retry-After", strconv.FormatInt(ceil(wait, time.Second), 10))
	}
	x.selection.Release() // RMP-3
	return x.r.end(x.w, x.hold(k, func(h http.Header) {
		x.writeHeader(h, k.header, nil)
		h[headerPool] = []string{"exhausted"}
	}))
}

// backIn begins what an error says about the first account that serves again.
const backIn = "the first is back in "

// firstBack returns when the first account serves again, as the end of a list, or "" if that is not known.
func (x *exchange) firstBack() string {
	back, known := x.selection.Recovery()
	if wait := back.Sub(x.clock.Now()); known && wait > 0 {
		return ", " + backIn + inWords(wait)
	}
	return ""
}

// inWords returns a duration for people, rounded up: "40 s", "42 min", "3 h 5 min", "2 d 4 h".
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
	if left := n % per; left > 0 {
		fmt.Fprintf(&b, " %d %s", left, small)
	}
	return b.String()
}

func ceil(d, unit time.Duration) int64 { return int64((d + unit - 1) / unit) }
