package http1

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// proxyOf puts a proxy in front of a peer. Accept returns the address that a connection to the proxy is for.
func proxyOf(t *testing.T, p *peer, scheme string, accept func(net.Conn) (address string, ok bool)) *atomic.Int32 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var count atomic.Int32
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			if scheme == "https" {
				c = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{certificate}})
			}
			p.wg.Go(func() {
				defer c.Close()
				address, ok := accept(c)
				if !ok {
					return
				}
				origin, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				p.wg.Go(func() { io.Copy(origin, c); origin.Close() })
				io.Copy(c, origin)
			})
		}
	})
	p.proxy = &url.URL{Scheme: scheme, Host: l.Addr().String(), User: url.UserPassword("me", "a:secret")}
	return &count
}

// tunnels is the proxy's side of CONNECT.
func tunnels(t *testing.T, response string) func(net.Conn) (string, bool) {
	return func(c net.Conn) (string, bool) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return "", false
		}
		if want := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:a:secret")); r.Header.Get("Proxy-Authorization") != want || len(r.Header) != 1 {
			t.Errorf("the proxy received %v", r.Header)
		}
		if r.Method != http.MethodConnect || r.RequestURI != r.Host {
			t.Errorf("the proxy received %s %s for %s", r.Method, r.RequestURI, r.Host)
		}
		io.WriteString(c, response)
		return r.RequestURI, strings.Contains(response, " 200 ")
	}
}

// socks is the proxy's side of SOCKS5 with a password (RFC 1928, RFC 1929).
func socks(t *testing.T) func(net.Conn) (string, bool) {
	return func(c net.Conn) (string, bool) {
		in := bufio.NewReader(c)
		sized := func() string {
			n, _ := in.ReadByte()
			b := make([]byte, n)
			io.ReadFull(in, b)
			return string(b)
		}
		in.Discard(1)
		if methods := sized(); !strings.Contains(methods, "\x02") {
			t.Errorf("methods %q", methods)
		}
		io.WriteString(c, "\x05\x02")
		in.Discard(1)
		if user, password := sized(), sized(); user != "me" || password != "a:secret" {
			t.Errorf("user %q, password %q", user, password)
		}
		io.WriteString(c, "\x01\x00")
		b := make([]byte, 10) // an IPv4 address
		if _, err := io.ReadFull(in, b); err != nil || string(b[:4]) != "\x05\x01\x00\x01" {
			t.Errorf("the proxy received %x, %v", b, err)
		}
		io.WriteString(c, "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
		return fmt.Sprintf("%v:%d", net.IP(b[4:8]), binary.BigEndian.Uint16(b[8:])), true
	}
}

// HTTPS_PROXY, HTTP_PROXY: a request arrives unchanged through a proxy. The connection is reused, but not after the origin has
// closed it.
func TestProxy(t *testing.T) {
	for _, scheme := range []string{"http", "https", "socks5", "socks5h"} {
		for _, secured := range []bool{false, true} {
			if !secured && strings.HasPrefix(scheme, "http") {
				continue // TestForward
			}
			body, rest := noise(400_000), make(chan struct{})
			p := listen(t, secured, func(v *visitor) {
				for range 2 {
					r, err := http.ReadRequest(v.in)
					if err != nil {
						return
					}
					if got, err := io.ReadAll(r.Body); string(got) != body || err != nil || len(r.Header) != 1 {
						t.Errorf("%s, TLS %v: %d bytes, %v, header %v", scheme, secured, len(got), err, r.Header)
					}
					v.write(okay)
				}
				<-rest
			})
			accept := tunnels(t, "HTTP/1.1 200 Connection established\r\nX: y\r\n\r\n")
			if strings.HasPrefix(scheme, "socks") {
				accept = socks(t)
			}
			count := proxyOf(t, p, scheme, accept)
			p.mustServe(t, newRequest(t, body[:100_000], body[100_000:]))
			p.mustServe(t, newRequest(t, body))
			if n := count.Load(); n != 1 {
				t.Errorf("%s, TLS %v: %d connections for two requests", scheme, secured, n)
			}
			close(rest)
			p.waitReadable(t)
			p.mustServe(t, newRequest(t, body))
			if n := count.Load(); n != 2 {
				t.Errorf("%s, TLS %v: %d connections when one had ended", scheme, secured, n)
			}
		}
	}
}

// FO-0b: if a proxy refuses, there is no connection. What it sends is never relayed.
func TestProxyRefuses(t *testing.T) {
	for name, response := range map[string]string{
		"refuses":        "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno",
		"cannot":         "HTTP/1.1 502 Bad Gateway\r\n\r\n",
		"sends too much": "HTTP/1.1 200 Connection established\r\n\r\n" + okay,
		"is not HTTP":    "SSH-2.0-OpenSSH\r\n\r\n",
		"sends nothing":  "",
		"never stops":    "HTTP/1.1 200 Connection established\r\nX: " + strings.Repeat("x", maxHead),
	} {
		p := listen(t, true, func(v *visitor) { v.awaitClose() })
		proxyOf(t, p, "http", func(c net.Conn) (string, bool) {
			tunnels(t, response)(c)
			return "", false
		})
		response, err := p.Send(t.Context(), newRequest(t, "x"))
		if err == nil {
			response.Body.Close()
		}
		if !errors.Is(err, ErrNoConnection) || strings.Contains(err.Error(), "a:secret") {
			t.Errorf("%s: %v", name, err)
		}
		p.connectionsAre(t, 0)
	}
}

// FO-0b: there is no connection if the proxy cannot be reached, is not trusted, or has an unknown scheme.
func TestProxyUnusable(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	other := listen(t, true, func(v *visitor) { v.awaitClose() })
	_, port, err := net.SplitHostPort(other.address)
	if err != nil {
		t.Fatal(err)
	}
	for _, proxy := range []string{
		"http://" + nobody.Addr().String(), "https://" + nobody.Addr().String(), "socks5://" + nobody.Addr().String(),
		"https://localhost:" + port, "ftp://" + nobody.Addr().String(),
	} {
		p := listen(t, true, func(v *visitor) { v.awaitClose() })
		p.proxy = mustParse(t, proxy)
		if _, err := p.Send(t.Context(), newRequest(t, "x")); !errors.Is(err, ErrNoConnection) {
			t.Errorf("%s: %v", proxy, err)
		}
	}
}

// 5-failover: a proxy has 10 s to respond, or until the client disconnects (FO-5).
func TestProxyIsSilent(t *testing.T) {
	for _, scheme := range []string{"http", "https", "socks5"} {
		synctest.Test(t, func(t *testing.T) {
			p := inMemory(t, func(v *visitor) { v.awaitClose() })
			p.proxy, p.tls = &url.URL{Scheme: scheme, Host: "proxy.test:1"}, tlsTo("peer.test")
			began := time.Now()
			_, err := p.Send(t.Context(), newRequest(t, "x"))
			if !errors.Is(err, ErrNoConnection) || time.Since(began) != ConnectTimeout {
				t.Errorf("%s: %v after %v", scheme, err, time.Since(began))
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, err := p.Send(ctx, newRequest(t, "x")); err != context.Canceled || time.Since(began) != ConnectTimeout+time.Second {
				t.Errorf("%s: %v after %v", scheme, err, time.Since(began))
			}
		})
	}
}

// HTTP_PROXY: an http request goes to the proxy itself, with its target and the proxy's credential.
func TestForward(t *testing.T) {
	for scheme, forwards := range map[string]bool{"http": true, "https": true, "socks5": false} {
		o := &Origin{host: "peer.test:81", proxy: mustParse(t, scheme+"://me:a%3Asecret@p.test")}
		prefix, credential := o.Forward()
		if forwards && (prefix != "http://peer.test:81" || credential != "Basic bWU6YTpzZWNyZXQ=") || !forwards && prefix+credential != "" {
			t.Errorf("%s: %q, %q", scheme, prefix, credential)
		}
		o.tls = tlsTo("peer.test")
		if prefix, credential := o.Forward(); prefix+credential != "" {
			t.Errorf("%s under TLS: %q, %q", scheme, prefix, credential)
		}
	}
	if prefix, credential := (&Origin{host: "peer.test"}).Forward(); prefix+credential != "" {
		t.Errorf("without a proxy: %q, %q", prefix, credential)
	}
	proxy := listen(t, false, responding(okay))
	p := listen(t, false, func(v *visitor) { v.awaitClose() })
	p.proxy = mustParse(t, "http://"+proxy.address)
	p.mustServe(t, newRequest(t, "x"))
	proxy.connectionsAre(t, 1)
	p.connectionsAre(t, 0)
}

// The port of a proxy defaults to that of its scheme.
func TestProxyAddress(t *testing.T) {
	for proxy, want := range map[string]string{
		"http://p.example": "p.example:80", "https://p.example": "p.example:443", "http://p.example:3128": "p.example:3128", "http://[::1]": "[::1]:80",
	} {
		if got := proxyAddress(mustParse(t, proxy)); got != want {
			t.Errorf("%s: %q", proxy, got)
		}
	}
}
