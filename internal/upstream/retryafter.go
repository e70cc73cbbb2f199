package upstream

import (
	"net/http"
	"strconv"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/family"
	"shunt/internal/http1"
	"shunt/internal/wire"
)

// limitRetryAfter shortens the retry-after of a response to what its client bears (GPT-12).
func limitRetryAfter(h http.Header, client dialect.Inbound) {
	if h["Retry-After"] == nil {
		return
	}
	wait, ok := wire.RetryAfter(h, time.Now())
	sent := client.RetryAfter(dialect.RateLimit, wait)
	switch {
	case !ok || sent == wait:
	case sent <= 0:
		delete(h, "Retry-After")
	default:
		h["Retry-After"] = []string{seconds(sent)}
	}
}

// delays reports whether a response of this status may say when its sender serves again.
func delays(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// extendRetryAfter sets the retry-after of a response to the delay in its body, unless it is longer already (GEM-2).
func extendRetryAfter(f *family.Family, response *http1.Response, now time.Time) {
	failure, ok := f.Dialect.ParseError(decoded(response.Header, peek(response)))
	wait := failure.RetryAfter
	if failure.Resets.After(now) {
		wait = failure.Resets.Sub(now)
	}
	if after, known := wire.RetryAfter(response.Header, now); ok && wait > 0 && (!known || after < wait) {
		response.Header.Set("Retry-After", seconds(wait))
	}
}

// seconds returns a duration in whole seconds, rounded up.
func seconds(d time.Duration) string { return strconv.FormatInt(ceil(d, time.Second), 10) }
