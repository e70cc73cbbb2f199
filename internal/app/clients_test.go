package app_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// dial opens a bare connection to the gateway.
func (w *world) dial() net.Conn {
	w.Helper()
	conn, err := w.Client.Transport.(*http.Transport).DialContext(w.Context(), "tcp", "127.0.0.1:3001")
	if err != nil {
		w.Fatal(err)
	}
	return conn
}

// readResponse reads the next response on a connection.
func (w *world) readResponse(r *bufio.Reader) simtest.Reply {
	w.Helper()
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return simtest.NewReply(response, data, err)
}

// head is the beginning of a request on a bare connection, without its framing.
const head = "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nanthropic-version: 2023-06-01\r\nuser-agent: odd\r\n"

// WIRE-5, WIRE-3: a body in chunks, one that is announced with expect, and one that comes byte by byte arrive as they are,
// with a length, and the framing of the client's connection stays there. The connection serves one request after the other.
func TestBodiesInPieces(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		conn := w.dial()
		defer conn.Close()
		responses := bufio.NewReader(conn)
		body := simtest.Body(simtest.PlainModel, false)
		check := func(how string) {
			got := w.readResponse(responses)
			r := w.Received()
			if got.Status != 200 || string(r.Body) != body || r.Header.Get("Content-Length") != fmt.Sprint(len(body)) || r.Header["Expect"] != nil || r.Header["Trailer"] != nil {
				w.Errorf("%s: %d, sent with %v: %s", how, got.Status, r.Header, r.Body)
			}
		}
		fmt.Fprintf(conn, "%stransfer-encoding: chunked\r\ntrailer: x-checksum\r\n\r\n", head)
		for i := 0; i < len(body); i += 7 {
			piece := body[i:min(i+7, len(body))]
			fmt.Fprintf(conn, "%x;ext=1\r\n%s\r\n", len(piece), piece)
		}
		io.WriteString(conn, "0\r\nx-checksum: 1\r\n\r\n")
		check("chunked")

		fmt.Fprintf(conn, "%scontent-length: %d\r\nexpect: 100-continue\r\n\r\n", head, len(body))
		if line, _ := responses.ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 100") {
			w.Fatalf("%q", line)
		}
		responses.ReadString('\n')
		io.WriteString(conn, body)
		check("expected")

		fmt.Fprintf(conn, "%scontent-length: %d\r\n\r\n", head, len(body))
		for i := range len(body) {
			time.Sleep(100 * time.Millisecond) // over 10 s in all
			io.WriteString(conn, body[i:i+1])
		}
		check("slowly")
	})
}

// [server.timeouts]: a client that does not get its header out, or whose body stops, is given up; nothing reaches the
// provider and nothing is left.
func TestSlowClients(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		for name, c := range map[string]struct {
			sent     string
			after    time.Duration
			response string
		}{
			"header":                 {head + "x-slow: ", 10 * time.Second, ""},
			"body":                   {head + "content-length: 100\r\n\r\n{\"model\":", 30 * time.Second, "408"},
			"body, after much of it": {head + "content-length: 200000\r\n\r\n{\"model\":\"" + strings.Repeat("x", 100_000), 60 * time.Second, "408"},
		} {
			conn := w.dial()
			began := time.Now()
			io.WriteString(conn, c.sent)
			got, err := io.ReadAll(conn)
			if took := time.Since(began); err != nil || !strings.Contains(string(got), c.response) || took < c.after || took > c.after+3*time.Second {
				w.Errorf("%s: %v after %v: %s", name, err, took, got)
			}
			conn.Close()
		}
		if w.Seen() != 0 {
			w.Errorf("%d requests reached the provider", w.Seen())
		}
	})
}

// FO-5: a client that leaves while it sends its request never becomes one.
func TestClientLeavesWhileItSends(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		conn := w.dial()
		io.WriteString(conn, head+"content-length: 1000\r\n\r\n{\"model\":\"x\"")
		conn.Close()
		synctest.Wait()
		if r := w.Last(); w.Seen() != 0 || r.Attempts != 0 || !strings.Contains(r.Error, "ended early") {
			w.Errorf("%d requests, record %+v", w.Seen(), r)
		}
	})
}

// A client may send its next request before it has read the response to the last.
func TestPipelining(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		conn := w.dial()
		defer conn.Close()
		go func() {
			for i := range 3 {
				body := simtest.Body(simtest.PlainModel, i == 1)
				fmt.Fprintf(conn, "%scontent-length: %d\r\n\r\n%s", head, len(body), body)
			}
			fmt.Fprintf(conn, "%scontent-length: 2\r\n\r\n{}", head)
		}()
		responses := bufio.NewReader(conn)
		for i, want := range []int{200, 200, 200, 400} {
			if got := w.readResponse(responses); got.Status != want || got.Err != nil {
				w.Errorf("response %d: %d %v %s", i, got.Status, got.Err, got.Body)
			}
		}
	})
}

// ERR-2: a response that is sent before the provider has read the request is relayed like any other.
func TestAnswerBeforeTheRequestIsRead(t *testing.T) {
	provider := sim.New(sim.Config{Accounts: simtest.Accounts(1)})
	server, err := sim.Start(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		w.Write(messages.AppendError(nil, messages.TypeTooLarge, "Request exceeds the maximum size", "r"))
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	address, stop := startShunt(t, provider, server.URL)
	defer stop()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	body := `{"model":"claude-x","messages":"` + strings.Repeat("x", 8<<20) + `"}`
	for range 5 {
		response, err := (&http.Client{Transport: transport}).Post("http://"+address+sim.MessagesPath, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != 413 || !strings.Contains(string(text), "maximum size") || response.Header.Get("X-Shunt-Account") != "a" {
			t.Errorf("%d %v: %s", response.StatusCode, response.Header, text)
		}
	}
}
