package upstream

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"shunt/internal/http1"
)

// OBS-1: the log says why there was no answer, in the words of the network and never in the upstream's.
func TestCause(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}, "dial tcp: connection refused"},
		{fmt.Errorf("send: %w", &net.DNSError{Err: "no such host", Name: "api.example"}), "lookup api.example: no such host"},
		{fmt.Errorf("send: %w", io.EOF), "the connection was closed before an answer"},
		{fmt.Errorf("send: %w", &http1.ProxyError{Err: errors.New("it refuses the connection: status 407")}), "proxy: it refuses the connection: status 407"},
		{&http1.ProxyError{Err: &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}}, "proxy: dial tcp: connection refused"},
		{errors.New(`net/http: HTTP/1.x transport connection broken: malformed HTTP response "a secret answer"`), "the answer is no HTTP that can be read"},
	} {
		if got := cause(c.err); got != c.want {
			t.Errorf("%v: %q", c.err, got)
		}
	}
}

// A status that cannot be relayed is no answer; what cannot be read is none either, and is not quoted.
func TestAnswersThatAreNone(t *testing.T) {
	for _, text := range []string{
		"HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 000 Odd\r\n\r\n", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
		"a secret answer\r\n\r\n", "",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			conn.Read(make([]byte, 64<<10))
			io.WriteString(conn, text)
		}()
		transport := NewTransport(nil)
		body, err := ReadBody(strings.NewReader("{}"), 2, 10)
		if err != nil {
			t.Fatal(err)
		}
		client := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		to := transport.endpoint(&url.URL{Scheme: "http", Host: l.Addr().String()})
		response, err := to.send(&Request{Client: client, Path: "/", Body: body}, call{})
		if err == nil {
			t.Errorf("%q: status %d", text, response.Status)
		} else if strings.Contains(cause(err), "secret") || errors.Is(err, http1.ErrNoConnection) {
			t.Errorf("%q: %v", text, err)
		}
		body.Release()
		transport.Close()
		l.Close()
		<-done
	}
}
