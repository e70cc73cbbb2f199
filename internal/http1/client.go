// Package http1 sends requests over HTTP/1.1 connections, one at a time on each, and keeps connections for later requests. A
// request consists of the caller's own bytes, which are sent unchanged and without a copy.
//
// The package exists because net/http's transport costs more than everything else that a gateway does for a request: two
// goroutines per connection and four handovers per request, a header that is built as a map and taken apart again, a copy of
// the body, two dozen allocations for the head of a response. It keeps net/http's guarantees: a connection that the peer has
// closed, or on which it has sent something unasked, is not used again; a response may begin before the request is sent; and
// when the context ends, so does the exchange. Nothing is ever sent twice.
//
// A [Client] and its [Origin]s are safe for concurrent use.
package http1

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/idna"

	"shunt/internal/hosts"
)

// ConnectTimeout bounds each step of opening a connection: the dial, each TLS handshake and a proxy's response.
const ConnectTimeout = 10 * time.Second

const (
	idleTimeout = 90 * time.Second // how long an idle connection is kept
	maxIdle     = 2048             // how many idle connections an origin keeps
)

// DialFunc opens a connection.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Client holds the origins that its caller has used.
type Client struct {
	dial    DialFunc
	mu      sync.Mutex
	origins map[string]*Origin
}

// NewClient returns a client that opens connections with dial.
func NewClient(dial DialFunc) *Client { return &Client{dial: dial, origins: map[string]*Origin{}} }

// Close closes the idle connections of every origin.
func (c *Client) Close() {
	c.mu.Lock()
	origins := slices.Collect(maps.Values(c.origins))
	c.mu.Unlock()
	for _, o := range origins {
		o.CloseIdle()
	}
}

// Origin is a scheme, host and port, with the idle connections to it.
type Origin struct {
	client  *Client
	host    string // as in the Host header
	address string // host and port to connect to
	tls     *tls.Config
	proxy   *url.URL // nil: connect directly
	invalid error    // the environment names a proxy that cannot be used

	mu     sync.Mutex
	idle   []*conn     // the most recently used is last
	reaper *time.Timer // runs while there are idle connections
}

// Origin returns the origin of a URL, which is the same for every URL with its scheme and host. It is reached through the
// proxy that the environment names for it, if any (HTTPS_PROXY, HTTP_PROXY, NO_PROXY).
func (c *Client) Origin(base *url.URL) *Origin {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := base.Scheme + "://" + base.Host
	if o := c.origins[key]; o != nil {
		return o
	}
	port := base.Port()
	name := asciiName(base)
	o := &Origin{client: c, host: hostHeader(name, port)}
	if base.Scheme == "https" {
		o.tls = tlsTo(name)
	}
	switch {
	case port != "":
	case o.tls != nil:
		port = "443"
	default:
		port = "80"
	}
	o.address = net.JoinHostPort(name, port)
	target := &url.URL{Scheme: base.Scheme, Host: net.JoinHostPort(name, port)}
	var err error
	if o.proxy, err = hosts.Proxy(&http.Request{URL: target}); err != nil { // may quote a password
		o.invalid = ErrInvalidProxy
	}
	c.origins[key] = o
	return o
}

// ErrInvalidProxy reports that the environment names a proxy that cannot be used. It is a [ProxyError].
var ErrInvalidProxy error = &ProxyError{errors.New("HTTPS_PROXY or HTTP_PROXY in the environment is not the URL of a proxy")}

// HostOf returns the host and port of a URL with the name as DNS spells it.
func HostOf(u *url.URL) string {
	host := asciiName(u)
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" {
		host += ":" + port
	}
	return host
}

func asciiName(u *url.URL) string {
	name, err := idna.Lookup.ToASCII(u.Hostname())
	if err != nil { // an address, or a name that no resolver knows
		return u.Hostname()
	}
	return name
}

// hostHeader returns a host as the Host header has it: without the zone of an address.
func hostHeader(name, port string) string {
	if strings.Contains(name, ":") {
		address, _, _ := strings.Cut(name, "%")
		name = "[" + address + "]"
	}
	if port == "" {
		return name
	}
	return name + ":" + port
}

// Host returns the value of the Host header.
func (o *Origin) Host() string { return o.host }

// CloseIdle closes the idle connections.
func (o *Origin) CloseIdle() { o.drop(func(*conn) bool { return true }) }

// take removes an idle connection that can be used and returns it; nil if there is none.
func (o *Origin) take() *conn {
	for {
		o.mu.Lock()
		last := len(o.idle) - 1
		if last < 0 {
			o.mu.Unlock()
			return nil
		}
		c := o.idle[last]
		o.idle[last], o.idle = nil, o.idle[:last]
		o.mu.Unlock()
		if c.usable() {
			return c
		}
		c.close()
	}
}

// put keeps a connection for a later request.
func (o *Origin) put(c *conn) {
	c.park()
	o.mu.Lock()
	full := len(o.idle) >= maxIdle
	if !full {
		o.idle = append(o.idle, c)
		if o.reaper == nil {
			o.reaper = time.AfterFunc(idleTimeout, o.reap)
		}
	}
	o.mu.Unlock()
	if full {
		c.close()
	}
}

// reap closes the connections that have been idle for too long.
func (o *Origin) reap() {
	now := time.Now()
	o.drop(func(c *conn) bool { return now.Sub(c.since) >= idleTimeout })
}

// drop closes the idle connections for which drops returns true, and schedules reap for the others.
func (o *Origin) drop(drops func(*conn) bool) {
	var dropped []*conn
	o.mu.Lock()
	kept := o.idle[:0]
	for _, c := range o.idle {
		if drops(c) {
			dropped = append(dropped, c)
		} else {
			kept = append(kept, c)
		}
	}
	clear(o.idle[len(kept):])
	o.idle = kept
	if o.reaper != nil {
		o.reaper.Stop()
		o.reaper = nil
	}
	if len(kept) > 0 {
		o.reaper = time.AfterFunc(idleTimeout-time.Since(kept[0].since), o.reap)
	}
	o.mu.Unlock()
	for _, c := range dropped {
		c.close()
	}
}

// ErrNoConnection reports that there was no connection: nothing of the request was sent.
var ErrNoConnection = errors.New("no connection")

// ErrTimeout reports that the response did not begin within the timeout of the request.
var ErrTimeout = errors.New("no response in time")

// connect opens a connection, through the proxy if there is one. Its errors wrap [ErrNoConnection].
func (o *Origin) connect(ctx context.Context) (*conn, error) {
	if o.invalid != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoConnection, o.invalid)
	}
	raw, err := o.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoConnection, err)
	}
	if o.tls == nil {
		return newConn(raw), nil
	}
	secured, err := secure(ctx, raw, o.tls)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoConnection, err)
	}
	return newConn(secured), nil
}

func tlsTo(host string) *tls.Config {
	return &tls.Config{ServerName: host, NextProtos: []string{"http/1.1"}, DynamicRecordSizingDisabled: true}
}

// secure does the TLS handshake on a connection, which it closes on an error.
func secure(ctx context.Context, raw net.Conn, config *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	c := tls.Client(raw, config)
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return c, nil
}
