package upstream

import (
	"net/http"
	"strings"
	"time"

	"shunt/internal/observe"
)

// hasBegun reports whether the client has the head of its response already (FAM-8).
func (r *Request) hasBegun() bool { return r.client != nil && r.client.Begun() }

// maySend lets the client of a translated stream get its head in time, now that the request is sent to an upstream (FAM-8). In
// the client's own dialect, it gets its head early only if that is at once.
func (r *Request) maySend(translated bool) {
	if r.client != nil && (translated || r.Times.CommitNative) {
		r.client.BeginAfter(r.Times.CommitAfter)
	}
}

// passes reports whether the client may get a response as the upstream sent it; t is the request's translation, or nil.
func (r *Request) passes(t *translation) bool { return t == nil && !r.hasBegun() }

// settle ends the response to a client that has its head, if the request failed.
func (r *Request) settle(o Outcome) Outcome {
	f := o.Failure
	if f == nil || !r.hasBegun() {
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
