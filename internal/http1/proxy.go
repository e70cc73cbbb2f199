package http1

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/net/proxy"
)

// dial opens what a connection runs on: to the origin, or through the proxy to it.
func (o *Origin) dial(ctx context.Context) (net.Conn, error) {
	within, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if o.proxy == nil {
		return o.client.dial(within, "tcp", o.address)
	}
	switch o.proxy.Scheme {
	case "http", "https":
		return o.tunnel(ctx)
	case "socks5", "socks5h":
		var c net.Conn // what is behind the one that the dialer returns
		d, err := proxy.FromURL(o.proxy, DialFunc(func(ctx context.Context, network, address string) (_ net.Conn, err error) {
			c, err = o.client.dial(ctx, network, address)
			return c, err
		}))
		if err != nil {
			return nil, fmt.Errorf("proxy: %w", err)
		}
		if _, err := d.(proxy.ContextDialer).DialContext(within, "tcp", o.address); err != nil {
			return nil, fmt.Errorf("proxy: %w", err)
		}
		return c, nil
	}
	return nil, fmt.Errorf("proxy: %q is neither http, https nor socks5", o.proxy.Scheme)
}

// Dial makes DialFunc a [proxy.Dialer].
func (d DialFunc) Dial(network, address string) (net.Conn, error) {
	return d(context.Background(), network, address)
}

// DialContext makes DialFunc a [proxy.ContextDialer].
func (d DialFunc) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

// tunnel asks a proxy for a connection to the origin.
func (o *Origin) tunnel(ctx context.Context) (net.Conn, error) {
	within, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	c, err := o.client.dial(within, "tcp", proxyAddress(o.proxy))
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if o.proxy.Scheme == "https" {
		if c, err = secure(ctx, c, tlsTo(o.proxy.Hostname())); err != nil {
			return nil, fmt.Errorf("proxy: %w", err)
		}
	}
	if err := o.askForTunnel(ctx, c); err != nil {
		c.Close()
		return nil, fmt.Errorf("proxy: %w", err)
	}
	return c, nil
}

func (o *Origin) askForTunnel(ctx context.Context, c net.Conn) error {
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := c.SetDeadline(time.Now().Add(connectTimeout)); err != nil {
		return err
	}
	head := "CONNECT " + o.address + " HTTP/1.1\r\nHost: " + o.address + "\r\n"
	if user := o.proxy.User; user != nil {
		password, _ := user.Password()
		head += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)) + "\r\n"
	}
	if _, err := io.WriteString(c, head+"\r\n"); err != nil {
		return err
	}
	answers := bufio.NewReader(io.LimitReader(c, maxHead))
	response, err := http.ReadResponse(answers, &http.Request{Method: http.MethodConnect})
	switch {
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("it refuses the connection: status %d", response.StatusCode)
	case answers.Buffered() > 0:
		return fmt.Errorf("it speaks before it is asked to")
	}
	return c.SetDeadline(time.Time{})
}

func proxyAddress(u *url.URL) string {
	if port := u.Port(); port != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}
