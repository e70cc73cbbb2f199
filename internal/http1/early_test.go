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

// An answer that comes before the request is sent arrives whole, whatever the peer does with the rest of the request; the
// connection carries nothing more if the rest was not sent.
func TestAnswerBeforeTheRequest(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(v *visitor, body io.Reader, served chan struct{})
		gone bool // the connection certainly is
	}{
		{"it closes", func(*visitor, io.Reader, chan struct{}) {}, true},
		{"it reads nothing", func(_ *visitor, _ io.Reader, served chan struct{}) { <-served }, true},
		{"it reads the rest", func(v *visitor, body io.Reader, _ chan struct{}) { io.Copy(io.Discard, body) }, false},
	} {
		for _, secured := range []bool{false, true} {
			for _, patience := range []time.Duration{0, time.Hour} {
				served := make(chan struct{})
				p := listen(t, secured, func(v *visitor) {
					if c.gone {
						v.raw.(*net.TCPConn).SetReadBuffer(16 << 10) // the socket must not take it all by itself
					}
					for {
						body, ok := v.head()
						if !ok {
							return
						}
						v.say(tooLarge)
						c.then(v, body, served)
						if c.gone {
							return
						}
					}
				})
				for range 2 {
					r := newRequest(t, large)
					r.Patience = patience
					status, text := p.ask(t, r)
					if status != http.StatusRequestEntityTooLarge || text != "large" {
						t.Errorf("%s, TLS %v: status %d, %q", c.name, secured, status, text)
					}
					if c.gone && len(p.idle) > 0 {
						t.Errorf("%s, TLS %v: the connection is kept", c.name, secured)
					}
				}
				t.Cleanup(func() { close(served) }) // after the request was given up
			}
		}
	}
}

// A long answer may be read while the request is still on its way.
func TestAnswerDuringTheRequest(t *testing.T) {
	for _, secured := range []bool{false, true} {
		p := listen(t, secured, func(v *visitor) {
			body, ok := v.head()
			if !ok {
				return
			}
			v.say("HTTP/1.1 200 OK\r\nContent-Length: 4194304\r\n\r\n")
			io.Copy(v, body)
			v.hangsUp()
		})
		text := noise(4 << 20)
		if _, got := p.ask(t, newRequest(t, text)); got != text {
			t.Errorf("TLS %v: it arrives changed", secured)
		}
	}
}

// A peer that answers before it reads loses none of many requests (net/http lost some: Go issue 40747).
func TestManyEarlyAnswers(t *testing.T) {
	p := listen(t, false, func(v *visitor) {
		for {
			body, ok := v.head()
			if !ok {
				return
			}
			v.say(okay)
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

// lateWriter says that a write is done only when it is told to come to an end, though everything went out.
type lateWriter struct {
	net.Conn
	hurry chan struct{}
	once  sync.Once
}

func (l *lateWriter) Write(p []byte) (int, error) {
	n, err := l.Conn.Write(p)
	if len(p) > sentAtOnce {
		<-l.hurry
	}
	return n, err
}

func (l *lateWriter) SetWriteDeadline(at time.Time) error {
	l.once.Do(func() { close(l.hurry) })
	return l.Conn.SetWriteDeadline(at)
}

// What counts is whether the request went out, and not whether its sender has noticed by the end of the answer.
func TestSenderIsLate(t *testing.T) {
	p := inMemory(t, answering(okay))
	p.dialed = func(c net.Conn) net.Conn { return &lateWriter{Conn: c, hurry: make(chan struct{})} }
	p.mustServe(t, newRequest(t, large[:200_000]))
	p.mustServe(t, newRequest(t, "x"))
	p.connectionsAre(t, 1)
}

// A caller that closes the answer of a request that nobody reads does not wait for it.
func TestCloseDuringTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := inMemory(t, func(v *visitor) { v.head(); v.say(okay); time.Sleep(time.Hour) })
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
