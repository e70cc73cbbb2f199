package http1

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var certificate tls.Certificate // for 127.0.0.1

// TestMain makes this process trust a certificate as if it were the system's: the TLS of a proxy cannot be configured otherwise.
func TestMain(m *testing.M) {
	s := httptest.NewTLSServer(nil)
	certificate = s.TLS.Certificates[0]
	s.Close()
	dir, err := os.MkdirTemp("", "http1")
	if err == nil {
		file := filepath.Join(dir, "roots.pem")
		err = os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}), 0o600)
		os.Setenv("SSL_CERT_FILE", file)
	}
	if err != nil {
		panic(err)
	}
	if _, err := x509.SystemCertPool(); err != nil {
		panic(err)
	}
	os.RemoveAll(dir)
	goleak.VerifyTestMain(m)
}

// peer is the other end of an origin's connections.
type peer struct {
	*Origin
	connections atomic.Int32
	dialed      func(net.Conn) net.Conn // wraps the client's end
	serve       func(*visitor)
	wg          sync.WaitGroup
	lock        sync.Mutex
	open        []net.Conn
}

// listen accepts connections on a real socket. Each is closed when serve returns.
func listen(t testing.TB, secured bool, serve func(*visitor)) *peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{serve: serve}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.accept(c, secured)
		}
	})
	scheme := "http"
	if secured {
		scheme = "https"
	}
	p.begin(t, scheme, l.Addr().String(), func(ctx context.Context, network, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	})
	t.Cleanup(func() { l.Close() })
	return p
}

// inMemory is like listen, but without sockets, for virtual time: a write returns when the other end has read it.
func inMemory(t testing.TB, serve func(*visitor)) *peer {
	t.Helper()
	p := &peer{serve: serve}
	p.begin(t, "http", "peer.test", func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		p.accept(theirs, false)
		return ours, nil
	})
	return p
}

func (p *peer) begin(t testing.TB, scheme, host string, dial DialFunc) {
	client := NewClient(func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err == nil && p.dialed != nil {
			c = p.dialed(c)
		}
		return c, err
	})
	p.Origin = client.Origin(&url.URL{Scheme: scheme, Host: host})
	t.Cleanup(func() {
		client.Close()
		p.lock.Lock()
		for _, c := range p.open {
			c.Close()
		}
		p.lock.Unlock()
		p.wg.Wait()
	})
}

func (p *peer) accept(raw net.Conn, secured bool) {
	p.connections.Add(1)
	p.lock.Lock()
	p.open = append(p.open, raw)
	p.lock.Unlock()
	v := &visitor{Conn: raw, raw: raw}
	if secured {
		v.cork = &cork{Conn: raw}
		v.Conn = tls.Server(v.cork, &tls.Config{Certificates: []tls.Certificate{certificate}})
	}
	v.in = bufio.NewReader(v.Conn)
	p.wg.Go(func() {
		p.serve(v)
		raw.Close()
	})
}

// visitor is the peer's end of one connection.
type visitor struct {
	net.Conn
	raw  net.Conn // without TLS, the same
	in   *bufio.Reader
	cork *cork // with TLS
}

// cork buffers writes while it is in.
type cork struct {
	net.Conn
	in   bool
	held bytes.Buffer
}

func (c *cork) Write(p []byte) (int, error) {
	if c.in {
		return c.held.Write(p)
	}
	return c.Conn.Write(p)
}

// together sends everything that f writes in one piece.
func (v *visitor) together(f func()) {
	v.cork.in = true
	f()
	v.cork.in = false
	v.raw.SetWriteDeadline(time.Time{}) // TLS allows nothing after its end
	v.cork.Write(v.cork.held.Bytes())
}

func (v *visitor) write(text string) { io.WriteString(v, text) }

// head reads the head of a request, whose body may then be read.
func (v *visitor) head() (body io.Reader, ok bool) {
	r, err := http.ReadRequest(v.in)
	if err != nil {
		return nil, false
	}
	return r.Body, true
}

// request reads a request to its end.
func (v *visitor) request() bool {
	body, ok := v.head()
	if !ok {
		return false
	}
	_, err := io.Copy(io.Discard, body)
	return err == nil
}

// hangsUp waits for the client to end the connection.
func (v *visitor) awaitClose() { io.Copy(io.Discard, v.in) }

// responding sends the same response to every request.
func responding(text string) func(*visitor) {
	return func(v *visitor) {
		for v.request() {
			v.write(text)
		}
	}
}

const okay = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

// newRequest returns a request with a body in parts. Its bytes are overwritten when Sent is called, so that a test which
// compares what arrives detects a call that is too early. The test fails unless Sent is called exactly once.
func newRequest(t testing.TB, parts ...string) *Request {
	r := &Request{}
	n := 0
	for _, p := range parts {
		n += len(p)
		r.Body = append(r.Body, []byte(p))
	}
	r.Head = fmt.Appendf(nil, "POST /v1/messages HTTP/1.1\r\nHost: peer\r\nContent-Length: %d\r\n\r\n", n)
	written := make(chan struct{})
	var times atomic.Int32
	r.Sent = func() {
		if times.Add(1) != 1 {
			t.Error("Sent was called twice")
			return
		}
		for _, p := range append(r.Body, r.Head) {
			clear(p)
		}
		close(written)
	}
	t.Cleanup(func() { <-written })
	return r
}

// bytesOf returns the bytes of a request that has not been sent yet.
func bytesOf(r *Request) []byte { return append(bytes.Clone(r.Head), bytes.Join(r.Body, nil)...) }

// noise returns n random bytes.
func noise(n int) string {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return string(b)
}

var large = strings.Repeat("x", 8<<20) // more than a socket buffers

// send sends a request and reads the response to its end.
func (p *peer) send(t testing.TB, r *Request) (status int, body string) {
	t.Helper()
	response, err := p.Send(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%v after %q", err, text)
	}
	return response.Status, string(text)
}

// mustServe is send, and fails the test unless the response is okay.
func (p *peer) mustServe(t testing.TB, r *Request) {
	t.Helper()
	if status, body := p.send(t, r); status != http.StatusOK || body != "hi" {
		t.Fatalf("status %d, %q", status, body)
	}
}

// connectionsAre fails the test unless there were as many connections.
func (p *peer) connectionsAre(t testing.TB, want int32) {
	t.Helper()
	if got := p.connections.Load(); got != want {
		t.Errorf("%d connections, not %d", got, want)
	}
}

// waitReadable waits until data or the end of the connection has arrived on the idle connection.
func (p *peer) waitReadable(t testing.TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) != 1 || p.idle[0].socket == nil {
		t.Fatalf("%d idle connections,or one without a socket", len(p.idle))
	}
	if err := p.idle[0].socket.Read(hasArrived); err != nil {
		t.Fatal(err)
	}
}

func mustParse(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
