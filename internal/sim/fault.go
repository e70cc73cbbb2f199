package sim

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"shunt/internal/dialect/messages"
)

// Fault is one way in which a provider misbehaves, injected into an account with [Provider.Inject]. Without further
// choice it hits every request for messages and for counting tokens until it is cleared.
type Fault struct {
	name  string
	times int      // requests that it still hits; 0 = every one
	paths []string // endpoints; none = inference
	model string

	delay      time.Duration // before anything happens
	lateReply  time.Duration // between a refresh and its answer
	firstEvent time.Duration // between the headers of a stream and its first event
	retryAfter *string       // overrides the header
	encoding   string        // overrides the negotiated content coding
	end        streamEnd
	events     int // of a stream that are sent whole before end

	answer func(x *exchange) // nil: the ordinary answer
}

// streamEnd is how a stream ends.
type streamEnd uint8

const (
	whole     streamEnd = iota
	cut                 // the connection is reset inside an event
	truncated           // the answer ends cleanly, too early
)

// Times limits the fault to the next n requests.
func (f Fault) Times(n int) Fault { f.times = n; return f }

// On moves the fault to other endpoints, named by their paths.
func (f Fault) On(paths ...string) Fault { f.paths = paths; return f }

// Model limits the fault to requests whose model contains the text.
func (f Fault) Model(part string) Fault { f.model = part; return f }

// After delays the fault, in time of the provider's clock.
func (f Fault) After(d time.Duration) Fault { f.delay = d; return f }

// RetryAfter replaces the fault's retry-after header; the empty value removes it.
func (f Fault) RetryAfter(value string) Fault { f.retryAfter = &value; return f }

// Encoded answers in the content coding (gzip, br, zstd), whatever the client accepts.
func (f Fault) Encoded(coding string) Fault { f.encoding = coding; return f }

// Rejected is the 429 of full windows: their statuses are `rejected`, and retry-after is the time to the last of their
// resets. Rejected(messages.Fable) is the one that refuses the Fable family only.
func Rejected(windows ...messages.Window) Fault {
	return Fault{name: "rejected", answer: func(x *exchange) { x.reject(windows...) }}
}

// RejectedAggregate is a 429 whose only status is the aggregate one.
func RejectedAggregate() Fault {
	return Fault{name: "rejected aggregate", answer: func(x *exchange) { x.reject() }}
}

// Throttled is a plain 429, with a retry-after unless that is empty; no window is rejected.
func Throttled(retryAfter string) Fault {
	return Fault{name: "throttled", retryAfter: &retryAfter, answer: func(x *exchange) {
		x.limitHeaders()
		x.fail(failure{http.StatusTooManyRequests, messages.TypeRateLimit, rateLimitMessage, ""})
	}}
}

// Overloaded is a 529 with a retry-after of an hour, which has nothing to do with when the service recovers.
func Overloaded() Fault {
	return Fault{name: "overloaded", answer: func(x *exchange) {
		x.limitHeaders()
		x.fail(failure{529, messages.TypeOverloaded, "Overloaded", "3600"})
	}}
}

// ServerError is a 5xx without quota headers.
func ServerError(status int) Fault {
	return Failure(status, messages.TypeAPI, "Internal server error")
}

// Unauthorized is a 401 for a token that is good.
func Unauthorized() Fault {
	return Failure(http.StatusUnauthorized, messages.TypeAuthentication, "Invalid authentication credentials")
}

// CredentialForbidden is the 403 that refuses the credential, whatever it is used for.
func CredentialForbidden() Fault {
	return Failure(http.StatusForbidden, messages.TypePermission, "OAuth authentication is currently not allowed for this organization.")
}

// ModelForbidden is the 403 that refuses the requested model only.
func ModelForbidden() Fault {
	return Fault{name: "model forbidden", answer: func(x *exchange) {
		x.fail(failure{http.StatusForbidden, messages.TypePermission, "Your account does not have access to " + x.prompt.Model + ".", ""})
	}}
}

// Failure is an answer with the status and the error envelope, and without quota headers.
func Failure(status int, kind messages.ErrorType, message string) Fault {
	return Fault{name: http.StatusText(status), answer: func(x *exchange) {
		x.fail(failure{status, kind, message, ""})
	}}
}

// Redirect is a 307 to the location.
func Redirect(location string) Fault {
	return Fault{name: "redirect", answer: func(x *exchange) {
		x.w.Header().Set("Location", location)
		x.send(http.StatusTemporaryRedirect, "", nil)
	}}
}

// ResetConnection resets the connection before any header is sent.
func ResetConnection() Fault {
	return Fault{name: "reset", answer: func(x *exchange) { x.reset() }}
}

// Hang never answers; the request ends when the client goes away or the server closes.
func Hang() Fault {
	return Fault{name: "hang", answer: func(x *exchange) { <-x.r.Context().Done() }}
}

// SlowHeaders answers as usual, but d later.
func SlowHeaders(d time.Duration) Fault { return Fault{name: "slow headers", delay: d} }

// SlowFirstEvent sends the headers of a stream as usual and waits d before its first event.
func SlowFirstEvent(d time.Duration) Fault { return Fault{name: "slow first event", firstEvent: d} }

// Cut resets the connection of a stream inside the event after the first n. A plain answer is not touched.
func Cut(n int) Fault { return Fault{name: "cut", end: cut, events: n} }

// Truncate ends a stream cleanly after the first n events, without message_stop. A plain answer is not touched.
func Truncate(n int) Fault { return Fault{name: "truncated", end: truncated, events: n} }

// ErrorStream is a 200 whose first event, after a ping, is an error (FO-11). A request without a stream gets the error as
// an answer of its status.
func ErrorStream(kind messages.ErrorType) Fault {
	return Fault{name: "error stream", answer: func(x *exchange) { x.errorStream(kind) }}
}

// Respond has h answer in the provider's place, for what no other fault says. The request's body has been read.
func Respond(h http.HandlerFunc) Fault {
	return Fault{name: "respond", answer: func(x *exchange) {
		h(&statusNote{x.w, x}, x.r)
		if x.r.Context().Err() == nil {
			x.outcome = Complete
		}
	}}
}

// statusNote records the status that a foreign handler answers with.
type statusNote struct {
	http.ResponseWriter
	x *exchange
}

func (n *statusNote) WriteHeader(status int) { n.x.header(status) }

func (n *statusNote) Write(p []byte) (int, error) {
	if n.x.code == 0 {
		n.x.code = http.StatusOK
	}
	return n.ResponseWriter.Write(p)
}

func (n *statusNote) Unwrap() http.ResponseWriter { return n.ResponseWriter }

// InvalidGrant refuses the next refreshes of the account as if its login were lost.
func InvalidGrant() Fault {
	return Fault{name: "invalid grant", paths: []string{TokenPath}, answer: func(x *exchange) {
		x.refuseGrant("invalid_grant", "Refresh token not found or invalid")
	}}
}

// SlowRefresh rotates the tokens at once and answers d later, so that a lost answer is a lost login (TOK-5).
func SlowRefresh(d time.Duration) Fault {
	return Fault{name: "slow refresh", paths: []string{TokenPath}, lateReply: d}
}

// Encoded answers as usual, but in a content coding that the client may not accept (RTE-3).
func Encoded(coding string) Fault { return Fault{name: "encoded", encoding: coding} }

// Inject adds a fault to the account, or to every request, whoever sent it, when account is empty. Of several faults that
// match a request the oldest applies, those of no account first; so faults that are limited in number follow each other.
func (p *Provider) Inject(account string, f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.faults(account)
	*list = append(*list, f)
}

// Clear removes the faults of the account, or those of no account when it is empty.
func (p *Provider) Clear(account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*p.faults(account) = nil
}

func (p *Provider) faults(account string) *[]Fault {
	if account == "" {
		return &p.anywhere
	}
	return &p.account(account).faults
}

// take finds the fault that hits the request and counts it.
func take(faults *[]Fault, path, model string) (Fault, bool) {
	for i, f := range *faults {
		if !f.hits(path, model) {
			continue
		}
		if f.times == 1 {
			*faults = slices.Delete(*faults, i, i+1)
		} else if f.times > 1 {
			(*faults)[i].times--
		}
		return f, true
	}
	return Fault{}, false
}

func (f Fault) hits(path, model string) bool {
	paths := f.paths
	if len(paths) == 0 {
		paths = []string{MessagesPath, CountTokensPath}
	}
	return slices.Contains(paths, path) && strings.Contains(model, f.model)
}
