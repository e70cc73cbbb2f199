package http1

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const tooLarge = "HTTP/1.1 413 Request Entity Too Large\r\nContent-Length: 5\r\n\r\nlarge"

// A response that begins before the request is sent is received completely, whatever the peer does with the rest of the
// request. The connection is not reused if the rest was not sent.
func TestResponseBeforeTheRequest(t *testing.T) {
	for _, c := range []struct {
		name   string
		then   func(v *visitor, body io.Reader, served chan struct{})
		closed bool // the connection is closed in any case
	}{
		{"it closes", func(*visitor, io.Reader, chan struct{}) {}, true},
		{"it reads nothing", func(_ *visitor, _ io.Reader, served chan struct{}) { <-served }, true},
		{"it reads the rest", func(v *visitor, body io.Reader, _ chan struct{}) { io.Copy(io.Discard, body) }, false},
	} {
		for _, secured := range []bool{false, true} {
			for _, timeout := range []time.Duration{0, time.Hour} {
				served := make(chan struct{})
				p := listen(t, secured, func(v *visitor) {
					if c.closed {
						v.raw.(*net.TCPConn).SetReadBuffer(16 << 10) // the socket alone must not hold it all
					}
					for {
						body, ok := v.head()
						if !ok {
							return
						}
						v.write(tooLarge)
						c.then(v, body, served)
						if c.closed {
							return
						}
					}
				})
				for range 2 {
					r := newRequest(t, large)
					r.Timeout = timeout
					status, text := p.send(t, r)
					if status != http.StatusRequestEntityTooLarge || text != "large" {
						t.Errorf("%s, TLS %v: status %d, %q", c.name, secured, status, text)
					}
					if c.closed && len(p.idle) > 0 {
						t.Errorf("%s, TLS %v: the connection is kept", c.name, secured)
					}
				}
				t.Cleanup(func() { close(served) }) // after the request was abandoned
			}
		}
	}
}

// A long response may be read while the request is still being sent.
func TestResponseDuringTheRequest(t *testing.T) {
	for _, secured := range []bool{false, true} {
		p := listen(t, secured, func(v *visitor) {
			body, ok := v.head()
			if !ok {
				return
			}
			v.write("HTTP/1.1 200 OK\r\nContent-Length: 4194304\r\n\r\n")
			io.Copy(v, body)
			v.awaitClose()
		})
		text := noise(4 << 20)
		if _, got := p.send(t, newRequest(t, text)); got != text {
			t.Errorf("TLS %v: it arrives changed", secured)
		}
	}
}

// No response is lost if the peer responds before it reads the request (net/http loses some: go.dev/issue/40747).
func TestManyEarlyResponses(t *testing.T) {
	p := listen(t, false, func(v *visitor) {
		for {
			body, ok := v.head()
			if !ok {
				return
			}
			v.write(okay)
			if _, err := io.Copy(io.Discard, body); err != nil {
				return
			}
		}
	})
	body := strings.Repeat("x", 115_000)
	var wg sync.WaitGroup
	for range 300 {
		r := newRequest(t, body)
		wg.Go(func() {
			response, err := p.Send(t.Context(), r)
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			if text, err := io.ReadAll(response.Body); string(text) != "hi" || err != nil {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	wg.Wait()
}

// lateWriter writes everything at once, but returns from a large write only when its deadline is set.
type lateWriter struct {
	net.Conn
	hurry chan struct{}
	once  sync.Once
}

func (l *lateWriter) Write(p []byte) (int, error) {
	n, err := l.Conn.Write(p)
	if len(p) > maxInlineSend {
		<-l.hurry
	}
	return n, err
}

func (l *lateWriter) SetWriteDeadline(at time.Time) error {
	l.once.Do(func() { close(l.hurry) })
	return l.Conn.SetWriteDeadline(at)
}

// What matters is whether the request was sent, not whether its sender has returned by the end of the response.
func TestSenderIsLate(t *testing.T) {
	p := inMemory(t, responding(okay))
	p.dialed = func(c net.Conn) net.Conn { return &lateWriter{Conn: c, hurry: make(chan struct{})} }
	p.mustServe(t, newRequest(t, large[:200_000]))
	p.mustServe(t, newRequest(t, "x"))
	p.connectionsAre(t, 1)
}

// Close does not wait for a request that the peer does not read.
func TestCloseDuringTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := inMemory(t, func(v *visitor) { v.head(); v.write(okay); time.Sleep(time.Hour) })
		began := time.Now()
		response, err := p.Send(t.Context(), newRequest(t, large))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if len(p.idle) > 0 || time.Since(began) != 0 {
			t.Errorf("%d connections are kept; %v", len(p.idle), time.Since(began))
		}
	})
}
