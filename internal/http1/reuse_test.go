package http1

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A connection is reused if the response ended as announced and nothing followed it.
func TestConnectionIsReused(t *testing.T) {
	long := strings.Repeat("x", 20_000)
	for _, c := range []struct {
		name, response string
		again          int32 // connections that two requests use
	}{
		{"a length", okay, 1},
		{"a long one", "HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + long, 1},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", 1},
		{"chunks and a trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n\r\n2\r\nhi\r\n0\r\nT: 1\r\n\r\n", 1},
		{"no content", "HTTP/1.1 204 No Content\r\n\r\n", 1},
		{"length 0", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 1},
		{"HTTP/1.0 that says so", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi", 1},

		{"a close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi", 2},
		{"a close without a body", "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", 2},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", 2},
		{"chunks and a length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", 2},
		{"no content, of some length", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", 2},
		{"no content, in chunks", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", 2},
		{"bytes after", okay + "x", 2},
		{"bytes after a long one", "HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + long + okay, 2},
		{"bytes after the last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n\n", 2},
		{"a second response", okay + okay, 2},
		{"bytes after no content", "HTTP/1.1 204 No Content\r\n\r\nx", 2},
	} {
		for _, secured := range []bool{false, true} {
			for _, size := range []int{1, 64 << 10} { // of the caller's buffer
				p := listen(t, secured, responding(c.response))
				for range 2 {
					response, err := p.Send(t.Context(), newRequest(t, "x"))
					if err != nil {
						t.Fatalf("%s, TLS %v: %v", c.name, secured, err)
					}
					for b := make([]byte, size); err == nil; {
						_, err = response.Body.Read(b)
					}
					if _, again := response.Body.Read(make([]byte, 1)); err != io.EOF || again != io.EOF {
						t.Errorf("%s, TLS %v: it ends with %v, then %v", c.name, secured, err, again)
					}
					response.Body.Close()
				}
				if n := p.connections.Load(); n != c.again {
					t.Errorf("%s, TLS %v, read by %d: %d connections", c.name, secured, size, n)
				}
			}
		}
	}
}

// If the peer closes a connection or sends something after a response, the next request uses another connection and is not lost.
func TestIdleConnectionEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		secured bool
		then    func(*visitor)
	}{
		{"it closes", false, func(v *visitor) { v.Close() }},
		{"it closes one half", false, func(v *visitor) { v.Conn.(*net.TCPConn).CloseWrite() }},
		{"it sends", false, func(v *visitor) { v.write(okay) }},
		{"it times out", false, func(v *visitor) { v.write("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n") }},
		{"it closes, TLS", true, func(v *visitor) { v.Close() }},
		{"it closes one half, TLS", true, func(v *visitor) { v.Conn.(*tls.Conn).CloseWrite() }},
		{"it sends, TLS", true, func(v *visitor) { v.write(okay) }},
	} {
		read := make(chan struct{})
		p := listen(t, c.secured, func(v *visitor) {
			for first := true; v.request(); first = false {
				v.write(okay)
				if first {
					<-read
					c.then(v)
				}
			}
			v.awaitClose()
		})
		p.mustServe(t, newRequest(t, "x"))
		close(read)
		p.waitReadable(t)
		response, err := p.Send(t.Context(), newRequest(t, "x"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		response.Body.Close()
		p.connectionsAre(t, 2)
	}
}

// With TLS, what follows a response may have been read together with it, so that the socket has nothing left to read.
func TestConnectionEndsWithinTLS(t *testing.T) {
	for name, then := range map[string]func(*visitor){
		"it closes": func(v *visitor) { v.Conn.(*tls.Conn).CloseWrite() },
		"it sends":  func(v *visitor) { v.write(okay) },
	} {
		p := listen(t, true, func(v *visitor) {
			for v.request() {
				v.together(func() { v.write(okay); then(v) })
			}
			v.awaitClose()
		})
		for range 2 {
			response, err := p.Send(t.Context(), newRequest(t, "x"))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
		if n := p.connections.Load(); n != 2 {
			t.Errorf("%s: %d connections", name, n)
		}
	}
}

// FO-0: a resend dials, and closes the idle connections of the same host, which tend to fail together.
func TestFresh(t *testing.T) {
	p := listen(t, false, responding(okay))
	p.mustServe(t, newRequest(t, "x"))
	r := newRequest(t, "x")
	r.Fresh = true
	p.mustServe(t, r)
	p.connectionsAre(t, 2)
	p.mustServe(t, newRequest(t, "x"))
	p.connectionsAre(t, 2)
	if n := len(p.idle); n != 1 {
		t.Errorf("%d idle connections", n)
	}
}

// Closing a body before its end closes the connection.
func TestBodyIsClosedBeforeItsEnd(t *testing.T) {
	for _, read := range []int{0, 1, 100_000} {
		ended := make(chan struct{}, 2)
		p := listen(t, false, func(v *visitor) {
			for v.request() {
				v.write("HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n" + large[:100_001])
			}
			ended <- struct{}{}
		})
		for range 2 {
			response, err := p.Send(t.Context(), newRequest(t, "x"))
			if err != nil {
				t.Fatal(err)
			}
			io.ReadFull(response.Body, make([]byte, read))
			response.Body.Close()
			<-ended
			if n, err := response.Body.Read(make([]byte, 1)); n != 0 || err == nil || err == io.EOF {
				t.Errorf("read after close: %d, %v", n, err)
			}
		}
		p.connectionsAre(t, 2)
	}
}

// A connection is reused within 90 s. After that it is closed, even if no request follows.
func TestIdleTime(t *testing.T) {
	for _, c := range []struct {
		idle        time.Duration
		connections int32
	}{{idleTimeout - time.Second, 1}, {idleTimeout, 2}, {time.Hour, 2}} {
		synctest.Test(t, func(t *testing.T) {
			p := inMemory(t, responding(okay))
			p.mustServe(t, newRequest(t, "x"))
			time.Sleep(c.idle)
			p.mustServe(t, newRequest(t, "x"))
			p.connectionsAre(t, c.connections)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int32
		p := inMemory(t, func(v *visitor) {
			responding(okay)(v)
			ended.Add(1)
		})
		first, err := p.Send(t.Context(), newRequest(t, "x"))
		if err != nil {
			t.Fatal(err)
		}
		p.mustServe(t, newRequest(t, "x"))
		time.Sleep(20 * time.Second)
		io.Copy(io.Discard, first.Body)
		time.Sleep(idleTimeout - 21*time.Second)
		synctest.Wait()
		if n := ended.Load(); n != 0 {
			t.Errorf("%d have ended", n)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := ended.Load(); n != 1 {
			t.Errorf("%d have ended", n)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if n := ended.Load(); n != 2 || len(p.idle) != 0 || p.reaper != nil {
			t.Errorf("%d have ended, %d are idle", n, len(p.idle))
		}
	})
}

// The number of idle connections is bounded.
func TestTooManyIdle(t *testing.T) {
	p := inMemory(t, func(v *visitor) { v.awaitClose() })
	for range maxIdle + 1 {
		c, err := p.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.begin()
		p.put(c)
	}
	if n := len(p.idle); n != maxIdle {
		t.Errorf("%d idle connections", n)
	}
}

// URLs with the same scheme and host share connections.
func TestOrigins(t *testing.T) {
	c := NewClient(nil)
	for _, o := range []struct{ url, host, address string }{
		{"http://a.example/x", "a.example", "a.example:80"},
		{"https://a.example/y", "a.example", "a.example:443"},
		{"https://a.example:8443", "a.example:8443", "a.example:8443"},
		{"http://[::1]:81", "[::1]:81", "[::1]:81"},
		{"https://[2001:db8::1]", "[2001:db8::1]", "[2001:db8::1]:443"},
	} {
		got := c.Origin(mustParse(t, o.url))
		if got.Host() != o.host || got.address != o.address || got != c.Origin(mustParse(t, o.url+"/more")) {
			t.Errorf("%s: %q, %q", o.url, got.Host(), got.address)
		}
	}
	if len(c.origins) != 5 {
		t.Errorf("%d origins", len(c.origins))
	}
}
