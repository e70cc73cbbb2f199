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
	name string
	endpoint
	credential Credential
	family     *family.Family
	transport  *Transport
}

// NewSingle returns an upstream that presents the credential; the zero [Credential] leaves the client's in place. The family
// says what its responses mean.
func NewSingle(name string, base *url.URL, c Credential, f *family.Family, t *Transport) *Single {
	return &Single{name, t.endpoint(base), c, f, t}
}

// PassesTo implements [Upstream].
func (s *Single) PassesTo() (to string, ok bool) {
	return origin(s.base), s.credential == Credential{}
}

// Serve sends the request once, and once more on a new connection if the first failed before response headers (CHN-3b).
func (s *Single) Serve(w http.ResponseWriter, r *Request) Outcome {
	credential, model := s.credential, r.Model
	if r.withoutCredential && s.credential == (Credential{}) {
		credential = noCredential
	}
	c := call{credential: credential, edits: r.edits("")}
	if r.restore() != "" {
		c.set = []field{identityEncoding}
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
		return Outcome{Failure: &Failure{
			Status: http.StatusBadGateway, Kind: dialect.ServerError, Message: "provider '" + s.name + "' " + what, severity: noResponse, cause: cause(err),
		}}
	}
	if s.family.DelaysInBody && delays(response.Status) {
		extendRetryAfter(s.family, response, time.Now())
	}
	writeHeader := func(h http.Header) {
		r.copyResponseHeader(h, response.Header, s.family)
		writeGatewayHeaders(h, s.name, r.Scan.Model, model)
	}
	if r.chained && severityOf(response.Status) != final {
		return r.end(w, &held{keep(s.family, response), writeHeader})
	}
	defer response.Body.Close()
	body := relay.Response{Status: response.Status, Header: response.Header, Body: response.Body, Length: response.Length}
	result := relay.Relay(w, body, relay.Options{
		Dialect:   r.Dialect,
		KeepAlive: r.Times.KeepAlive,
		Idle:      r.Times.Idle,
		Model:     r.restore(),
		Commit: func(h http.Header) {
			r.Release()
			writeHeader(h)
		},
	})
	r.record(response.Status, result)
	return Outcome{Aborted: result.Aborted}
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
