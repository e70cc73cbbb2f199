package upstream

import (
	"net/http"
	"strings"
	"time"

	"shunt/internal/anthropic"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

// class is what an upstream's answer, or the lack of one, means for the request and for the account.
type class uint8

const (
	success           class = iota // 2xx
	passed                         // an answer about the request: it is the client's
	fableRejected                  // the Fable week is used up, and the request is for Fable
	rejected                       // a quota window is used up
	throttled                      // a 429 that names no window
	unauthorized                   // 401
	credentialRefused              // a 403 about the credential
	overloaded                     // 529
	serverError                    // any other 5xx
	unreachable                    // the connection failed before response headers
	unreadable                     // what came in their place is no answer
	hostDown                       // there was no connection
	unresolved                     // there is no usable credential
)

// String is the reason that the log gives for leaving an account.
func (c class) String() string {
	return [...]string{
		success: "success", passed: "passed", fableRejected: "fable_rejected", rejected: "rejected", throttled: "throttled",
		unauthorized: "unauthorized", credentialRefused: "credential_refused", overloaded: "overloaded",
		serverError: "server_error", unreachable: "unreachable", unreadable: "unreadable", hostDown: "host_down", unresolved: "unresolved",
	}[c]
}

// step is what the attempt loop does next.
type step uint8

const (
	relayIt      step = iota // the client gets this answer
	nextAccount              // another account gets the request
	resendOnce               // the same account once more, then the next
	waitOrMove               // the same account after a short wait, or another for this request only
	refreshFirst             // the same account with a new token, then the next
)

// cooling is how long an account rests: retry-after within bounds, or a fixed time where no answer may set it.
type cooling struct{ otherwise, least, most time.Duration }

func fixed(d time.Duration) cooling { return cooling{otherwise: d} }

// of returns the time to rest; zero is no rest at all.
func (c cooling) of(h http.Header, now time.Time) time.Duration {
	if c.most > 0 {
		if after, ok := anthropic.RetryAfter(h, now); ok {
			return min(max(after, c.least), c.most)
		}
	}
	return c.otherwise
}

type rule struct {
	event pool.Event
	rest  cooling
	then  step
}

// claudeRules is the table of failover for Claude accounts, row by row.
var claudeRules = [...]rule{
	success:           {pool.Success, cooling{}, relayIt},
	passed:            {pool.None, cooling{}, relayIt},
	fableRejected:     {pool.FableRejected, cooling{60 * time.Second, time.Second, time.Hour}, nextAccount},
	rejected:          {pool.Rejected, cooling{60 * time.Second, time.Second, time.Hour}, nextAccount},
	throttled:         {pool.Throttled, cooling{0, time.Second, 300 * time.Second}, waitOrMove},
	unauthorized:      {pool.Unauthorized, fixed(300 * time.Second), refreshFirst},
	credentialRefused: {pool.Forbidden, fixed(300 * time.Second), nextAccount},
	overloaded:        {pool.Overloaded, fixed(5 * time.Second), nextAccount},
	serverError:       {pool.ServerError, fixed(30 * time.Second), nextAccount},
	unreachable:       {pool.Transport, fixed(30 * time.Second), resendOnce},
	unreadable:        {pool.ServerError, fixed(30 * time.Second), nextAccount}, // it has the request, and may be at work on it
	hostDown:          {pool.HostDown, fixed(5 * time.Second), resendOnce},
	unresolved:        {pool.Unresolved, fixed(300 * time.Second), nextAccount},
}

const statusOverloaded = 529

// classify tells what a status with its quota headers means. A 403 takes a look at the body too: [refusesCredential].
func classify(status int, limits anthropic.RateLimit, fable bool) class {
	switch {
	case status >= 200 && status < 300:
		return success
	case status == http.StatusTooManyRequests:
		return classify429(limits, fable)
	case status == http.StatusUnauthorized:
		return unauthorized
	case status == statusOverloaded:
		return overloaded
	case status >= 500:
		return serverError
	}
	return passed
}

const statusRejected = "rejected" // QUO-4

func classify429(limits anthropic.RateLimit, fable bool) class {
	is := func(w anthropic.Window) bool { return limits.Windows[w].Status == statusRejected }
	if is(anthropic.FiveHour) || is(anthropic.SevenDay) {
		return rejected
	}
	if is(anthropic.Fable) {
		if fable {
			return fableRejected
		}
		return rejected
	}
	for _, w := range limits.Windows {
		if w.Status != "" {
			return throttled
		}
	}
	if limits.Status == statusRejected {
		return rejected
	}
	return throttled
}

// classifyRefusal tells what the error that begins a stream of status 200 stands for (FO-11).
func classifyRefusal(kind anthropic.ErrorType) (_ class, status int) {
	switch kind {
	case anthropic.TypeOverloaded:
		return overloaded, statusOverloaded
	case anthropic.TypeRateLimit:
		return throttled, http.StatusTooManyRequests
	}
	return serverError, http.StatusInternalServerError
}

// refusesCredential reports whether the body of a 403 turns the credential away rather than the request.
func refusesCredential(body []byte) bool {
	kind, message, ok := anthropic.ParseError(body)
	if !ok || kind != anthropic.TypePermission {
		return false
	}
	message = strings.ToLower(message)
	if strings.Contains(message, "model") || strings.Contains(message, "claude-") {
		return false
	}
	return strings.Contains(message, "oauth") || strings.Contains(message, "organization has been disabled") ||
		strings.TrimRight(strings.TrimSpace(message), ".") == "request not allowed"
}

// signal is what an answer reports of the account's quota (QUO-1).
func signal(limits anthropic.RateLimit) quota.Signal {
	s := quota.Signal{Status: limits.Status, Reset: unixTime(limits.Reset)}
	for from, to := range claudeWindows {
		w := limits.Windows[from]
		s.Windows[to] = quota.WindowSignal{
			Utilization: w.Utilization, HasUtilization: w.HasUtilization, Reset: unixTime(w.Reset), Status: w.Status,
		}
	}
	return s
}

// unixTime is the time of Unix seconds; 0 is absent.
func unixTime(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

var claudeWindows = [anthropic.Windows]quota.Window{
	anthropic.FiveHour: quota.FiveHour, anthropic.SevenDay: quota.SevenDay, anthropic.Fable: quota.Fable,
}

// oauthBeta is what the provider asks of a request that bears an OAuth token (WIRE-1).
const oauthBeta = "oauth-2025-04-20"

// IsFable reports whether a request for this upstream model draws on the Fable week.
func IsFable(model string) bool { return strings.Contains(strings.ToLower(model), "fable") }
