package upstream

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/http1"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

// class is what an upstream's response, or the lack of one, means for the request and for the account.
type class uint8

const (
	success             class = iota // 2xx
	passed                           // a response about the request, which the client gets
	fableRejected                    // the Fable week is used up, and the request is for Fable
	rejected                         // a quota window is used up
	throttled                        // a 429 that names no window
	unauthorized                     // a 401 about the credential
	requestUnauthorized              // a 401 about the request
	credentialRefused                // a 403 about the credential
	overloaded                       // 529
	serverError                      // any other 5xx
	challenged                       // a web page of the provider's front proxy in place of a response
	unreachable                      // the connection failed before any part of a response
	unreadable                       // it failed in the middle of a response's head, or what came is not HTTP
	hostDown                         // there was no connection
	unresolved                       // there is no usable credential
	loginNeeded                      // and there will be none until a person logs in

	classes = iota
)

// String is the reason that the log gives for leaving an account.
func (c class) String() string {
	return [classes]string{
		success: "success", passed: "passed", fableRejected: "fable_rejected", rejected: "rejected", throttled: "throttled",
		unauthorized: "unauthorized", requestUnauthorized: "request_unauthorized", credentialRefused: "credential_refused",
		overloaded: "overloaded", serverError: "server_error", challenged: "challenged", unreachable: "unreachable",
		unreadable: "unreadable", hostDown: "host_down", unresolved: "unresolved", loginNeeded: "login_needed",
	}[c]
}

// step is what the attempt loop does next.
type step uint8

const (
	relayIt      step = iota // the client gets this response
	nextAccount              // another account gets the request
	resendOnce               // the same account once more, then the next
	waitOrMove               // the same account after a short wait, or another for this request only
	refreshFirst             // the same account with a new token, then the next
)

// cooling is how long an account cools down: retry-after within bounds, or a fixed time where no response may set it.
type cooling struct{ otherwise, least, most time.Duration }

func fixed(d time.Duration) cooling { return cooling{otherwise: d} }

// of returns the length of the cooldown; zero is none.
func (c cooling) of(h http.Header, now time.Time) time.Duration {
	if c.most > 0 {
		if after, ok := messages.RetryAfter(h, now); ok {
			return min(max(after, c.least), c.most)
		}
	}
	return c.otherwise
}

type rule struct {
	event    pool.Event
	cooldown cooling
	then     step
	fault    bool // the service or the request may be at fault: two accounts are tried at most (FO-0a)
	messages bool // it is about messages: in response to a count of tokens it says nothing about the account (RTE-4)
}

// claudeRules is the table of failover for Claude accounts, row by row.
var claudeRules = [classes]rule{
	success:             {event: pool.Success, then: relayIt},
	passed:              {then: relayIt},
	fableRejected:       {event: pool.FableRejected, cooldown: cooling{60 * time.Second, time.Second, time.Hour}, then: nextAccount, messages: true},
	rejected:            {event: pool.Rejected, cooldown: cooling{60 * time.Second, time.Second, time.Hour}, then: nextAccount, messages: true},
	throttled:           {event: pool.Throttled, cooldown: cooling{0, time.Second, 300 * time.Second}, then: waitOrMove, messages: true},
	unauthorized:        {event: pool.Unauthorized, cooldown: fixed(300 * time.Second), then: refreshFirst},
	requestUnauthorized: {then: nextAccount, fault: true},
	credentialRefused:   {event: pool.Forbidden, cooldown: fixed(300 * time.Second), then: nextAccount},
	overloaded:          {event: pool.Overloaded, cooldown: fixed(5 * time.Second), then: nextAccount, fault: true, messages: true},
	serverError:         {event: pool.ServerError, cooldown: fixed(30 * time.Second), then: nextAccount, fault: true, messages: true},
	challenged:          {event: pool.ServerError, cooldown: fixed(30 * time.Second), then: nextAccount, fault: true, messages: true},
	unreachable:         {event: pool.Transport, cooldown: fixed(30 * time.Second), then: resendOnce, fault: true},
	unreadable:          {event: pool.ServerError, cooldown: fixed(30 * time.Second), then: nextAccount, fault: true}, // it may be working on the request
	hostDown:            {event: pool.HostDown, cooldown: fixed(5 * time.Second), then: resendOnce, fault: true},
	unresolved:          {event: pool.Unresolved, cooldown: fixed(300 * time.Second), then: nextAccount},
	loginNeeded:         {event: pool.LoginNeeded, cooldown: fixed(300 * time.Second), then: nextAccount},
}

const statusOverloaded = 529

// classify returns what a status with its quota headers means. Where that depends on the body too, see [inspect].
func classify(status int, limits messages.RateLimit, fable bool) class {
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

func classify429(limits messages.RateLimit, fable bool) class {
	is := func(w messages.Window) bool { return limits.Windows[w].Status == statusRejected }
	if is(messages.FiveHour) || is(messages.SevenDay) {
		return rejected
	}
	if is(messages.Fable) {
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
func classifyRefusal(kind messages.ErrorType) (_ class, status int) {
	switch kind {
	case messages.TypeOverloaded:
		return overloaded, statusOverloaded
	case messages.TypeRateLimit:
		return throttled, http.StatusTooManyRequests
	}
	return serverError, http.StatusInternalServerError
}

// inspect looks into the body where the status alone does not decide what a response means.
func inspect(c class, response *http1.Response) class {
	front := isFront(response.Header) && (response.Status == http.StatusForbidden || response.Status >= 500)
	if !front && response.Status != http.StatusForbidden && c != unauthorized {
		return c
	}
	body := decoded(response.Header, peek(response))
	switch {
	case front && isPage(body):
		return challenged
	case response.Status == http.StatusForbidden && refusesCredential(body):
		return credentialRefused
	case c == unauthorized && refusesRequest(body):
		return requestUnauthorized
	}
	return c
}

// isFront reports whether a response names the proxy in front of the provider, which responds in its place when it takes a
// client for a robot or cannot reach the provider.
func isFront(h http.Header) bool {
	return h["Cf-Mitigated"] != nil || strings.EqualFold(h.Get("Server"), "cloudflare")
}

// isPage reports whether a body is something other than JSON.
func isPage(body []byte) bool {
	text := bytes.TrimLeft(body, " \t\r\n")
	return len(text) > 0 && text[0] != '{'
}

// refusesRequest reports whether the body of a 401 is about the request and not about the credential.
func refusesRequest(body []byte) bool {
	kind, _, ok := messages.ParseError(body)
	return ok && kind != "" && kind != messages.TypeAuthentication
}

// classifyError returns what the lack of a response means. A connection that failed in the middle of one is final for the
// account: the upstream has the request, and may be working on it (FO-0a).
func classifyError(err error) (class, *http1.SendError) {
	var failure *http1.SendError
	switch {
	case errors.Is(err, http1.ErrNoConnection):
		return hostDown, nil
	case errors.As(err, &failure) && !failure.Received:
		return unreachable, failure
	}
	return unreadable, nil
}

// refusesCredential reports whether the body of a 403 turns the credential away rather than the request.
func refusesCredential(body []byte) bool {
	kind, message, ok := messages.ParseError(body)
	if !ok || kind != messages.TypePermission {
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
func signal(limits messages.RateLimit) quota.Signal {
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

var claudeWindows = [messages.Windows]quota.Window{
	messages.FiveHour: quota.FiveHour, messages.SevenDay: quota.SevenDay, messages.Fable: quota.Fable,
}

// oauthBeta is what the provider asks of a request that bears an OAuth token (WIRE-1).
const oauthBeta = "oauth-2025-04-20"

// IsFable reports whether a request for this upstream model draws on the Fable week.
func IsFable(model string) bool { return strings.Contains(strings.ToLower(model), "fable") }
