package family

import (
	"bytes"
	"net/http"
	"strings"
	"time"

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
	Now    time.Time     // when the response was received
	Body   func() []byte // returns the beginning of the body as text; called only if the class depends on it. nil: it has no text

	// Failure is the error that a stream of status 200 begins with (FO-11, FAM-7); nil: it does not begin with one.
	Failure *dialect.Error

	text []byte // that Body returned
}

// Text returns the beginning of the body as text.
func (r *Response) Text() []byte {
	if r.text == nil && r.Body != nil {
		r.text = r.Body()
	}
	return r.text
}

// Verdict is what a response means.
type Verdict struct {
	Class Class
	Details
}

// Details are what a response says beyond its class. The zero value is nothing.
type Details struct {
	Cooldown time.Duration // in place of that of the class's rule; 0: as the rule says
	Windows  quota.Set     // of a quota rejection: those that are used up; empty: those whose status says so
	Reason   string        // why the account cannot serve for long, for people; empty: nothing that a person could change
}

// Classify returns what a response means (5-failover).
func (f *Family) Classify(r Response) Verdict {
	class := f.ClassifyStatus(r)
	if class == Success {
		return Verdict{Class: class}
	}
	return f.classifyBody(r, class)
}

// classifyBody returns what a response means that has a class by its status, and is not a success.
func (f *Family) classifyBody(r Response, class Class) Verdict {
	if isFrontProxy(r.Header) && (r.Status == http.StatusForbidden || r.Status >= 500) && isPage(r.Text()) {
		return Verdict{Class: Challenged}
	}
	if v, ok := f.refine(&r); ok {
		return v
	}
	if r.Status != http.StatusForbidden && class != Unauthorized {
		return Verdict{Class: class}
	}
	failure, ok := f.Dialect.ParseError(r.Text())
	switch {
	case r.Status == http.StatusForbidden && ok && f.RefusesCredential != nil && f.RefusesCredential(failure):
		class = CredentialRefused
	case class == Unauthorized && ok && failure.Kind != dialect.Authentication:
		class = RequestUnauthorized
	}
	return Verdict{Class: class}
}

func (f *Family) refine(r *Response) (Verdict, bool) {
	if f.Refine == nil {
		return Verdict{}, false
	}
	return f.Refine(r)
}

// ClassifyStatus returns what a status with its quota headers means, whatever the body says.
func (f *Family) ClassifyStatus(r Response) Class {
	if class, ok := f.Statuses[r.Status]; ok {
		return class
	}
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

// ClassifyEvent returns what the failure that begins a stream of status 200 means, and the status that the response then counts
// as (FO-11, FAM-7).
func (f *Family) ClassifyEvent(r Response) (_ Verdict, status int) {
	v, ok := f.refine(&r)
	if !ok {
		switch r.Failure.Kind {
		case dialect.Overloaded:
			v.Class = Overloaded
		case dialect.RateLimit:
			v.Class = Throttled
		default:
			v.Class = ServerError
		}
	}
	return v, v.Class.status()
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
