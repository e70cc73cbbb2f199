package family

import (
	"bytes"
	"net/http"
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/quota"
)

const (
	statusOverloaded = 529
	statusRejected   = "rejected" // QUO-4
)

// In returns the class as logs and metrics name it for a request of a scope.
func (c Class) In(scope quota.Scope) string {
	if c == ScopeRejected {
		return string(scope) + "_rejected"
	}
	return c.String()
}

// Response is what [Family.Classify] needs to know of an upstream's response.
type Response struct {
	Status int
	Header http.Header
	Quota  quota.Signal  // what the header reports
	Scope  quota.Scope   // of the request
	Body   func() []byte // returns the beginning of the body as text; called only if the class depends on it
}

// Classify returns what a response means (5-failover).
func (f *Family) Classify(r Response) Class {
	class := f.ClassifyStatus(r)
	front := isFrontProxy(r.Header) && (r.Status == http.StatusForbidden || r.Status >= 500)
	if !front && r.Status != http.StatusForbidden && class != Unauthorized {
		return class
	}
	body := r.Body()
	failure, ok := f.Dialect.ParseError(body)
	switch {
	case front && isPage(body):
		return Challenged
	case r.Status == http.StatusForbidden && ok && f.RefusesCredential != nil && f.RefusesCredential(failure):
		return CredentialRefused
	case class == Unauthorized && ok && failure.Kind != dialect.Authentication:
		return RequestUnauthorized
	}
	return class
}

// ClassifyStatus returns what a status with its quota headers means, whatever the body says.
func (f *Family) ClassifyStatus(r Response) Class {
	switch {
	case r.Status >= 200 && r.Status < 300:
		return Success
	case r.Status == http.StatusTooManyRequests:
		return f.classify429(&r)
	case r.Status == http.StatusUnauthorized:
		return Unauthorized
	case r.Status == statusOverloaded:
		return Overloaded
	case r.Status >= 500:
		return ServerError
	}
	return Relayed
}

// classify429 prefers what the windows say to what the aggregate says (QUO-4).
func (f *Family) classify429(r *Response) Class {
	class, named := Throttled, false
	for i, window := range f.Windows.Windows() {
		w := &r.Quota.Windows[i]
		named = named || w.Status != ""
		switch {
		case w.Status != statusRejected:
		case window.Scope != "" && window.Scope == r.Scope:
			if class == Throttled {
				class = ScopeRejected
			}
		default:
			class = Rejected
		}
	}
	if !named && r.Quota.Status == statusRejected {
		return Rejected
	}
	return class
}

// ClassifyEvent returns what the error that begins a stream of status 200 means, and the status that the response then
// counts as (FO-11).
func ClassifyEvent(kind dialect.ErrorKind) (_ Class, status int) {
	switch kind {
	case dialect.Overloaded:
		return Overloaded, statusOverloaded
	case dialect.RateLimit:
		return Throttled, http.StatusTooManyRequests
	}
	return ServerError, http.StatusInternalServerError
}

// isFrontProxy reports whether a response names the proxy in front of the provider, which responds in its place when it takes
// a client for a robot or cannot reach the provider.
func isFrontProxy(h http.Header) bool {
	return h["Cf-Mitigated"] != nil || strings.EqualFold(h.Get("Server"), "cloudflare")
}

// isPage reports whether a body is something other than JSON.
func isPage(body []byte) bool {
	text := bytes.TrimLeft(body, " \t\r\n")
	return len(text) > 0 && text[0] != '{'
}
