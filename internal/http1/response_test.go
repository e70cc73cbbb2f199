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

// WIRE-10: a response is read, and 1xx responses before it are skipped.
func TestResponses(t *testing.T) {
	const interim = "HTTP/1.1 100 Continue\r\n\r\n"
	for _, c := range []struct {
		name, text string
		status     int // zero: an error
		body       string
	}{
		{"plain", okay, 200, "hi"},
		{"after a 100", interim + okay, 200, "hi"},
		{"after hints", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + okay, 200, "hi"},
		{"after many", strings.Repeat(interim, 1000) + okay, 200, "hi"},
		{"after too many", strings.Repeat(interim, maxHead/len(interim)+1) + okay, 0, ""},
		{"an error", "HTTP/1.1 529 \r\nContent-Length: 2\r\n\r\n{}", 529, "{}"},
		{"a status that is unknown", "HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n", 999, ""},
		{"switching", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", 0, ""},
		{"status 099", "HTTP/1.1 099 X\r\nContent-Length: 2\r\n\r\nhi", 99, "hi"},
		{"status -10", "HTTP/1.1 -10 X\r\nContent-Length: 0\r\n\r\n", 0, ""},
		{"status 2000", "HTTP/1.1 2000 X\r\nContent-Length: 0\r\n\r\n", 0, ""},
		{"another protocol", "SSH-2.0-OpenSSH\r\n\r\n", 0, ""},
		{"a header without a colon", "HTTP/1.1 200 OK\r\nX\r\n\r\n", 0, ""},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nhi", 0, ""},
		{"a length below zero", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhi", 0, ""},
		{"a coding that is unknown", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhi", 0, ""},
		{"nothing", "", 0, ""},
		{"an empty line", "\r\n\r\n", 0, ""},
		{"a long head", headOf(maxHead - 100), 200, "hi"},
		{"one that is too long", headOf(maxHead + 1), 0, ""},
		{"a line that is too long", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxHead), 0, ""},
	} {
		for _, size := range []int{1, 200_000} {
			p := listen(t, false, func(v *visitor) {
				if v.request() {
					v.write(c.text)
				}
			})
			response, err := p.Send(t.Context(), newRequest(t, large[:size]))
			if c.status == 0 {
				if err == nil || errors.Is(err, ErrNoConnection) || errors.Is(err, ErrTimeout) {
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
		p := inMemory(t, func(v *visitor) { v.request(); v.write("SSH-2.0"); v.awaitClose() })
		began := time.Now()
		if _, err := p.Send(t.Context(), newRequest(t, "x")); !errors.Is(err, ErrMalformed) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// headOf returns a response whose head has about n bytes.
func headOf(n int) string {
	line := "X: " + strings.Repeat("x", 995) + "\r\n"
	return "HTTP/1.1 200 OK\r\n" + strings.Repeat(line, n/len(line)+n/maxHead) + "Content-Length: 2\r\n\r\nhi"
}

// Each head on a connection may be as long as the limit allows.
func TestEachHeadIsBounded(t *testing.T) {
	p := listen(t, false, responding(headOf(maxHead/2)))
	for range 4 {
		p.mustServe(t, newRequest(t, "x"))
	}
	p.connectionsAre(t, 1)
}

// FO-9: a truncated response is distinguished from one that ends.
func TestResponseTruncated(t *testing.T) {
	for name, text := range map[string]string{
		"length":     "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
		"chunk":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhi",
		"last chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
		"trailer":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n",
		"bad chunk":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nxyz\r\n",
	} {
		p := listen(t, false, func(v *visitor) { v.request(); v.write(text) })
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

// WIRE-11: what has arrived can be read at once, even in the middle of a chunk.
func TestResponseIsReadAsItArrives(t *testing.T) {
	for name, c := range map[string]struct{ head, part, end string }{
		"chunks":    {"Transfer-Encoding: chunked\r\n\r\n", "2\r\nhi\r\n", "0\r\n\r\n"},
		"one chunk": {"Transfer-Encoding: chunked\r\n\r\n6\r\n", "hi", "\r\n0\r\n\r\n"},
		"length":    {"Content-Length: 6\r\n\r\n", "hi", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := inMemory(t, func(v *visitor) {
				v.request()
				v.write("HTTP/1.1 200 OK\r\n" + c.head)
				for range 3 {
					time.Sleep(time.Minute)
					v.write(c.part)
				}
				v.write(c.end)
				v.awaitClose()
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

// A body may be closed at any time, by a goroutine other than the one that reads it.
func TestCloseWhileItIsRead(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, text := range map[string]string{"silent": head, "long": head + strings.Repeat("2\r\nhi\r\n", 1000), "whole": okay} {
		p := listen(t, false, responding(text))
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
				t.Errorf("%s: it ended like a complete response", name)
			}
			n, err := response.Body.Read(make([]byte, 1))
			if n != 0 || err == nil || text != okay && !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: then %d, %v", name, n, err)
			}
		}
	}
}

// Closing a body that was read to its end does not affect the next request on the connection.
func TestCloseAfterTheEnd(t *testing.T) {
	p := listen(t, false, responding(okay))
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
