package upstream

import (
	"net/http"
	"strings"
	"time"

	"shunt/internal/observe"
)

// hasBegun reports whether the client has the head of its response already (FAM-8).
func (r *Request) hasBegun() bool { return r.client != nil && r.client.Begun() }

// mayBegin lets the client of a stream get its head in time, now that the request is sent to an upstream (FAM-8).
func (r *Request) mayBegin() {
	if r.client != nil {
		r.client.BeginAfter(r.Times.CommitAfter)
	}
}

// passes reports whether the client may get a response as the upstream sent it; t is the request's translation, or nil.
func (r *Request) passes(t *translation) bool { return t == nil && !r.hasBegun() }

// holds reports whether the client has the head of its response, at the end of the request: from now on it gets none by itself.
func (r *Request) holds() bool { return r.client != nil && r.client.Hold() }

// settle ends the response to a client that has its head, if the request failed.
func (r *Request) settle(o Outcome) Outcome {
	f := o.Failure
	if f == nil || !r.holds() {
		return o
	}
	e := f.AsError()
	if wait := f.RetryAfter; wait > 0 && !strings.Contains(e.Message, backIn) {
		e.Message += " (" + backIn + inWords(wait) + ")"
	}
	r.client.Fail(e)
	rec := r.Record
	rec.Status, rec.Error, rec.End, rec.StreamError = http.StatusOK, f.Message, observe.Failed, f.reason
	var first time.Time
	if rec.BytesOut, first = r.client.Sent(); !first.IsZero() {
		rec.TTFB = observe.Millis(first.Sub(rec.Time))
	}
	return Outcome{}
}
