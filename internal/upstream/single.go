package upstream

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/family"
	"shunt/internal/http1"
	"shunt/internal/observe"
	"shunt/internal/relay"
)

// Single is an upstream with one credential: a key of the operator's, or the client's own (passthrough).
type Single struct {
	endpoint
	RequestOptions
	name       string
	credential Credential
	family     *family.Family
	transport  *Transport
}

// SingleOptions are the parts of a [Single].
type SingleOptions struct {
	Name       string
	Family     *family.Family // says what its responses mean
	Base       *url.URL
	Requests   RequestOptions
	Credential Credential // the zero value leaves the client's in place
	Transport  *Transport
}

// NewSingle returns an upstream that presents the credential.
func NewSingle(o SingleOptions) *Single {
	return &Single{
		endpoint: o.Transport.endpoint(o.Base), RequestOptions: o.Requests, name: o.Name, credential: o.Credential,
		family: o.Family, transport: o.Transport,
	}
}

// PassesTo implements [Upstream].
func (s *Single) PassesTo() (to string, ok bool) {
	return origin(s.base), s.credential == Credential{}
}

// Dialect implements [Upstream].
func (s *Single) Dialect() dialect.Outbound { return s.family.Dialect }

// HasAccounts implements [Upstream].
func (*Single) HasAccounts() bool { return false }

// origin returns who can read what the upstream writes for itself alone (RSP-3).
func (s *Single) origin() dialect.Origin {
	return dialect.Origin{Family: s.family.Name, Identity: shortHash(s.name)}
}

// Serve sends the request once, and once more on a new connection if the first failed before response headers (CHN-3b).
func (s *Single) Serve(w http.ResponseWriter, r *Request) Outcome {
	t, f := r.translation(s.family, s.Accepts, r.Model)
	if f == nil && t != nil {
		f = t.encode(s.origin())
		defer t.release()
	}
	if f != nil {
		return Outcome{Failure: f}
	}
	c := s.call(r, t)
	if t != nil {
		r.mayBegin()
	}
	response, err := s.sendOnce(r, c)
	if err != nil && mayResendAfter(err) && !r.gone() {
		c.fresh = true
		response, err = s.sendOnce(r, c)
	}
	switch {
	case r.gone():
		if response != nil {
			response.Body.Close()
		}
		return Outcome{}
	case errors.Is(err, http1.ErrTimeout):
		return Outcome{Failure: noHeadersInTime}
	case err != nil:
		return Outcome{Failure: s.unreachable(r, err)}
	}
	if s.family.DelaysInBody && delays(response.Status) {
		extendRetryAfter(s.family, response, time.Now())
	}
	return s.relay(w, r, t, response)
}

// call returns the request; t is its translation, or nil.
func (s *Single) call(r *Request, t *translation) call {
	var c call
	if t != nil {
		c = t.call(s.Agent)
		r.Record.Dropped.Reasoning = t.encoded.Dropped
	} else {
		edits := r.edits("")
		edits, r.Record.Dropped.Reasoning = r.cuts(edits, s.origin)
		c = r.passing(s.family, edits)
	}
	if c.credential = s.credential; r.withoutCredential && s.credential == (Credential{}) {
		c.credential = NoCredential()
	}
	if t != nil && s.credential == (Credential{}) && !r.withoutCredential {
		c.header = withCredentialOf(c.header, r.Client.Header)
	}
	if t != nil || r.restore() != "" {
		c.set = append(c.set, identityEncoding)
	}
	c.set = withStatic(c.set, s.Headers)
	return c
}

// unreachable returns the failure of a request without a response.
func (s *Single) unreachable(r *Request, err error) *Failure {
	class, _ := classifyError(err)
	what := "closed the connection before it responded: shunt's log says how"
	switch class {
	case family.HostDown:
		what = "cannot be reached: check the network and the provider's base_url"
	case family.Unreadable:
		what = "sent something other than an HTTP response, or only the beginning of one: check its base_url"
	}
	if !r.next { // else the chain records it
		r.Record.Rotations = append(r.Record.Rotations, observe.Rotation{From: s.name, Reason: class.String(), Error: cause(err)})
	}
	return &Failure{
		Status: http.StatusBadGateway, Kind: dialect.ServerError, Message: "provider '" + s.name + "' " + what, severity: noResponse, cause: cause(err),
	}
}

// relay ends the request with a response.
func (s *Single) relay(w http.ResponseWriter, r *Request, t *translation, response *http1.Response) Outcome {
	model := r.Model
	writeHeader := func(h http.Header) {
		if t == nil {
			r.copyResponseHeader(h, response.Header, s.family)
		}
		writeGatewayHeaders(h, s.name, r.Scan.Model, model)
	}
	commit := func(h http.Header) {
		r.Release()
		writeHeader(h)
	}
	end := func(k *kept) Outcome { return r.end(w, &held{kept: k, commit: writeHeader, foreign: t != nil}) }
	switch {
	case r.chained && severityOf(response.Status) != final, response.Status >= http.StatusMultipleChoices && !r.passes(t):
		return end(keep(s.family, response))
	case t != nil:
		defer response.Body.Close()
		result := t.respond(w, r, response, relay.Translation{Commit: commit})
		if result.Refusal == nil {
			return r.translated(result)
		}
		r.noteClass(observe.ResultStreamError, false)
		return end(s.keepFailed(response, result))
	}
	defer response.Body.Close()
	body := relay.Response{Status: response.Status, Header: response.Header, Body: response.Body, Length: response.Length}
	result := relay.Relay(w, body, relay.Options{
		Dialect:   r.Dialect,
		KeepAlive: r.Times.KeepAlive,
		Idle:      r.Times.Idle,
		Model:     r.restore(),
		Client:    r.client,
		Commit:    commit,
	})
	if result.Refusal != nil { // the client had its head, and this is not a stream
		return end(s.keepFailed(response, result))
	}
	r.record(response.Status, result)
	return Outcome{Aborted: result.Aborted}
}

// keepFailed keeps a response that failed before its content.
func (s *Single) keepFailed(response *http1.Response, result relay.Result) *kept {
	status := http.StatusBadGateway
	if !result.Truncated {
		_, status = s.family.ClassifyEvent(family.Response{
			Status: response.Status, Header: response.Header, Failure: result.Refusal, Now: time.Now(),
		})
	}
	k := keepRefused(s.family, response, nil, status)
	k.failure = result.Refusal
	return k
}

// mayResendAfter reports whether a request that got no response may be sent once more (CHN-3b, FO-0a).
func mayResendAfter(err error) bool {
	class, failure := classifyError(err)
	return class == family.HostDown || class == family.Unreachable && mayResend(failure)
}

func (s *Single) sendOnce(r *Request, c call) (*http1.Response, error) {
	r.noteSent("")
	response, err := s.send(r, c)
	r.noteResponse(response, err)
	if err == nil && !r.gone() {
		class := s.family.ClassifyStatus(family.Response{Status: response.Status, Quota: s.family.ReadQuota(response.Header)})
		r.noteClass(class.String(), !r.chained || severityOf(response.Status) == final)
	}
	return response, err
}
