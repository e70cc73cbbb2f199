package http1

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// WIRE-5: a request arrives byte for byte, however it is divided, and so does the next one on the same connection.
func TestRequestIsSentUnchanged(t *testing.T) {
	many := make([]string, 300)
	for i := range many {
		many[i] = noise(i * 11 % 2000)
	}
	for name, parts := range map[string][]string{
		"head only":              nil,
		"small":                  {`{"model":"claude-x"}`},
		"small in parts":         {`{"model":`, `"claude-y"`, `}`},
		"empty parts":            {"", "a", "", "", "b", ""},
		"at the small ones' end": {noise(maxInlineSend)},
		"one piece":              {noise(PieceSize)},
		"a byte more":            {noise(PieceSize), "x"},
		"across pieces":          {noise(200_000), "MODEL", noise(400_000), "UUID", noise(1 << 20)},
		"many parts":             many,
	} {
		for _, secured := range []bool{false, true} {
			first, second := newRequest(t, parts...), newRequest(t, parts...)
			want := bytesOf(first)
			p := listen(t, secured, func(v *visitor) {
				for got := make([]byte, len(want)); ; {
					if _, err := io.ReadFull(v, got); err != nil {
						return
					}
					if !bytes.Equal(got, want) {
						t.Errorf("%s, TLS %v: it arrives changed", name, secured)
					}
					v.write(okay)
				}
			})
			p.mustServe(t, first)
			p.mustServe(t, second)
			p.connectionsAre(t, 1)
		}
	}
}

// records records the lengths of the TLS records that carry content.
type records struct {
	net.Conn
	mu      sync.Mutex
	lengths []int
}

func (r *records) Write(p []byte) (int, error) {
	const header, content = 5, 23
	r.mu.Lock()
	for at := 0; at+header <= len(p); {
		n := int(p[at+3])<<8 | int(p[at+4])
		if p[at] == content {
			r.lengths = append(r.lengths, n)
		}
		at += header + n
	}
	r.mu.Unlock()
	return r.Conn.Write(p)
}

// With TLS, the parts of a request share records: each record costs a system call and a decryption.
func TestRecordsAreFull(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int // parts of 1000 bytes
		most int // records
	}{{"small", 10, 1}, {"large", 1000, 1_000_000/maxRecord + 4}} {
		var sent *records
		p := listen(t, true, responding(okay))
		p.dialed = func(c net.Conn) net.Conn { sent = &records{Conn: c}; return sent }
		parts := make([]string, c.n)
		for i := range parts {
			parts[i] = noise(1000)
		}
		p.mustServe(t, newRequest(t)) // the handshake ends with records of the type that carries content
		sent.mu.Lock()
		sent.lengths = nil
		sent.mu.Unlock()
		p.mustServe(t, newRequest(t, parts...))
		if len(sent.lengths) > c.most {
			t.Errorf("%s: %d records: %v", c.name, len(sent.lengths), sent.lengths)
		}
	}
}

// FO-0b: failures of dial, TLS and certificate are distinguished from a connection that failed later: nothing was sent.
func TestNoConnection(t *testing.T) {
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused.Close()
	silent := func(v *visitor) { v.awaitClose() }
	for _, c := range []struct {
		name    string
		secured bool
		serve   func(*visitor)
		change  func(*Origin)
		none    bool
	}{
		{"refused", false, silent, func(o *Origin) { o.address = refused.Addr().String() }, true},
		{"no TLS", false, func(v *visitor) { v.write("SSH-2.0-x\r\n") }, func(o *Origin) { o.tls = tlsTo("127.0.0.1") }, true},
		{"the certificate of another host", true, silent, func(o *Origin) { o.tls = tlsTo("api.example.net") }, true},
		{"an invalid proxy", false, silent, func(o *Origin) { o.invalid = errors.New("no port") }, true},
		{"ends before the request", false, func(*visitor) {}, nil, false},
		{"ends before the response", false, func(v *visitor) { v.request() }, nil, false},
		{"ends before the response, TLS", true, func(v *visitor) { v.request() }, nil, false},
		{"ends in the head", false, func(v *visitor) { v.request(); v.write("HTTP/1.1 200 OK\r\nContent-Le") }, nil, false},
	} {
		for _, size := range []int{1, 200_000, 4 << 20} {
			p := listen(t, c.secured, c.serve)
			if c.change != nil {
				c.change(p.Origin)
			}
			response, err := p.Send(t.Context(), newRequest(t, large[:size]))
			if err == nil {
				response.Body.Close()
				t.Errorf("%s: status %d", c.name, response.Status)
			} else if errors.Is(err, ErrNoConnection) != c.none || errors.Is(err, ErrTimeout) {
				t.Errorf("%s, %d bytes: %v", c.name, size, err)
			}
		}
	}
}

// FO-0b: a handshake that does not end in time is a failure to connect.
func TestHandshakeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := inMemory(t, func(v *visitor) { v.awaitClose() })
		p.tls = &tls.Config{ServerName: "peer.test"}
		began := time.Now()
		_, err := p.Send(t.Context(), newRequest(t, "x"))
		if !errors.Is(err, ErrNoConnection) || time.Since(began) != ConnectTimeout {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// FO-5: when the context ends, so does the exchange, and its connection is closed.
func TestContextEnds(t *testing.T) {
	chunked := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n"
	for _, c := range []struct {
		name  string
		size  int
		serve func(*visitor)
	}{
		{"before the request is read", 1, func(*visitor) { time.Sleep(time.Hour) }},
		{"while a large request is sent", 1 << 20, func(v *visitor) { io.CopyN(io.Discard, v, 1000); time.Sleep(time.Hour) }},
		{"while it waits", 1, func(v *visitor) { v.request(); v.awaitClose() }},
		{"while it waits after a large request", 1 << 20, func(v *visitor) { v.request(); v.awaitClose() }},
		{"in the head", 1, func(v *visitor) { v.request(); v.write("HTTP/1.1 200 OK\r\n"); v.awaitClose() }},
		{"in the body", 1, func(v *visitor) { v.request(); v.write(chunked); v.awaitClose() }},
		{"in the body before the request is sent", 1 << 20, func(v *visitor) { v.head(); v.write(chunked); time.Sleep(time.Hour) }},
	} {
		for _, timeout := range []time.Duration{0, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				p := inMemory(t, c.serve)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Minute, cancel)
				r := newRequest(t, large[:c.size])
				r.Timeout = timeout
				began := time.Now()
				response, err := p.Send(ctx, r)
				if err == nil {
					_, err = io.ReadAll(response.Body)
					response.Body.Close()
				}
				if !errors.Is(err, context.Canceled) || time.Since(began) != time.Minute {
					t.Errorf("%s: %v after %v", c.name, err, time.Since(began))
				}
				synctest.Wait()
				if len(p.idle) > 0 {
					t.Errorf("%s: the connection is kept", c.name)
				}
			})
		}
	}
}

// FO-5: if the context ends before there is a connection, that is not the host's fault.
func TestContextEndsDuringConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		p := inMemory(t, func(v *visitor) { v.awaitClose() })
		p.client.dial = func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
		if _, err := p.Send(ctx, newRequest(t, "x")); err != context.Canceled {
			t.Errorf("dial: %v", err)
		}

		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		p = inMemory(t, func(v *visitor) { v.awaitClose() })
		p.tls = tlsTo("peer.test")
		if _, err := p.Send(ctx, newRequest(t, "x")); err != context.Canceled {
			t.Errorf("handshake: %v", err)
		}
	})
}

// If the context ends after the response was read, the connection is still reused.
func TestContextEndsAfterwards(t *testing.T) {
	p := listen(t, false, responding(okay))
	for range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		response, err := p.Send(ctx, newRequest(t, "x"))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(response.Body); string(text) != "hi" || err != nil {
			t.Fatal(text, err)
		}
		cancel()
		response.Body.Close()
	}
	p.connectionsAre(t, 1)
}

// Concurrent requests have a connection each, and get their own responses.
func TestConcurrentRequests(t *testing.T) {
	p := listen(t, false, func(v *visitor) {
		for {
			body, ok := v.head()
			if !ok {
				return
			}
			text, err := io.ReadAll(body)
			if err != nil {
				return
			}
			v.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n" + string(text[:1]) + "\r\n0\r\n\r\n")
		}
	})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			letter := string(rune('a' + i))
			for _, size := range []int{1, 50_000, 10} {
				if _, got := p.send(t, newRequest(t, strings.Repeat(letter, size))); got != letter {
					t.Errorf("%q, not %q", got, letter)
				}
			}
		})
	}
	wg.Wait()
	if n := p.connections.Load(); n > 20 {
		t.Errorf("%d connections", n)
	}
}
