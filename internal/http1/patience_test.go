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

// 5-failover, "no headers within upstream_ttfb_ms of the request being written": patience counts from the last time that
// the peer took some of the request, and once an answer has begun it is over.
func TestPatience(t *testing.T) {
	const patience = 10 * time.Second
	const fourPieces = 4*PieceSize - len("POST /v1/messages HTTP/1.1\r\nHost: peer\r\nContent-Length: 1048576\r\n\r\n")
	takes := func(v *visitor, each time.Duration) { // all, each of four pieces after a pause
		for range 4 {
			time.Sleep(each)
			io.CopyN(io.Discard, v, PieceSize)
		}
	}
	for _, c := range []struct {
		name    string
		size    int
		serve   func(*visitor)
		expires time.Duration // after the request began; zero: it is answered
	}{
		{"it takes nothing of a small request", 1, func(*visitor) { time.Sleep(time.Hour) }, patience},
		{"it takes nothing", fourPieces, func(*visitor) { time.Sleep(time.Hour) }, patience},
		{"it takes a little", fourPieces, func(v *visitor) { io.CopyN(io.Discard, v, 1000); time.Sleep(time.Hour) }, patience},
		{"it stops after a piece", fourPieces, func(v *visitor) {
			time.Sleep(patience - time.Second)
			io.CopyN(io.Discard, v, PieceSize)
			time.Sleep(time.Hour)
		}, 2*patience - time.Second},
		{"it takes all and says nothing", 1, func(v *visitor) { v.request(); v.hangsUp() }, patience},
		{"it takes all of a large one and says nothing", fourPieces, func(v *visitor) { v.request(); v.hangsUp() }, patience},
		{"it takes all slowly and says nothing", fourPieces, func(v *visitor) { takes(v, patience-time.Second); v.hangsUp() }, 5*patience - 4*time.Second},
		{"it stops in the head", 1, func(v *visitor) { v.request(); v.say("HTTP/1.1 200 OK\r\n"); v.hangsUp() }, patience},
		{"it only says that it works", 1, func(v *visitor) { v.request(); v.say("HTTP/1.1 103 Early Hints\r\n\r\n"); v.hangsUp() }, patience},
		{"it answers in time", 1, func(v *visitor) { v.request(); time.Sleep(patience - 1); v.say(okay); v.hangsUp() }, 0},
		{"it answers before it takes", fourPieces, func(v *visitor) { v.head(); v.say(okay); time.Sleep(time.Hour) }, 0},
		{"it takes all slowly and answers late", fourPieces, func(v *visitor) {
			takes(v, patience-time.Second)
			time.Sleep(patience - time.Second)
			v.say(okay)
			v.hangsUp()
		}, 0},
		{"its answer takes long", 1, func(v *visitor) {
			v.request()
			v.say(okay[:len(okay)-1])
			time.Sleep(24 * time.Hour)
			v.say(okay[len(okay)-1:])
			v.hangsUp()
		}, 0},
		{"its answer takes long before it takes the request", fourPieces, func(v *visitor) {
			body, _ := v.head()
			v.say(okay[:len(okay)-1])
			time.Sleep(24 * time.Hour)
			io.Copy(io.Discard, body)
			v.say(okay[len(okay)-1:])
			v.hangsUp()
		}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := inMemory(t, c.serve)
			r := newRequest(t, large[:c.size])
			r.Patience = patience
			if c.expires == 0 {
				p.mustServe(t, r)
				return
			}
			began := time.Now()
			_, err := p.Send(t.Context(), r)
			if err != ErrPatience || time.Since(began) != c.expires {
				t.Errorf("%s: %v after %v", c.name, err, time.Since(began))
			}
			if synctest.Wait(); len(p.idle) > 0 {
				t.Errorf("%s: the connection is kept", c.name)
			}
		})
	}
}

// An answer that begins at the last moment is either too late or it is not: it is never cut afterwards.
func TestAnswerAtTheLastMoment(t *testing.T) {
	for i := range 200 {
		synctest.Test(t, func(t *testing.T) {
			p := inMemory(t, func(v *visitor) {
				v.request()
				time.Sleep(time.Second)
				v.say(okay[:len(okay)-1])
				time.Sleep(time.Hour)
				v.say(okay[len(okay)-1:])
				v.hangsUp()
			})
			r := newRequest(t, large[:1+i%2*200_000])
			r.Patience = time.Second
			response, err := p.Send(t.Context(), r)
			if errors.Is(err, ErrPatience) {
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

// [timeouts]: zero patience waits without end.
func TestNoPatienceNeeded(t *testing.T) {
	for _, size := range []int{1, 1 << 20} {
		synctest.Test(t, func(t *testing.T) {
			p := inMemory(t, func(v *visitor) {
				time.Sleep(24 * time.Hour)
				v.request()
				time.Sleep(24 * time.Hour)
				v.say(okay)
				v.hangsUp()
			})
			p.mustServe(t, newRequest(t, large[:size]))
		})
	}
}

// The patience of one request has no part in the next on the same connection.
func TestPatienceIsNotPassedOn(t *testing.T) {
	for _, size := range []int{1, 200_000} {
		for _, patience := range []time.Duration{0, 2 * time.Minute} {
			synctest.Test(t, func(t *testing.T) {
				first := true
				p := inMemory(t, func(v *visitor) {
					for v.request() {
						if !first {
							time.Sleep(time.Minute)
						}
						first = false
						v.say(okay)
					}
				})
				r := newRequest(t, large[:size])
				r.Patience = 10 * time.Second
				p.mustServe(t, r)
				time.Sleep(20 * time.Second)
				r = newRequest(t, large[:size])
				r.Patience = patience
				p.mustServe(t, r)
				p.connectionsAre(t, 1)
			})
		}
	}
}

// deaf is a connection whose peer takes nothing more, but may have said something.
type deaf struct {
	net.Conn
	said io.Reader
}

func (d *deaf) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func (d *deaf) Read(p []byte) (int, error) {
	if n, _ := d.said.Read(p); n > 0 {
		return n, nil
	}
	return d.Conn.Read(p)
}

// 5-failover: a request that cannot be sent is no time that ran out, however patient: it may be sent again. What the peer
// said before is an answer all the same.
func TestPeerStopsReading(t *testing.T) {
	for _, said := range []string{"", okay} {
		synctest.Test(t, func(t *testing.T) {
			p := inMemory(t, func(v *visitor) { v.hangsUp() })
			p.dialed = func(c net.Conn) net.Conn { return &deaf{c, strings.NewReader(said)} }
			r := newRequest(t, large)
			r.Patience = time.Hour
			response, err := p.Send(t.Context(), r)
			switch {
			case said == "":
				if err == nil || errors.Is(err, ErrPatience) || errors.Is(err, ErrNoConnection) || !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("silent: %v", err)
				}
			case err != nil:
				t.Errorf("answered: %v", err)
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

// FO-9: an answer that has begun may take its time, although the request could not be sent whole.
func TestAnswerOutlivesItsRequest(t *testing.T) {
	for _, patience := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			p := inMemory(t, func(v *visitor) {
				time.Sleep(lastWords / 2)
				v.say(okay[:len(okay)-1])
				time.Sleep(time.Minute)
				v.say(okay[len(okay)-1:])
				v.hangsUp()
			})
			p.dialed = func(c net.Conn) net.Conn { return mute{c} }
			r := newRequest(t, large)
			r.Patience = patience
			response, err := p.Send(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(response.Body); string(text) != "hi" || err != nil {
				t.Errorf("patience %v: %q, %v", patience, text, err)
			}
		})
	}
}

// mute is a connection that nothing can be written to.
type mute struct{ net.Conn }

func (mute) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
