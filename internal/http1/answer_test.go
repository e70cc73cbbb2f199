package http1

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// WIRE-10: an answer is what the peer said after what it said on the way.
func TestAnswers(t *testing.T) {
	const interim = "HTTP/1.1 100 Continue\r\n\r\n"
	for _, c := range []struct {
		name, text string
		status     int // zero: it is no answer
		body       string
	}{
		{"plain", okay, 200, "hi"},
		{"after a 100", interim + okay, 200, "hi"},
		{"after hints", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + okay, 200, "hi"},
		{"after many", strings.Repeat(interim, 1000) + okay, 200, "hi"},
		{"after too many", strings.Repeat(interim, maxHead/len(interim)+1) + okay, 0, ""},
		{"an error", "HTTP/1.1 529 \r\nContent-Length: 2\r\n\r\n{}", 529, "{}"},
		{"a status that nobody knows", "HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n", 999, ""},
		{"switching", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", 0, ""},
		{"status 099", "HTTP/1.1 099 X\r\nContent-Length: 2\r\n\r\nhi", 99, "hi"},
		{"status -10", "HTTP/1.1 -10 X\r\nContent-Length: 0\r\n\r\n", 0, ""},
		{"status 2000", "HTTP/1.1 2000 X\r\nContent-Length: 0\r\n\r\n", 0, ""},
		{"another protocol", "SSH-2.0-OpenSSH\r\n\r\n", 0, ""},
		{"a header without a colon", "HTTP/1.1 200 OK\r\nX\r\n\r\n", 0, ""},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nhi", 0, ""},
		{"a length below zero", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhi", 0, ""},
		{"a coding that nobody knows", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhi", 0, ""},
		{"nothing", "", 0, ""},
		{"an empty line", "\r\n\r\n", 0, ""},
		{"a long head", headOf(maxHead - 100), 200, "hi"},
		{"one that is too long", headOf(maxHead + 1), 0, ""},
		{"a line that is too long", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxHead), 0, ""},
	} {
		for _, size := range []int{1, 200_000} {
			p := listen(t, false, func(v *visitor) {
				if v.request() {
					v.say(c.text)
				}
			})
			response, err := p.Send(t.Context(), newRequest(t, large[:size]))
			if c.status == 0 {
				if err == nil || errors.Is(err, ErrNoConnection) || errors.Is(err, ErrPatience) {
					t.Errorf("%s: %v", c.name, err)
				}
				if len(p.idle) > 0 {
					t.Errorf("%s: the connection is kept", c.name)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			text, err := io.ReadAll(response.Body)
			if response.Status != c.status || string(text) != c.body || err != nil {
				t.Errorf("%s: status %d, %q, %v", c.name, response.Status, text, err)
			}
		}
	}
}

// What is not HTTP is recognized by its first bytes, also on a connection that stays open.
func TestAnotherProtocolIsRecognizedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := inMemory(t, func(v *visitor) { v.request(); v.say("SSH-2.0"); v.hangsUp() })
		began := time.Now()
		if _, err := p.Send(t.Context(), newRequest(t, "x")); !errors.Is(err, ErrAnswer) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// headOf is an answer whose head has about n bytes.
func headOf(n int) string {
	line := "X: " + strings.Repeat("x", 995) + "\r\n"
	return "HTTP/1.1 200 OK\r\n" + strings.Repeat(line, n/len(line)+n/maxHead) + "Content-Length: 2\r\n\r\nhi"
}

// The bound on a head is each head's own, also where a connection carries many.
func TestHeadsAreBoundedEach(t *testing.T) {
	p := listen(t, false, answering(headOf(maxHead/2)))
	for range 4 {
		p.mustServe(t, newRequest(t, "x"))
	}
	p.connectionsAre(t, 1)
}

// FO-9: an answer that breaks off is told from one that ends.
func TestAnswerBreaksOff(t *testing.T) {
	for name, text := range map[string]string{
		"length":     "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
		"chunk":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhi",
		"last chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
		"trailer":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n",
		"bad chunk":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nxyz\r\n",
	} {
		p := listen(t, false, func(v *visitor) { v.request(); v.say(text) })
		response, err := p.Send(t.Context(), newRequest(t, "x"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if text, err := io.ReadAll(response.Body); string(text) != "hi" || err == nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if n, err := response.Body.Read(make([]byte, 1)); n != 0 || err == nil || err == io.EOF {
			t.Errorf("%s: then %d, %v", name, n, err)
		}
		if len(p.idle) > 0 {
			t.Errorf("%s: the connection is kept", name)
		}
	}
}

// WIRE-11: what has arrived can be read, though more is to come, also where the peer made one chunk of it all.
func TestAnswerIsReadAsItComes(t *testing.T) {
	for name, c := range map[string]struct{ head, part, end string }{
		"chunks":    {"Transfer-Encoding: chunked\r\n\r\n", "2\r\nhi\r\n", "0\r\n\r\n"},
		"one chunk": {"Transfer-Encoding: chunked\r\n\r\n6\r\n", "hi", "\r\n0\r\n\r\n"},
		"length":    {"Content-Length: 6\r\n\r\n", "hi", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := inMemory(t, func(v *visitor) {
				v.request()
				v.say("HTTP/1.1 200 OK\r\n" + c.head)
				for range 3 {
					time.Sleep(time.Minute)
					v.say(c.part)
				}
				v.say(c.end)
				v.hangsUp()
			})
			began := time.Now()
			response, err := p.Send(t.Context(), newRequest(t, "x"))
			if err != nil || time.Since(began) != 0 {
				t.Fatalf("%s: %v after %v", name, err, time.Since(began))
			}
			b := make([]byte, 100)
			for i := range 3 {
				n, err := response.Body.Read(b)
				if string(b[:n]) != "hi" || err != nil && (err != io.EOF || i < 2) || time.Since(began) != time.Duration(i+1)*time.Minute {
					t.Errorf("%s: %q, %v after %v", name, b[:n], err, time.Since(began))
				}
			}
			if n, err := response.Body.Read(b); n != 0 || err != io.EOF {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		})
	}
}

// A body may be closed by another goroutine than the one that reads it, at any time.
func TestCloseWhileItIsRead(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, text := range map[string]string{"silent": head, "long": head + strings.Repeat("2\r\nhi\r\n", 1000), "whole": okay} {
		p := listen(t, false, answering(text))
		for range 20 {
			response, err := p.Send(t.Context(), newRequest(t, "x"))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var wg sync.WaitGroup
			var got error
			wg.Go(func() { _, got = io.Copy(io.Discard, response.Body) })
			for range 2 {
				wg.Go(func() {
					if err := response.Body.Close(); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			wg.Wait()
			if got == nil && text != okay {
				t.Errorf("%s: it ended as if it were whole", name)
			}
			n, err := response.Body.Read(make([]byte, 1))
			if n != 0 || err == nil || text != okay && !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: then %d, %v", name, n, err)
			}
		}
	}
}

// Closing a body that was read to its end takes nothing from the request that has the connection then.
func TestCloseAfterTheEnd(t *testing.T) {
	p := listen(t, false, answering(okay))
	var before []*Response
	for i := range 5 {
		for _, r := range before {
			r.Body.Close()
			if _, err := r.Body.Read(make([]byte, 1)); err != io.EOF {
				t.Error(err)
			}
		}
		response, err := p.Send(t.Context(), newRequest(t, fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range before {
			r.Body.Close()
		}
		if text, err := io.ReadAll(response.Body); string(text) != "hi" || err != nil {
			t.Fatalf("%q, %v", text, err)
		}
		before = append(before, response)
	}
	p.connectionsAre(t, 1)
}
