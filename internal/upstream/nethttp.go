package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"shunt/internal/hosts"
	"shunt/internal/http1"
)

// netHTTP sends clients' requests through net/http's transport. Each request has a connection of its own: net/http may take bytes
// that follow a response for the response to the next request on the connection, which may be another client's.
//
// Otherwise it differs from package http1 in the order of request headers, in the Cache-Control that net/http adds to a response
// with Pragma: no-cache, in the Connection: close that it removes, in that it reads some malformed heads, and in that a response
// to a request that was not fully sent may be lost (go.dev/issue/40747).
type netHTTP struct {
	dial DialFunc

	mu      sync.Mutex
	origins map[string]*netOrigin
}

func newNetHTTP(dial DialFunc) *netHTTP {
	return &netHTTP{dial: dial, origins: map[string]*netOrigin{}}
}

func (n *netHTTP) sender(base *url.URL) sender {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := base.Scheme + "://" + base.Host
	o := n.origins[key]
	if o == nil {
		o = n.newOrigin(base)
		n.origins[key] = o
	}
	return o
}

func (n *netHTTP) close() {
	n.mu.Lock()
	origins := slices.Collect(maps.Values(n.origins))
	n.mu.Unlock()
	for _, o := range origins {
		o.transport.CloseIdleConnections()
	}
}

// netOrigin is a scheme, host and port.
type netOrigin struct {
	scheme, host string
	proxied      bool
	invalid      error // the proxy that the environment names cannot be used
	transport    *http.Transport
}

func (n *netHTTP) newOrigin(base *url.URL) *netOrigin {
	host := http1.HostOf(base)
	o := &netOrigin{scheme: base.Scheme, host: host}
	proxy, err := hosts.Proxy(&http.Request{URL: &url.URL{Scheme: base.Scheme, Host: host}})
	if err != nil { // may quote a password
		o.invalid = http1.ErrInvalidProxy
	}
	o.proxied = proxy != nil
	o.transport = newHTTPTransport(n.dial)
	o.transport.Proxy = http.ProxyURL(proxy)
	o.transport.ProxyConnectHeader = http.Header{"User-Agent": nil} // net/http would add its own
	o.transport.MaxIdleConnsPerHost = -1                            // none
	o.transport.OnProxyConnectResponse = func(_ context.Context, _ *url.URL, _ *http.Request, r *http.Response) error {
		if r.StatusCode != http.StatusOK { // net/http would quote the proxy
			return fmt.Errorf("it refused the connection with status %d", r.StatusCode)
		}
		return nil
	}
	if o.proxied {
		dial := o.transport.DialContext
		o.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dial(ctx, network, address)
			if err == nil { // for the proxy to open the connection; see netExchange.connected
				err = c.SetDeadline(time.Now().Add(http1.ConnectTimeout))
			}
			return c, err
		}
	}
	return o
}

func (o *netOrigin) Host() string { return o.host }

// send implements [sender].
func (o *netOrigin) send(ctx context.Context, p *payload) (*http1.Response, error) {
	path, query, queried := strings.Cut(p.target, "?")
	target := &url.URL{Scheme: o.scheme, Host: o.host, RawPath: path, RawQuery: query, ForceQuery: queried && query == ""}
	var err error
	if target.Path, err = url.PathUnescape(path); err == nil {
		err = o.invalid
	}
	if err != nil {
		p.release()
		return nil, fmt.Errorf("%w: %w", http1.ErrNoConnection, err)
	}
	header, length := headerOf(p.fields), p.length
	x := &netExchange{parent: ctx, proxied: o.proxied, timeout: p.timeout, parts: p.body, release: p.release}
	// A request with a body but without GetBody is never sent twice by net/http (FO-0a). No request has an empty body (RTE-2).
	r := &http.Request{Method: http.MethodPost, URL: target, Header: header, Body: &netBody{x: x}, ContentLength: length}
	ctx, x.cancel = context.WithCancelCause(ctx)
	response, err := o.transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              x.connected,
		WroteRequest:         x.wrote,
		GotFirstResponseByte: x.received,
	})))
	if timedOut := x.begun(); err != nil || timedOut {
		if err == nil {
			response.Body.Close()
		}
		err = x.why(err, timedOut)
		x.cancel(nil)
		return nil, err
	}
	return &http1.Response{
		Status: response.StatusCode, Header: response.Header, Length: response.ContentLength, Body: &netResponseBody{response.Body, x},
	}, nil
}

// netExchange is one request and what net/http reports about it, from goroutines of its own.
type netExchange struct {
	parent  context.Context
	cancel  context.CancelCauseFunc
	proxied bool
	timeout time.Duration
	release func() // called once

	mu     sync.Mutex
	parts  [][]byte    // what is still to be sent
	taken  int         // bytes of the body that net/http has read
	timer  *time.Timer // nil: it does not run
	late   bool        // the timeout has expired
	over   bool        // the response has begun, or there will be none
	closed bool        // net/http has closed the body

	connection bool // there is one
	first      bool // the first byte of a response has been received
	sentAt     time.Time
}

func (x *netExchange) connected(info httptrace.GotConnInfo) {
	if x.proxied {
		info.Conn.SetDeadline(time.Time{})
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.connection = true
	x.restart()
}

// restart starts the timeout again. x.mu is held.
func (x *netExchange) restart() {
	switch {
	case x.timeout == 0 || x.over:
	case x.timer == nil:
		x.timer = time.AfterFunc(x.timeout, x.expire)
	case x.timer.Stop():
		x.timer.Reset(x.timeout)
	}
}

func (x *netExchange) expire() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.over {
		x.late = true
		x.cancel(http1.ErrTimeout)
	}
}

func (x *netExchange) wrote(info httptrace.WroteRequestInfo) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if info.Err == nil {
		x.sentAt = time.Now()
		x.restart()
	}
}

func (x *netExchange) received() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.first = true
}

// begun ends the wait for the response, and reports whether the timeout has expired.
func (x *netExchange) begun() (timedOut bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	if x.timer != nil {
		x.timer.Stop()
	}
	return x.late
}

// why returns the error of package http1 that says why there is no response.
func (x *netExchange) why(err error, timedOut bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.parent.Err() != nil:
		return x.parent.Err()
	case timedOut:
		return http1.ErrTimeout
	case !x.connection && x.proxied:
		return fmt.Errorf("%w: %w", http1.ErrNoConnection, &http1.ProxyError{Err: err})
	case !x.connection:
		return fmt.Errorf("%w: %w", http1.ErrNoConnection, err)
	case x.first && !isFailedConnection(err):
		return http1.ErrMalformed // net/http quotes what it cannot read
	}
	failure := &http1.SendError{Err: err, Received: x.first}
	if !x.sentAt.IsZero() {
		failure.Sent, failure.After = true, time.Since(x.sentAt)
	}
	return failure
}

func isFailedConnection(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe)
}

// netBody is the body of a request as net/http reads it. Its type makes net/http write the head first and the body past its
// buffer, so that the request is on the wire when net/http reports that it wrote it.
type netBody struct{ x *netExchange }

// Read implements [io.Reader]. Each piece that the upstream has taken starts the timeout again.
func (b *netBody) Read(dst []byte) (n int, err error) {
	x := b.x
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return 0, net.ErrClosed
	}
	for n < len(dst) && len(x.parts) > 0 {
		m := copy(dst[n:], x.parts[0])
		n += m
		if x.parts[0] = x.parts[0][m:]; len(x.parts[0]) == 0 {
			x.parts = x.parts[1:]
		}
	}
	if x.taken/http1.PieceSize < (x.taken+n)/http1.PieceSize {
		x.restart()
	}
	x.taken += n
	if n == 0 && len(x.parts) == 0 && len(dst) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close implements [io.Closer]. net/http calls it in any case, possibly after the response has begun.
func (b *netBody) Close() error {
	x := b.x
	x.mu.Lock()
	closed := x.closed
	x.closed, x.parts = true, nil
	x.mu.Unlock()
	if !closed {
		x.release()
	}
	return nil
}

// netResponseBody ends the exchange with the body of its response.
type netResponseBody struct {
	io.ReadCloser
	x *netExchange
}

// Read implements [io.Reader].
func (b *netResponseBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.x.cancel(nil)
		if err != io.EOF && b.x.parent.Err() != nil {
			err = b.x.parent.Err()
		}
	}
	return n, err
}

// Close implements [io.Closer].
func (b *netResponseBody) Close() error {
	err := b.ReadCloser.Close()
	b.x.cancel(nil)
	return err
}
