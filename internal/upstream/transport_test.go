package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/family"
	"shunt/internal/family/claude"
	"shunt/internal/http1"
)

// OBS-1: the log says why there was no response, and quotes the network but never the upstream.
func TestCause(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}, "dial tcp: connection refused"},
		{fmt.Errorf("send: %w", &net.DNSError{Err: "no such host", Name: "api.example"}), "lookup api.example: no such host"},
		{fmt.Errorf("send: %w", io.EOF), "the connection was closed before a response"},
		{fmt.Errorf("send: %w", &http1.ProxyError{Err: errors.New("it refused the connection with status 407")}), "proxy: it refused the connection with status 407"},
		{&http1.ProxyError{Err: &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}}, "proxy: dial tcp: connection refused"},
		{errors.New(`net/http: HTTP/1.x transport connection broken: malformed HTTP response "a secret response"`), "the response is not valid HTTP"},
	} {
		if got := cause(c.err); got != c.want {
			t.Errorf("%v: %q", c.err, got)
		}
	}
}

// transports are both of what carries clients' requests.
var transports = map[string]func(DialFunc) *Transport{"http1": NewTransport, netHTTPTransport: NewNetHTTPTransport}

const netHTTPTransport = "net/http"

// newTestTransport returns a transport of the kind that SHUNT_TEST_TRANSPORT names.
func newTestTransport(dial DialFunc) *Transport {
	if named := transports[os.Getenv("SHUNT_TEST_TRANSPORT")]; named != nil {
		return named(dial)
	}
	return NewTransport(dial)
}

// remote is an upstream on connections in memory. It counts them, and sees every one from its beginning.
type remote struct {
	connections atomic.Int32
	serve       func(c net.Conn, in *bufio.Reader)
	wg          sync.WaitGroup
}

func (u *remote) dial(context.Context, string, string) (net.Conn, error) {
	u.connections.Add(1)
	ours, theirs := net.Pipe()
	u.wg.Go(func() {
		defer theirs.Close()
		u.serve(theirs, bufio.NewReader(theirs))
	})
	return ours, nil
}

// readRequest reads a request to its end.
func readRequest(in *bufio.Reader) (*http.Request, []byte, error) {
	r, err := http.ReadRequest(in)
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(r.Body)
	return r, body, err
}

// sent is [sentTo] for http://up.test.
func sent(t *testing.T, ctx context.Context, transport *Transport, size int, timeout time.Duration, fresh bool) (*http1.Response, error) {
	t.Helper()
	return sentTo(t, ctx, transport, "http://up.test", size, timeout, fresh)
}

// sentTo sends a request with a body of some size, and checks afterwards that the body was given back.
func sentTo(t *testing.T, ctx context.Context, transport *Transport, base string, size int, timeout time.Duration, fresh bool) (*http1.Response, error) {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	body, err := ReadBody(strings.NewReader(strings.Repeat("x", size)), int64(size), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	client := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/messages?beta=true", nil)
	client.Header.Set("X-App", "cli")
	to := transport.endpoint(u)
	r := &Request{Client: client, Path: "/v1/messages", Body: body, Times: Times{TTFBNonstream: timeout}}
	passed := r.passing(&claude.Family, nil)
	passed.fresh = fresh
	response, err := to.send(r, passed)
	body.Release()
	t.Cleanup(func() {
		if synctest.Wait(); body.refs.Load() != 0 {
			t.Errorf("the body still has %d references", body.refs.Load())
		}
	})
	return response, err
}

const okay = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

// FO-0a, FO-0b: the same failure has the same meaning, whatever sends the request.
func TestTransportsClassifyAlike(t *testing.T) {
	const timeout = 10 * time.Second
	noConnection := func(_ context.Context, network, _ string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("connection refused")}
	}
	sends := func(text string) func(net.Conn, *bufio.Reader) {
		return func(c net.Conn, in *bufio.Reader) {
			readRequest(in)
			io.WriteString(c, text)
		}
	}
	stays := func(text string) func(net.Conn, *bufio.Reader) { // until the client closes the connection
		return func(c net.Conn, in *bufio.Reader) {
			sends(text)(c, in)
			io.Copy(io.Discard, in)
		}
	}
	for _, c := range []struct {
		name  string
		serve func(c net.Conn, in *bufio.Reader)
		dial  DialFunc
		size  int // 0: 1000 bytes
		reuse bool
		want  error            // for errors.Is
		fails *http1.SendError // or this
		took  time.Duration
	}{
		{name: "no connection", dial: noConnection, want: http1.ErrNoConnection},
		{
			name: "no connection in time", dial: func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() },
			want: http1.ErrNoConnection, took: http1.ConnectTimeout,
		},
		{name: "closed before the request", serve: func(net.Conn, *bufio.Reader) {}, fails: &http1.SendError{}},
		{name: "closed during the request", size: 1 << 20, serve: func(_ net.Conn, in *bufio.Reader) { http.ReadRequest(in) }, fails: &http1.SendError{}},
		{name: "closed at once after the request", serve: sends(""), fails: &http1.SendError{Sent: true}},
		{
			name: "closed after a large request", size: 1 << 20, serve: func(_ net.Conn, in *bufio.Reader) { readRequest(in); time.Sleep(time.Second) },
			fails: &http1.SendError{Sent: true, After: time.Second}, took: time.Second,
		},
		{
			name: "closed later", serve: func(_ net.Conn, in *bufio.Reader) { readRequest(in); time.Sleep(3 * time.Second) },
			fails: &http1.SendError{Sent: true, After: 3 * time.Second}, took: 3 * time.Second,
		},
		{name: "closed on a reused connection", reuse: true, serve: sends(""), fails: &http1.SendError{Reused: true, Sent: true}},
		{name: "one byte", serve: sends("H"), fails: &http1.SendError{Sent: true, Received: true}},
		{name: "a 1xx", serve: sends("HTTP/1.1 103 Early Hints\r\n\r\n"), fails: &http1.SendError{Sent: true, Received: true}},
		{name: "half a head", serve: sends("HTTP/1.1 200 OK\r\nContent-"), fails: &http1.SendError{Sent: true, Received: true}},
		{name: "another protocol", serve: stays("SSH-2.0-OpenSSH\r\n\r\n"), want: http1.ErrMalformed},
		{name: "a header without a colon", serve: stays("HTTP/1.1 200 OK\r\nsecret\r\n\r\n"), want: http1.ErrMalformed},
		{name: "two lengths", serve: stays("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nhi"), want: http1.ErrMalformed},
		{name: "too long a head", serve: stays("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 11_000)), want: http1.ErrMalformed},
		{name: "status 099", serve: stays("HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n"), want: http1.ErrMalformed},
		{name: "status 101", serve: stays("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), want: http1.ErrMalformed},
		{
			name: "silent", serve: stays(""),
			want: http1.ErrTimeout, took: timeout,
		},
		{
			name: "silent after a large request", size: 1 << 20, serve: stays(""),
			want: http1.ErrTimeout, took: timeout,
		},
		{
			name: "silent after a 1xx", serve: stays("HTTP/1.1 103 Early Hints\r\n\r\n"), want: http1.ErrTimeout, took: timeout,
		},
		{
			name: "takes nothing", size: 1 << 20, serve: func(net.Conn, *bufio.Reader) { time.Sleep(time.Hour) },
			want: http1.ErrTimeout, took: timeout,
		},
		{
			name: "takes a large request slowly", size: 4*http1.PieceSize - 1000, serve: func(c net.Conn, in *bufio.Reader) {
				for range 4 {
					time.Sleep(timeout - time.Second)
					io.CopyN(io.Discard, in, http1.PieceSize)
				}
				time.Sleep(time.Hour)
			}, want: http1.ErrTimeout, took: 4*(timeout-time.Second) + timeout,
		},
	} {
		for kind, newTransport := range transports {
			if c.reuse && kind == netHTTPTransport {
				continue // it reuses no connection: TestTransportsSendAlike
			}
			t.Run(c.name+", "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					first := c.reuse
					u := &remote{serve: func(conn net.Conn, in *bufio.Reader) {
						if first {
							first = false
							readRequest(in)
							io.WriteString(conn, okay)
						}
						c.serve(conn, in)
					}}
					dial := c.dial
					if dial == nil {
						dial = u.dial
					}
					transport := newTransport(dial)
					defer transport.Close()
					if c.reuse {
						response, err := sent(t, t.Context(), transport, 1000, timeout, false)
						if err != nil {
							t.Fatal(err)
						}
						io.Copy(io.Discard, response.Body)
						response.Body.Close()
						synctest.Wait()
					}
					began := time.Now()
					response, err := sent(t, t.Context(), transport, max(c.size, 1000), timeout, false)
					took := time.Since(began)
					if err == nil {
						response.Body.Close()
						t.Fatalf("status %d", response.Status)
					}
					if strings.Contains(err.Error(), "secret") {
						t.Errorf("%v quotes the upstream", err)
					}
					class, failure := classifyError(err)
					switch {
					case c.fails == nil:
						if !errors.Is(err, c.want) {
							t.Errorf("%v, want %v", err, c.want)
						}
					case c.fails.Received:
						if class != family.Unreadable {
							t.Errorf("%v is %v", err, class)
						}
					case class != family.Unreachable:
						t.Errorf("%v is %v", err, class)
					case failure.Err == nil || failure.Reused != c.fails.Reused || failure.Sent != c.fails.Sent || failure.After != c.fails.After:
						t.Errorf("%+v, want %+v", *failure, *c.fails)
					}
					if took != c.took {
						t.Errorf("after %v, not %v", took, c.took)
					}
					if want := map[bool]int32{false: 1}[c.dial != nil]; u.connections.Load() != want {
						t.Errorf("%d connections", u.connections.Load()) // FO-0a: nothing is resent
					}
					time.Sleep(2 * time.Hour) // what the upstream does ends
				})
			})
		}
	}
}

// FO-5: when the client leaves, the request ends at once, whatever sends it and whatever it waits for.
func TestTransportsStopWithTheClient(t *testing.T) {
	for name, serve := range map[string]func(net.Conn, *bufio.Reader){
		"during the request": func(_ net.Conn, in *bufio.Reader) { http.ReadRequest(in); time.Sleep(time.Hour) },
		"before the head":    func(_ net.Conn, in *bufio.Reader) { readRequest(in); io.Copy(io.Discard, in) },
		"in the body": func(c net.Conn, in *bufio.Reader) {
			readRequest(in)
			io.WriteString(c, okay[:len(okay)-1])
			io.Copy(io.Discard, in)
		},
	} {
		for kind, newTransport := range transports {
			synctest.Test(t, func(t *testing.T) {
				u := &remote{serve: serve}
				transport := newTransport(u.dial)
				defer transport.Close()
				ctx, leave := context.WithCancel(t.Context())
				time.AfterFunc(time.Minute, leave)
				began := time.Now()
				response, err := sent(t, ctx, transport, 1<<20, time.Hour, false)
				if err == nil {
					_, err = io.ReadAll(response.Body)
					response.Body.Close()
				}
				if !errors.Is(err, context.Canceled) || time.Since(began) != time.Minute {
					t.Errorf("%s, %s: %v after %v", name, kind, err, time.Since(began))
				}
				time.Sleep(2 * time.Hour)
			})
		}
	}
}

// WIRE-1, WIRE-3, WIRE-4, WIRE-5: what arrives is the same, whatever sends it. With http1, a connection serves one request after
// another, and a resend has a new one (FO-0); with net/http, every request has.
func TestTransportsSendAlike(t *testing.T) {
	for kind, newTransport := range transports {
		for _, size := range []int{1, 5000, 100_000, 3 << 20} {
			synctest.Test(t, func(t *testing.T) {
				u := &remote{serve: func(c net.Conn, in *bufio.Reader) {
					for {
						r, body, err := readRequest(in)
						if err != nil {
							return
						}
						if got := fmt.Sprint(r.Method, r.RequestURI, r.Host, r.ContentLength, len(body), r.TransferEncoding, r.Proto, r.Header); got !=
							fmt.Sprint("POST", "/v1/messages?beta=true", "up.test", int64(size), size, []string(nil), "HTTP/1.1",
								http.Header{"X-App": {"cli"}, "Content-Length": {strconv.Itoa(size)}}) {
							t.Errorf("%s: %s", kind, got)
						}
						io.WriteString(c, okay)
					}
				}}
				transport := newTransport(u.dial)
				defer transport.Close()
				connections := []int32{1, 1, 2, 2}
				if kind == netHTTPTransport {
					connections = []int32{1, 2, 3, 4}
				}
				for i, want := range connections {
					response, err := sent(t, t.Context(), transport, size, time.Minute, i == 2)
					if err != nil {
						t.Fatal(err)
					}
					text, err := io.ReadAll(response.Body)
					response.Body.Close()
					if response.Status != http.StatusOK || response.Length != 2 || string(text) != "hi" || err != nil || response.Header.Get("Content-Length") != "2" {
						t.Errorf("%s: %+v, %q, %v", kind, response, text, err)
					}
					if synctest.Wait(); u.connections.Load() != want {
						t.Errorf("%s: %d connections, not %d", kind, u.connections.Load(), want)
					}
				}
			})
		}
	}
}

// Bytes that come with a response, after its end, are never the response to another request, whatever sends it.
func TestSurplusBytesAreNoResponse(t *testing.T) {
	for kind, newTransport := range transports {
		synctest.Test(t, func(t *testing.T) {
			u := &remote{serve: func(c net.Conn, in *bufio.Reader) {
				readRequest(in)
				io.WriteString(c, okay+"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen")
				io.Copy(io.Discard, in)
			}}
			transport := newTransport(u.dial)
			defer transport.Close()
			for range 20 {
				response, err := sent(t, t.Context(), transport, 1000, time.Minute, false)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(response.Body)
				response.Body.Close()
				if string(text) != "hi" || err != nil {
					t.Errorf("%s: %q, %v", kind, text, err)
				}
			}
		})
	}
}
