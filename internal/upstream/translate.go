package upstream

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/family"
	"shunt/internal/http1"
	"shunt/internal/observe"
	"shunt/internal/relay"
	"shunt/internal/wire"
)

// respond sends the response to a translated request to the client.
func (t *translation) respond(w http.ResponseWriter, r *Request, response *http1.Response, o relay.Translation) relay.Result {
	body, err := decoder(response.Header, response.Body)
	if err != nil {
		return relay.Result{Refusal: &dialect.Error{Kind: dialect.ServerError, Message: "the upstream compressed its response in a way that shunt cannot read"}}
	}
	o.Reader = t.family.Dialect.NewReader(&t.encoded, relay.IsEventStream(response.Header))
	o.Writer = r.Dialect.NewWriter(dialect.ResponseOptions{Turn: t.turn, Origin: t.target.Origin, Created: time.Now()})
	o.Client, o.Idle = r.client, r.Times.Idle
	result := relay.Translate(w, relay.Response{Status: response.Status, Header: response.Header, Body: body, Length: -1}, o)
	if !result.Usage.Known && result.Refusal == nil && result.Failure == nil {
		result.Usage, result.Estimated = t.estimate(result.OutputBytes), true
	}
	return result
}

// bytesPerToken is about how long a token is.
const bytesPerToken = 4

// estimate returns about what a response cost whose upstream did not say (DIA-9).
func (t *translation) estimate(output int64) dialect.Usage {
	return dialect.Usage{Input: int64(len(t.encoded.Body)) / bytesPerToken, Output: output / bytesPerToken, Known: true}
}

// translate sends the response of an account to the client unless it fails before its content (FAM-8).
func (x *exchange) translate(a *attempt, facts family.Response, response *http1.Response) reply {
	t := x.translation
	result := t.respond(x.w, x.r, response, relay.Translation{Tap: x.tap(a), Commit: func(h http.Header) {
		x.writeHeader(h, nil, a)
		x.succeed(a)
		x.r.Release()
	}})
	switch {
	case result.Refusal != nil && result.Truncated:
		response.Body.Close()
		x.r.noteClass(x.reason(family.Unreadable), false)
		return reply{class: family.Unreadable, cause: dialect.TruncatedMessage}
	case result.Refusal != nil:
		return x.failedEarly(facts, response, result)
	}
	response.Body.Close()
	return reply{done: true, Outcome: x.r.translated(result)}
}

// translated ends a request whose response has been translated.
func (r *Request) translated(result relay.Result) Outcome {
	if e := result.Failure; e != nil {
		r.noteClass(observe.ResultStreamError, false)
		return Outcome{Failure: failureOf(e, dialect.StatusOf(e.Kind))}
	}
	r.record(http.StatusOK, result)
	return Outcome{}
}

// failureOf returns an upstream's error as a failure; its status is the given one if it has none of its own.
func failureOf(e *dialect.Error, status int) *Failure {
	return &Failure{
		Status: cmp.Or(e.Status, status), Kind: e.Kind, Code: e.Code, Message: e.Message, Resets: e.Resets, RetryAfter: e.RetryAfter,
		severity: severityOf(cmp.Or(e.Status, status)), reason: observe.ResultStreamError,
	}
}

// asFailure returns a response that was kept as a failure, for a client that cannot get it as it is: in the upstream's words (DIA-6).
func (h *held) asFailure(now time.Time) *Failure {
	e := h.failure
	if e == nil {
		e = dialect.ReadError(h.family.Dialect, h.effectiveStatus, decoded(h.header, h.body))
	}
	f := failureOf(e, h.effectiveStatus)
	f.reason = strconv.Itoa(h.effectiveStatus)
	if after, ok := wire.RetryAfter(h.header, now); ok {
		f.RetryAfter = after
	}
	f.Final = f.RetryAfter > shownAtOnce
	return f
}

// hold returns a response to end the request with.
func (x *exchange) hold(k *kept, commit func(http.Header)) *held {
	return &held{kept: k, commit: commit, foreign: x.translation != nil}
}
