package http1

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// 5-failover, "no headers within upstream_ttfb_ms of the request being written": the timeout starts again with each piece of the
// request that the peer reads, and ends when the response begins.
func TestTimeout(t *testing.T) {
	const timeout = 10 * time.Second
	const fourPieces = 4*PieceSize - len("POST /v1/messages HTTP/1.1\r\nHost: peer\r\nContent-Length: 1048576\r\n\r\n")
	takes := func(v *visitor, each time.Duration) { // reads four pieces, each after a pause
		for range 4 {
			time.Sleep(each)
			io.CopyN(io.Discard, v, PieceSize)
		}
	}
	for _, c := range []struct {
		name    string
		size    int
		serve   func(*visitor)
		expires time.Duration // after the beginning of the request; zero: there is a response
	}{
		{"it reads nothing of a small request", 1, func(*visitor) { time.Sleep(time.Hour) }, timeout},
		{"it reads nothing", fourPieces, func(*visitor) { time.Sleep(time.Hour) }, timeout},
		{"it reads a little", fourPieces, func(v *visitor) { io.CopyN(io.Discard, v, 1000); time.Sleep(time.Hour) }, timeout},
		{"it stops after a piece", fourPieces, func(v *visitor) {
			time.Sleep(timeout - time.Second)
			io.CopyN(io.Discard, v, PieceSize)
			time.Sleep(time.Hour)
		}, 2*timeout - time.Second},
		{"it reads all and sends nothing", 1, func(v *visitor) { v.request(); v.awaitClose() }, timeout},
		{"it reads all of a large one and sends nothing", fourPieces, func(v *visitor) { v.request(); v.awaitClose() }, timeout},
		{"it reads all slowly and sends nothing", fourPieces, func(v *visitor) { takes(v, timeout-time.Second); v.awaitClose() }, 5*timeout - 4*time.Second},
		{"it stops in the head", 1, func(v *visitor) { v.request(); v.write("HTTP/1.1 200 OK\r\n"); v.awaitClose() }, timeout},
		{"it only says that it works", 1, func(v *visitor) { v.request(); v.write("HTTP/1.1 103 Early Hints\r\n\r\n"); v.awaitClose() }, timeout},
		{"it responds in time", 1, func(v *visitor) { v.request(); time.Sleep(timeout - 1); v.write(okay); v.awaitClose() }, 0},
		{"it responds before it reads", fourPieces, func(v *visitor) { v.head(); v.write(okay); time.Sleep(time.Hour) }, 0},
		{"it reads all slowly and responds late", fourPieces, func(v *visitor) {
			takes(v, timeout-time.Second)
			time.Sleep(timeout - time.Second)
			v.write(okay)
			v.awaitClose()
		}, 0},
		{"its response is slow", 1, func(v *visitor) {
			v.request()
			v.write(okay[:len(okay)-1])
			time.Sleep(24 * time.Hour)
			v.write(okay[len(okay)-1:])
			v.awaitClose()
		}, 0},
		{"its response is slow before it reads the request", fourPieces, func(v *visitor) {
			body, _ := v.head()
			v.write(okay[:len(okay)-1])
			time.Sleep(24 * time.Hour)
			io.Copy(io.Discard, body)
			v.write(okay[len(okay)-1:])
			v.awaitClose()
		}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := inMemory(t, c.serve)
			r := newRequest(t, large[:c.size])
			r.Timeout = timeout
			if c.expires == 0 {
				p.mustServe(t, r)
				return
			}
			began := time.Now()
			_, err := p.Send(t.Context(), r)
			if err != ErrTimeout || time.Since(began) != c.expires {
				t.Errorf("%s: %v after %v", c.name, err, time.Since(began))
			}
			if synctest.Wait(); len(p.idle) > 0 {
				t.Errorf("%s: the connection is kept", c.name)
			}
		})
	}
}

// A response that begins at the last moment is either too late or complete: it is never truncated by the timeout.
func TestResponseAtTheLastMoment(t *testing.T) {
	for i := range 200 {
		synctest.Test(t, func(t *testing.T) {
			p := inMemory(t, func(v *visitor) {
				v.request()
				time.Sleep(time.Second)
				v.write(okay[:len(okay)-1])
				time.Sleep(time.Hour)
				v.write(okay[len(okay)-1:])
				v.awaitClose()
			})
			r := newRequest(t, large[:1+i%2*200_000])
			r.Timeout = time.Second
			response, err := p.Send(t.Context(), r)
			if errors.Is(err, ErrTimeout) {
				return // too late, and nothing else
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(response.Body)
			if string(text) != "hi" || err != nil {
				t.Fatalf("%q, %v", text, err)
			}
		})
	}
}

// [timeouts]: 0 is no timeout.
func TestNoTimeout(t *testing.T) {
	for _, size := range []int{1, 1 << 20} {
		synctest.Test(t, func(t *testing.T) {
			p := inMemory(t, func(v *visitor) {
				time.Sleep(24 * time.Hour)
				v.request()
				time.Sleep(24 * time.Hour)
				v.write(okay)
				v.awaitClose()
			})
			p.mustServe(t, newRequest(t, large[:size]))
		})
	}
}

// The timeout of one request does not affect the next on the same connection.
func TestTimeoutIsPerRequest(t *testing.T) {
	for _, size := range []int{1, 200_000} {
		for _, timeout := range []time.Duration{0, 2 * time.Minute} {
			synctest.Test(t, func(t *testing.T) {
				first := true
				p := inMemory(t, func(v *visitor) {
					for v.request() {
						if !first {
							time.Sleep(time.Minute)
						}
						first = false
						v.write(okay)
					}
				})
				r := newRequest(t, large[:size])
				r.Timeout = 10 * time.Second
				p.mustServe(t, r)
				time.Sleep(20 * time.Second)
				r = newRequest(t, large[:size])
				r.Timeout = timeout
				p.mustServe(t, r)
				p.connectionsAre(t, 1)
			})
		}
	}
}

// deaf is a connection whose peer reads nothing more, but may have sent something.
type deaf struct {
	net.Conn
	written io.Reader
}

func (d *deaf) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func (d *deaf) Read(p []byte) (int, error) {
	if n, _ := d.written.Read(p); n > 0 {
		return n, nil
	}
	return d.Conn.Read(p)
}

// 5-failover: a request that cannot be sent is not a timeout: it may be sent again. What the peer sent before
// is still a response.
func TestPeerStopsReading(t *testing.T) {
	for _, written := range []string{"", okay} {
		synctest.Test(t, func(t *testing.T) {
			p := inMemory(t, func(v *visitor) { v.awaitClose() })
			p.dialed = func(c net.Conn) net.Conn { return &deaf{c, strings.NewReader(written)} }
			r := newRequest(t, large)
			r.Timeout = time.Hour
			response, err := p.Send(t.Context(), r)
			switch {
			case written == "":
				if err == nil || errors.Is(err, ErrTimeout) || errors.Is(err, ErrNoConnection) || !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("silent: %v", err)
				}
			case err != nil:
				t.Errorf("response: %v", err)
			default:
				if text, err := io.ReadAll(response.Body); string(text) != "hi" || err != nil {
					t.Errorf("%q, %v", text, err)
				}
			}
			if len(p.idle) > 0 {
				t.Error("the connection is kept")
			}
		})
	}
}

// FO-9: a response that has begun has no timeout, even if the request could not be sent completely.
func TestResponseOutlivesItsRequest(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			p := inMemory(t, func(v *visitor) {
				time.Sleep(lateResponseWait / 2)
				v.write(okay[:len(okay)-1])
				time.Sleep(time.Minute)
				v.write(okay[len(okay)-1:])
				v.awaitClose()
			})
			p.dialed = func(c net.Conn) net.Conn { return mute{c} }
			r := newRequest(t, large)
			r.Timeout = timeout
			response, err := p.Send(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(response.Body); string(text) != "hi" || err != nil {
				t.Errorf("timeout %v: %q, %v", timeout, text, err)
			}
		})
	}
}

// mute is a connection that cannot be written to.
type mute struct{ net.Conn }

func (mute) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
