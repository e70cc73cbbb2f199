package http1

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/proxy"
)

// ProxyError reports that there was no connection because of a proxy that the environment names. Its text quotes nothing that
// the proxy sent.
type ProxyError struct{ Err error }

func (e *ProxyError) Error() string { return "proxy: " + e.Err.Error() }

func (e *ProxyError) Unwrap() error { return e.Err }

// dial opens a connection without TLS to the origin, directly or through the proxy.
func (o *Origin) dial(ctx context.Context) (net.Conn, error) {
	if o.proxy == nil {
		return o.dialTo(ctx, o.address)
	}
	c, err := o.dialProxy(ctx)
	if err != nil {
		return nil, &ProxyError{err}
	}
	return c, nil
}

func (o *Origin) dialTo(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	return o.client.dial(ctx, "tcp", address)
}

func (o *Origin) dialProxy(ctx context.Context) (net.Conn, error) {
	switch o.proxy.Scheme {
	case "http", "https":
		c, err := o.toProxy(ctx)
		if err != nil || o.tls == nil {
			return c, err // the request itself names its target to the proxy
		}
		return o.tunnel(ctx, c)
	case "socks5", "socks5h":
		return o.socks(ctx)
	}
	return nil, errors.New("its scheme is not http, https or socks5")
}

func (o *Origin) socks(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	var c net.Conn // the connection behind the one that the dialer returns
	d, err := proxy.FromURL(o.proxy, DialFunc(func(ctx context.Context, network, address string) (_ net.Conn, err error) {
		c, err = o.client.dial(ctx, network, address)
		return c, err
	}))
	if err != nil {
		return nil, err
	}
	if _, err := d.(proxy.ContextDialer).DialContext(ctx, "tcp", o.address); err != nil {
		return nil, err
	}
	return c, nil
}

// Dial makes DialFunc a [proxy.Dialer].
func (d DialFunc) Dial(network, address string) (net.Conn, error) {
	return d(context.Background(), network, address)
}

// DialContext makes DialFunc a [proxy.ContextDialer].
func (d DialFunc) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

func (o *Origin) toProxy(ctx context.Context) (net.Conn, error) {
	c, err := o.dialTo(ctx, proxyAddress(o.proxy))
	if err != nil || o.proxy.Scheme == "http" {
		return c, err
	}
	return secure(ctx, c, tlsTo(o.proxy.Hostname()))
}

// tunnel has the proxy connect to the origin. It closes the connection if the proxy does not.
func (o *Origin) tunnel(ctx context.Context, c net.Conn) (net.Conn, error) {
	if err := o.requestTunnel(ctx, c); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (o *Origin) requestTunnel(ctx context.Context, c net.Conn) error {
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := c.SetDeadline(time.Now().Add(ConnectTimeout)); err != nil {
		return err
	}
	head := "CONNECT " + o.address + " HTTP/1.1\r\nHost: " + o.address + "\r\n"
	if credential := o.proxyCredential(); credential != "" {
		head += "Proxy-Authorization: " + credential + "\r\n"
	}
	if _, err := io.WriteString(c, head+"\r\n"); err != nil {
		return err
	}
	reader := bufio.NewReader(io.LimitReader(c, maxHead))
	response, err := readHead(reader)
	switch {
	case err != nil:
		return err
	case response.status != http.StatusOK:
		return fmt.Errorf("it refused the connection with status %d", response.status)
	case reader.Buffered() > 0:
		return errors.New("it sends more than its response")
	}
	return c.SetDeadline(time.Time{})
}

// proxyCredential returns the value of Proxy-Authorization; empty if the proxy's URL names no user.
func (o *Origin) proxyCredential() string {
	user := o.proxy.User
	if user == nil {
		return ""
	}
	password, _ := user.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
}

// Forward returns what a proxy needs in an http request that it forwards: the prefix of the path in the request line, and the
// value of Proxy-Authorization. Both are empty if no proxy reads requests.
func (o *Origin) Forward() (prefix, credential string) {
	if o.proxy == nil || o.tls != nil || o.proxy.Scheme != "http" && o.proxy.Scheme != "https" {
		return "", ""
	}
	return "http://" + o.host, o.proxyCredential()
}

func proxyAddress(u *url.URL) string {
	if port := u.Port(); port != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}
