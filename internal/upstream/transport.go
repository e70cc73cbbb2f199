package upstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"shunt/internal/family"
	"shunt/internal/hosts"
	"shunt/internal/http1"
	"shunt/internal/wire"
)

// Transport carries requests to upstreams over HTTP/1.1: one connection for each request in flight, so that one that dies
// takes one stream with it. It follows no redirect and never resends on its own; to a client's request it adds no header. It
// is safe for concurrent use.
type Transport struct {
	hops hops            // for clients' requests
	own  *http.Transport // for shunt's own requests
	live *live           // what is known of the accounts that it sends requests of
}

// hops sends clients' requests: through package http1 or, as a fallback, through net/http.
type hops interface {
	// sender returns what sends requests to the origin of a URL.
	sender(base *url.URL) sender
	// close ends idle connections.
	close()
}

// sender sends requests to one origin.
type sender interface {
	// Host returns the origin's host as the Host header has it.
	Host() string
	// send sends a request and returns the response, whose body the caller closes. It releases the payload when it is sent,
	// which may be after the response has begun. Its errors are the same whatever sends: they wrap [http1.ErrNoConnection],
	// [http1.ErrTimeout], [http1.ErrMalformed] or the context's own, or are an [http1.SendError].
	send(ctx context.Context, p *payload) (*http1.Response, error)
}

// DialFunc opens a connection.
type DialFunc = http1.DialFunc

// NewTransport returns a transport that uses package http1; dial is nil outside tests.
func NewTransport(dial DialFunc) *Transport {
	return newTransport(dial, func(dial DialFunc) hops { return http1Hops{http1.NewClient(dial)} })
}

// NewNetHTTPTransport is like [NewTransport], but uses net/http for clients' requests too.
func NewNetHTTPTransport(dial DialFunc) *Transport {
	return newTransport(dial, func(dial DialFunc) hops { return newNetHTTP(dial) })
}

func newTransport(dial DialFunc, newHops func(DialFunc) hops) *Transport {
	if dial == nil {
		dial = dialer
	}
	own := newHTTPTransport(dial)
	own.Proxy, own.DisableKeepAlives, own.MaxResponseHeaderBytes = hosts.Proxy, true, 1<<20
	return &Transport{newHops(dial), own, newLive()}
}

// newHTTPTransport returns what every use of net/http's transport has in common.
func newHTTPTransport(dial DialFunc) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, http1.ConnectTimeout)
			defer cancel()
			return dial(ctx, network, address)
		},
		TLSHandshakeTimeout: http1.ConnectTimeout,
		DisableCompression:  true,
		Protocols:           &protocols,
	}
}

type http1Hops struct{ *http1.Client }

func (h http1Hops) sender(base *url.URL) sender { return http1Origin{h.Origin(base)} }

func (h http1Hops) close() { h.Close() }

type http1Origin struct{ *http1.Origin }

func (o http1Origin) send(ctx context.Context, p *payload) (*http1.Response, error) {
	prefix, credential := o.Forward()
	if credential != "" {
		p.fields = insertField(p.fields, field{"Proxy-Authorization", credential})
	}
	p.writeHead(prefix, o.Host())
	return o.Send(ctx, &http1.Request{Head: p.head, Body: p.body, Timeout: p.timeout, Fresh: p.fresh, Sent: p.release})
}

// dialer dials localhost only on loopback addresses (CFG-41), whatever a resolver returns.
func dialer(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	if host, port, err := net.SplitHostPort(address); err == nil && host == "localhost" {
		conn, err := d.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			return conn, nil
		}
		if six, err6 := d.DialContext(ctx, network, net.JoinHostPort("::1", port)); err6 == nil {
			return six, nil
		}
		return nil, err
	}
	return d.DialContext(ctx, network, address)
}

// Close closes idle connections, and ends the requests for the routes of accounts.
func (t *Transport) Close() {
	t.live.close()
	t.hops.close()
	t.own.CloseIdleConnections()
}

// RoundTrip sends one of shunt's own requests, on a new connection. It implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.own.RoundTrip(r) }

// endpoint is where the requests of an upstream go.
type endpoint struct {
	base     *url.URL
	baseText string // base as text
	sender   sender
	path     string // of the base URL; the paths of requests are appended to it
}

func (t *Transport) endpoint(base *url.URL) endpoint {
	return endpoint{base, base.String(), t.hops.sender(base), strings.TrimSuffix(base.EscapedPath(), "/")}
}

// call is one request to an upstream.
type call struct {
	target     string // path and query, below the base URL
	body       *Body
	edits      []wire.Edit // of the body
	header     http.Header // as far as it may be sent on
	set        []field     // replace lines of the header of the same names
	credential Credential
	fresh      bool // requires a new connection
}

// passing returns the call that passes the request on, with edits of its body, to an upstream of the client's own dialect.
func (r *Request) passing(f *family.Family, edits []wire.Edit) call {
	c := call{target: r.target(f), header: r.Client.Header, body: r.Body, edits: edits, set: make([]field, 0, 4)}
	switch {
	case r.Compressed == nil:
	case len(edits) == 0:
		c.body = r.Compressed
	default:
		c.set = append(c.set, field{"Content-Encoding", ""})
	}
	return c
}

// target returns the path and query of a request that is passed on (WIRE-4).
func (r *Request) target(f *family.Family) string {
	u, path := r.Client.URL, cmp.Or(f.Path, r.Path)
	if u.RawQuery == "" && !u.ForceQuery {
		return path
	}
	return path + "?" + u.RawQuery
}

// call returns the call that sends the translated request.
func (t *translation) call(agent string) call {
	return call{target: t.path(), header: t.header(agent), body: t.body}
}

// send sends a request and returns the upstream's response, whose body the caller closes. Its errors wrap those of [sender].
func (e *endpoint) send(r *Request, c call) (*http1.Response, error) {
	response, err := e.sender.send(r.Client.Context(), e.payload(r, c))
	if err == nil && response.Status < http.StatusOK { // which net/http's server cannot relay
		response.Body.Close()
		err = fmt.Errorf("%w: it has the status %03d", http1.ErrMalformed, response.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("send to %s: %w", e.sender.Host(), err)
	}
	return response, nil
}

// payload returns the request of a call.
func (e *endpoint) payload(r *Request, c call) *payload {
	p := newPayload(c.body, c.edits)
	p.target, p.timeout, p.fresh = e.path+c.target, r.ttfb(), c.fresh
	p.fields = appendFields(p.fields, c.header, c.credential, c.set)
	return p
}

// cause returns why a send failed, for the log. It quotes the network, but nothing that the upstream sent.
func cause(err error) string {
	var proxy *http1.ProxyError
	if errors.As(err, &proxy) {
		return "proxy: " + causeOf(proxy.Err, proxy.Err.Error())
	}
	return causeOf(err, "the response is not valid HTTP")
}

func causeOf(err error, otherwise string) string {
	var network *net.OpError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &dns):
		return dns.Error()
	case errors.As(err, &certificate):
		return certificate.Error()
	case errors.As(err, &record):
		return "the host does not speak TLS"
	case errors.As(err, &network):
		return network.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed before a response"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no connection in time"
	}
	return otherwise
}
