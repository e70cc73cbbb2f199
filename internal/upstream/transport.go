package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"shunt/internal/anthropic"
)

// Transport carries requests to upstreams over HTTP/1.1: one connection a request in flight, so that one that dies takes
// one stream with it. It follows no redirect, adds no header and never resends on its own. It is safe for concurrent use.
type Transport struct {
	kept  *http.Transport // keeps connections
	fresh *http.Transport // dials anew for every request (FO-0)
}

// DialFunc opens a connection.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

const connectTimeout = 10 * time.Second // to dial, and again for TLS

// NewTransport returns a transport; dial is nil outside tests.
func NewTransport(dial DialFunc) *Transport {
	if dial == nil {
		dial = dialer
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	kept := &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, connectTimeout)
			defer cancel()
			c, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return conn{c}, nil
		},
		TLSHandshakeTimeout:    connectTimeout,
		DisableCompression:     true,
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    2048,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		Protocols:              &protocols,
	}
	fresh := kept.Clone()
	fresh.DisableKeepAlives = true
	return &Transport{kept, fresh}
}

// conn sends request bodies through pooled buffers; io.Copy would make one for each.
type conn struct{ net.Conn }

func (c conn) ReadFrom(r io.Reader) (int64, error) {
	buf := copyBuffers.Get().(*[copyBufferSize]byte)
	defer copyBuffers.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{c.Conn}, r, buf[:])
}

const copyBufferSize = 64 << 10

var copyBuffers = sync.Pool{New: func() any { return new([copyBufferSize]byte) }}

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
	t.kept.CloseIdleConnections()
	t.fresh.CloseIdleConnections()
}

// RoundTrip carries a request that is not a client's, on a connection of its own. It makes Transport an
// [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.fresh.RoundTrip(r) }

// errHostDown says that no connection to the host came about (FO-0b).
var errHostDown = errors.New("no connection")

// errHeaderTimeout says that no response header came in time.
var errHeaderTimeout = errors.New("no response headers in time")

// call is one request to an upstream.
type call struct {
	url    *url.URL
	header http.Header
	body   *Body
	edits  []anthropic.Edit
	ttfb   time.Duration // from the last byte handed to the network to the response headers; 0 is no limit
	fresh  bool
}

// send returns the upstream's answer, whose body the caller closes. Its errors wrap [errHeaderTimeout], [errHostDown], the
// context's own, or are any other failure of the connection before response headers.
func (t *Transport) send(ctx context.Context, c call) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	body, length := c.body.open(c.edits)
	if c.ttfb > 0 {
		body.limit(c.ttfb, func() { cancel(errHeaderTimeout) })
	}
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	request := (&http.Request{
		Method: http.MethodPost, URL: c.url, Host: c.url.Host, Header: c.header, Body: body, ContentLength: length,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)

	transport := t.kept
	if c.fresh {
		t.kept.CloseIdleConnections()
		transport = t.fresh
	}
	response, err := transport.RoundTrip(request)
	body.answered()
	if err == nil && response.StatusCode < http.StatusOK {
		response.Body.Close()
		err = fmt.Errorf("the upstream's answer has the status %03d", response.StatusCode)
	}
	if err == nil && context.Cause(ctx) == errHeaderTimeout { // the headers came a moment too late: the body is cut already
		response.Body.Close()
		err = errHeaderTimeout
	}
	switch {
	case err == nil:
		response.Body = &cancelOnClose{response.Body, cancel}
		return response, nil
	case context.Cause(ctx) == errHeaderTimeout:
		err = errHeaderTimeout
	case !connected.Load() && ctx.Err() == nil:
		err = fmt.Errorf("%w: %w", errHostDown, err)
	}
	cancel(nil)
	return nil, fmt.Errorf("send to %s: %w", c.url.Host, err)
}

// cause is why a send failed, for the log: what the network said, and nothing that the upstream said, since net/http quotes
// what it cannot read.
func cause(err error) string {
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
	return "the answer is no HTTP that can be read"
}

// cancelOnClose frees a call's context together with its body.
type cancelOnClose struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b *cancelOnClose) Close() error {
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}
