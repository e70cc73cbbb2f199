// Package http1 carries requests over HTTP/1.1 connections, one request at a time on each, and keeps connections for the
// next. A request is the caller's own bytes, sent as they are and without a copy.
//
// It exists because net/http's transport costs a hop more than all else that the hop does: two goroutines a connection and
// four handovers a request, a header that is built as a map and taken apart again, a copy of the body, two dozen
// allocations for the head of an answer. What net/http promises is kept: a connection that the peer has closed or spoken on
// out of turn is not used again, an answer may come before the request is sent, and an end of the context ends what is
// under way. Nothing is ever sent twice.
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

// ConnectTimeout is how long a connection may take to come about: for the dial, and again for each TLS and for a proxy's
// answer.
const ConnectTimeout = 10 * time.Second

const (
	IdleTimeout = 90 * time.Second // of a connection that is kept
	MaxIdle     = 2048             // connections that an origin keeps
)

// DialFunc opens a connection.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Client knows the origins that it was asked for.
type Client struct {
	dial    DialFunc
	mu      sync.Mutex
	origins map[string]*Origin
}

// NewClient returns a client that opens connections with dial.
func NewClient(dial DialFunc) *Client { return &Client{dial: dial, origins: map[string]*Origin{}} }

// Close ends the connections that are not in use.
func (c *Client) Close() {
	c.mu.Lock()
	origins := slices.Collect(maps.Values(c.origins))
	c.mu.Unlock()
	for _, o := range origins {
		o.Forget()
	}
}

// Origin is a scheme, host and port, with the connections to it that wait for a request.
type Origin struct {
	client  *Client
	host    string // as the Host header gives it
	address string // host and port to connect to
	tls     *tls.Config
	proxy   *url.URL // nil: there is none between
	invalid error    // the environment names a proxy that cannot be used

	mu     sync.Mutex
	idle   []*conn     // the last used one is last
	reaper *time.Timer // runs while some are idle
}

// Origin returns the origin of a URL, the same for every URL of it. A proxy that the environment names for it is used
// (HTTPS_PROXY, HTTP_PROXY, NO_PROXY).
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
	if err != nil { // it is an address, or nothing that a resolver knows
		return u.Hostname()
	}
	return name
}

// hostHeader is how a Host header names a host: without the zone of an address.
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

// Host is the value of the Host header.
func (o *Origin) Host() string { return o.host }

// Forget ends the connections that are not in use.
func (o *Origin) Forget() { o.drop(func(*conn) bool { return true }) }

// take is a kept connection, nil if there is none.
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

// keep puts a connection by for the next request.
func (o *Origin) keep(c *conn) {
	c.rest()
	o.mu.Lock()
	full := len(o.idle) >= MaxIdle
	if !full {
		o.idle = append(o.idle, c)
		if o.reaper == nil {
			o.reaper = time.AfterFunc(IdleTimeout, o.reap)
		}
	}
	o.mu.Unlock()
	if full {
		c.close()
	}
}

// reap ends connections that have waited too long.
func (o *Origin) reap() {
	now := time.Now()
	o.drop(func(c *conn) bool { return now.Sub(c.since) >= IdleTimeout })
}

// drop ends the idle connections that are to end, and has the others reaped.
func (o *Origin) drop(ends func(*conn) bool) {
	var ended []*conn
	o.mu.Lock()
	kept := o.idle[:0]
	for _, c := range o.idle {
		if ends(c) {
			ended = append(ended, c)
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
		o.reaper = time.AfterFunc(IdleTimeout-time.Since(kept[0].since), o.reap)
	}
	o.mu.Unlock()
	for _, c := range ended {
		c.close()
	}
}

// ErrNoConnection says that no connection came about: nothing of the request was sent.
var ErrNoConnection = errors.New("no connection")

// ErrPatience says that a request's patience was over before its answer began.
var ErrPatience = errors.New("no answer in time")

// connect opens a connection, through the proxy if there is one.
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

// secure speaks TLS on a connection, which it closes on an error.
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
