package upstream

import (
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

	"shunt/internal/hosts"
	"shunt/internal/http1"
	"shunt/internal/wire"
)

// Transport carries requests to upstreams over HTTP/1.1: one connection a request in flight, so that one that dies takes
// one stream with it. It follows no redirect and never resends on its own; to a client's request it adds no header. It is
// safe for concurrent use.
type Transport struct {
	hops *http1.Client   // of clients' requests
	own  *http.Transport // of requests that are shunt's own
}

// DialFunc opens a connection.
type DialFunc = http1.DialFunc

// NewTransport returns a transport; dial is nil outside tests.
func NewTransport(dial DialFunc) *Transport {
	if dial == nil {
		dial = dialer
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &Transport{http1.NewClient(dial), &http.Transport{
		Proxy: hosts.Proxy,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, http1.ConnectTimeout)
			defer cancel()
			return dial(ctx, network, address)
		},
		TLSHandshakeTimeout:    http1.ConnectTimeout,
		DisableCompression:     true,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: 1 << 20,
		Protocols:              &protocols,
	}}
}

// dialer dials localhost on loopback addresses only (CFG-41), whatever a resolver says.
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

// Close ends idle connections.
func (t *Transport) Close() {
	t.hops.Close()
	t.own.CloseIdleConnections()
}

// RoundTrip carries a request that is not a client's, on a connection of its own. It makes Transport an
// [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.own.RoundTrip(r) }

// endpoint is where the requests of an upstream go.
type endpoint struct {
	base     *url.URL
	baseText string // the same as text
	origin   *http1.Origin
	path     string // of the base URL, which those of requests are appended to
}

func (t *Transport) endpoint(base *url.URL) endpoint {
	return endpoint{base, base.String(), t.hops.Origin(base), strings.TrimSuffix(base.EscapedPath(), "/")}
}

// target is the path and query of a request below the base URL (WIRE-4).
func (e *endpoint) target(r *Request) string {
	u := r.Client.URL
	if u.RawQuery == "" && !u.ForceQuery {
		return e.path + r.Path
	}
	return e.path + r.Path + "?" + u.RawQuery
}

// call is one request to an upstream.
type call struct {
	credential Credential
	set        []field // headers of shunt's own in place of the client's
	edits      []wire.Edit
	fresh      bool
}

// send returns the upstream's answer, whose body the caller closes. Its errors wrap [http1.ErrPatience],
// [http1.ErrNoConnection], [http1.ErrAnswer], the context's own, or are any other failure of the connection before response
// headers.
func (e *endpoint) send(r *Request, c call) (*http1.Response, error) {
	p := newPayload(r.Body, c.edits)
	prefix, credential := e.origin.Forward()
	if credential != "" {
		c.set = append(c.set, field{"Proxy-Authorization", credential})
	}
	p.writeHead(prefix+e.target(r), e.origin.Host(), r.Client.Header, &c)
	response, err := e.origin.Send(r.Client.Context(), &http1.Request{
		Head: p.head, Body: p.body, Patience: r.ttfb(), Fresh: c.fresh, Sent: p.release,
	})
	if err != nil {
		return nil, fmt.Errorf("send to %s: %w", e.origin.Host(), err)
	}
	return response, nil
}

// cause is why a send failed, for the log: what the network said, and nothing of an answer.
func cause(err error) string {
	var proxy *http1.ProxyError
	if errors.As(err, &proxy) {
		return "proxy: " + causeOf(proxy.Err, proxy.Err.Error())
	}
	return causeOf(err, "the answer is no HTTP that can be read")
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
		return "the connection was closed before an answer"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no connection in time"
	}
	return otherwise
}
