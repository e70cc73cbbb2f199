package sim

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"shunt/internal/dialect/messages"
)

// Fault is a way in which a provider misbehaves, injected into an account with [Provider.Inject]. By default it hits every
// request for messages and for counting tokens until it is cleared.
type Fault struct {
	name  string
	times int      // requests left to hit; 0 = every request
	paths []string // endpoints; none = inference
	model string

	delay      time.Duration // before anything happens
	lateReply  time.Duration // between a refresh and its response
	firstEvent time.Duration // between the headers of a stream and its first event
	retryAfter *string       // overrides the header
	encoding   string        // overrides the negotiated content coding
	end        streamEnd
	events     int // sent whole before end

	respond func(x *exchange) // nil: respond as usual
}

// streamEnd is how a stream ends.
type streamEnd uint8

const (
	whole     streamEnd = iota
	aborted             // the connection is reset inside an event
	truncated           // the response ends cleanly, but early
)

// Times limits the fault to the next n requests.
func (f Fault) Times(n int) Fault { f.times = n; return f }

// On makes the fault hit the endpoints with the paths instead.
func (f Fault) On(paths ...string) Fault { f.paths = paths; return f }

// Model limits the fault to requests whose model contains the text.
func (f Fault) Model(part string) Fault { f.model = part; return f }

// After delays the fault by d on the provider's clock.
func (f Fault) After(d time.Duration) Fault { f.delay = d; return f }

// RetryAfter replaces the fault's retry-after header; an empty value removes it.
func (f Fault) RetryAfter(value string) Fault { f.retryAfter = &value; return f }

// Encoded makes the response use the content coding (gzip, br, zstd), whatever the client accepts.
func (f Fault) Encoded(coding string) Fault { f.encoding = coding; return f }

// Rejected is the 429 of full windows: their statuses are `rejected`, and retry-after is the time until the last of them
// resets. Rejected(messages.Fable) rejects the Fable family only.
func Rejected(windows ...messages.Window) Fault {
	return Fault{name: "rejected", respond: func(x *exchange) { x.reject(windows...) }}
}

// RejectedAggregate is a 429 with the aggregate status alone.
func RejectedAggregate() Fault {
	return Fault{name: "rejected aggregate", respond: func(x *exchange) { x.reject() }}
}

// Throttled is a 429 with no window rejected, and with retryAfter unless that is empty.
func Throttled(retryAfter string) Fault {
	return Fault{name: "throttled", retryAfter: &retryAfter, respond: func(x *exchange) {
		x.limitHeaders()
		x.fail(failure{http.StatusTooManyRequests, messages.TypeRateLimit, rateLimitMessage, ""})
	}}
}

// Overloaded is a 529 with a retry-after of an hour, which says nothing about when the service recovers.
func Overloaded() Fault {
	return Fault{name: "overloaded", respond: func(x *exchange) {
		x.limitHeaders()
		x.fail(failure{529, messages.TypeOverloaded, "Overloaded", "3600"})
	}}
}

// ServerError is a 5xx without quota headers.
func ServerError(status int) Fault {
	return Failure(status, messages.TypeAPI, "Internal server error")
}

// Unauthorized is a 401 for a valid token.
func Unauthorized() Fault {
	return Failure(http.StatusUnauthorized, messages.TypeAuthentication, "Invalid authentication credentials")
}

// CredentialForbidden is the 403 that rejects the credential for every request.
func CredentialForbidden() Fault {
	return Failure(http.StatusForbidden, messages.TypePermission, "OAuth authentication is currently not allowed for this organization.")
}

// ModelForbidden is the 403 that rejects only the requested model.
func ModelForbidden() Fault {
	return Fault{name: "model forbidden", respond: func(x *exchange) {
		x.fail(failure{http.StatusForbidden, messages.TypePermission, "Your account does not have access to " + x.prompt.Model + ".", ""})
	}}
}

// Failure is an error response with the status, without quota headers.
func Failure(status int, kind messages.ErrorType, message string) Fault {
	return Fault{name: http.StatusText(status), respond: func(x *exchange) {
		x.fail(failure{status, kind, message, ""})
	}}
}

// Redirect is a 307 to the location.
func Redirect(location string) Fault {
	return Fault{name: "redirect", respond: func(x *exchange) {
		x.w.Header().Set("Location", location)
		x.send(http.StatusTemporaryRedirect, "", nil)
	}}
}

// ResetConnection resets the connection before any header is sent.
func ResetConnection() Fault {
	return Fault{name: "reset", respond: func(x *exchange) { x.reset() }}
}

// Hang never responds; the request ends when the client goes away or the server closes.
func Hang() Fault {
	return Fault{name: "hang", respond: func(x *exchange) { <-x.r.Context().Done() }}
}

// SlowHeaders responds as usual, but d later.
func SlowHeaders(d time.Duration) Fault { return Fault{name: "slow headers", delay: d} }

// SlowFirstEvent sends the headers of a stream as usual and its first event d later.
func SlowFirstEvent(d time.Duration) Fault { return Fault{name: "slow first event", firstEvent: d} }

// Abort resets the connection of a stream inside the event after the first n. It does not affect plain responses.
func Abort(n int) Fault { return Fault{name: "aborted", end: aborted, events: n} }

// Truncate ends a stream cleanly after the first n events, without message_stop. It does not affect plain responses.
func Truncate(n int) Fault { return Fault{name: "truncated", end: truncated, events: n} }

// ErrorStream is a 200 whose first event, after a ping, is an error (FO-11). A request without a stream gets an error response
// instead.
func ErrorStream(kind messages.ErrorType) Fault {
	return Fault{name: "error stream", respond: func(x *exchange) { x.errorStream(kind) }}
}

// Respond makes h respond instead of the provider. The request's body has been read already.
func Respond(h http.HandlerFunc) Fault {
	return Fault{name: "respond", respond: func(x *exchange) {
		h(&statusRecorder{x.w, x}, x.r)
		if x.r.Context().Err() == nil {
			x.outcome = Complete
		}
	}}
}

// statusRecorder records the status of a handler's response.
type statusRecorder struct {
	http.ResponseWriter
	x *exchange
}

func (n *statusRecorder) WriteHeader(status int) { n.x.header(status) }

func (n *statusRecorder) Write(p []byte) (int, error) {
	if n.x.status == 0 {
		n.x.status = http.StatusOK
	}
	return n.ResponseWriter.Write(p)
}

func (n *statusRecorder) Unwrap() http.ResponseWriter { return n.ResponseWriter }

// InvalidGrant rejects refreshes of the account as if its login had been lost.
func InvalidGrant() Fault {
	return Fault{name: "invalid grant", paths: []string{TokenPath}, respond: func(x *exchange) {
		x.rejectGrant("invalid_grant", "Refresh token not found or invalid")
	}}
}

// SlowRefresh rotates the tokens at once and responds d later, so that losing the response loses the login (TOK-5).
func SlowRefresh(d time.Duration) Fault {
	return Fault{name: "slow refresh", paths: []string{TokenPath}, lateReply: d}
}

// Encoded responds as usual, but in a content coding that the client may not accept (RTE-3).
func Encoded(coding string) Fault { return Fault{name: "encoded", encoding: coding} }

// Inject adds a fault to the account, or to requests of any account if account is empty. If several faults match a request,
// the oldest applies, and faults for any account come first. Faults limited with [Fault.Times] therefore follow each other.
func (p *Provider) Inject(account string, f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.faults(account)
	*list = append(*list, f)
}

// Clear removes the faults of the account, or those for any account if account is empty.
func (p *Provider) Clear(account string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*p.faults(account) = nil
}

func (p *Provider) faults(account string) *[]Fault {
	if account == "" {
		return &p.globalFaults
	}
	return &p.account(account).faults
}

// take returns the fault that hits the request and counts the hit.
func take(faults *[]Fault, path, model string) (Fault, bool) {
	for i, f := range *faults {
		if !f.matches(path, model) {
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

func (f Fault) matches(path, model string) bool {
	paths := f.paths
	if len(paths) == 0 {
		paths = []string{MessagesPath, CountTokensPath}
	}
	return slices.Contains(paths, path) && strings.Contains(model, f.model)
}
