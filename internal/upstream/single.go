package upstream

import (
	"errors"
	"net/http"
	"net/url"

	"shunt/internal/dialect/messages"
	"shunt/internal/http1"
	"shunt/internal/observe"
	"shunt/internal/relay"
)

// Single is an upstream of one credential: a key of the operator's, or the client's own (passthrough).
type Single struct {
	name string
	endpoint
	credential Credential
	transport  *Transport
}

// NewSingle returns an upstream that presents the credential; the zero [Credential] leaves the client's in place.
func NewSingle(name string, base *url.URL, c Credential, t *Transport) *Single {
	return &Single{name, t.endpoint(base), c, t}
}

// passes reports whether the client's own credential goes through.
func (s *Single) passes() bool { return s.credential == Credential{} }

// Serve sends the request once, and once more on a new connection when the first broke before response headers (CHN-3b).
func (s *Single) Serve(w http.ResponseWriter, r *Request) Outcome {
	credential, model := s.credential, r.Model
	if r.anonymous && s.passes() {
		credential = nobody
	}
	c := call{credential: credential, edits: r.edits("")}
	if r.restore() != "" {
		c.set = []field{plainAnswer}
	}
	response, err := s.ask(r, c)
	if err != nil && mayResendAfter(err) && !r.gone() {
		c.fresh = true
		response, err = s.ask(r, c)
	}
	switch {
	case r.gone():
		if response != nil {
			response.Body.Close()
		}
		return Outcome{}
	case errors.Is(err, http1.ErrPatience):
		return Outcome{Failure: noHeadersInTime}
	case err != nil:
		reason, _ := classifyError(err)
		what := "closed the connection before it responded: shunt's log says how"
		switch reason {
		case hostDown:
			what = "cannot be reached: check the network and the provider's base_url"
		case unreadable:
			what = "sent something other than an HTTP response, or only the beginning of one: check that its base_url leads to it"
		}
		if !r.next { // else the chain tells
			r.Record.Rotations = append(r.Record.Rotations, observe.Rotation{From: s.name, Reason: reason.String(), Error: cause(err)})
		}
		return Outcome{Failure: &Failure{
			Status: http.StatusBadGateway, Type: messages.TypeAPI, Message: "provider '" + s.name + "' " + what, telling: unheard, cause: cause(err),
		}}
	}
	writeHeader := func(h http.Header) {
		copyResponseHeader(h, response.Header)
		writeGatewayHeaders(h, s.name, r.Scan.Model, model)
	}
	if r.chained && tellingOf(response.Status) != stops {
		return r.end(w, &held{keep(response), writeHeader})
	}
	defer response.Body.Close()
	answer := relay.Answer{Status: response.Status, Header: response.Header, Body: response.Body, Length: response.Length}
	result := relay.Relay(w, answer, relay.Options{
		KeepAlive: r.Times.KeepAlive,
		Idle:      r.Times.Idle,
		Model:     r.restore(),
		Commit: func(h http.Header) {
			r.Release()
			writeHeader(h)
		},
	})
	r.record(response.Status, result)
	return Outcome{Broken: result.Broken}
}

// mayResendAfter reports whether a request that got no response may be sent once more (CHN-3b, FO-0a).
func mayResendAfter(err error) bool {
	class, failure := classifyError(err)
	return class == hostDown || class == unreachable && mayResend(failure)
}

func (s *Single) ask(r *Request, c call) (*http1.Response, error) {
	r.call("")
	response, err := s.send(r, c)
	r.heard(response, err)
	if err == nil && !r.gone() {
		class := classify(response.Status, messages.ParseRateLimit(response.Header), false)
		r.meant(class, !r.chained || tellingOf(response.Status) == stops)
	}
	return response, err
}
