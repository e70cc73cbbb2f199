package upstream

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/http1"
)

const proxyChild = "UPSTREAM_TEST_PROXY_CHILD"

// HTTPS_PROXY, HTTP_PROXY: a proxy is used alike, whatever sends the request. net/http reads the environment once in a process,
// so the test runs in a process of its own.
func TestTransportsUseProxiesAlike(t *testing.T) {
	if os.Getenv(proxyChild) == "" {
		c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		const proxy = "http://me:a%3Asecret@proxy.test:1"
		c.Env = append(os.Environ(), proxyChild+"=1", "HTTP_PROXY="+proxy, "HTTPS_PROXY="+proxy, "http_proxy=", "https_proxy=", "NO_PROXY=", "no_proxy=")
		if output, err := c.CombinedOutput(); err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
			t.Errorf("%v:\n%s", err, output)
		}
		return
	}
	const credential = "Basic bWU6YTpzZWNyZXQ="
	for _, c := range []struct {
		name, base, response string
		proxied              string // what the proxy's request line has to begin with
		cause                string // what the cause begins with; empty: there is a response
		closes               bool   // the proxy closes the connection after its response
		took                 time.Duration
	}{
		{name: "plain", base: "http://up.test", response: okay, proxied: "POST http://up.test/v1/messages?beta=true "},
		{
			name: "refused", base: "https://up.test", response: "HTTP/1.1 407 the secret of the proxy\r\nContent-Length: 0\r\n\r\n",
			proxied: "CONNECT up.test:443 ", cause: "proxy: it refused the connection with status 407",
		},
		{name: "closed", closes: true, base: "https://up.test", proxied: "CONNECT up.test:443 ", cause: "proxy: the connection was closed before a response"},
		{name: "silent", base: "https://up.test", proxied: "CONNECT up.test:443 ", cause: "proxy: ", took: http1.ConnectTimeout},
	} {
		for kind, newTransport := range transports {
			synctest.Test(t, func(t *testing.T) {
				u := &remote{serve: func(conn net.Conn, in *bufio.Reader) {
					line, err := in.Peek(len(c.proxied))
					if err != nil || string(line) != c.proxied {
						t.Errorf("%s, %s: %q, %v", c.name, kind, line, err)
					}
					head, _ := in.Peek(in.Buffered())
					if kind == "http1" && c.base == "http://up.test" && !strings.Contains(string(head), "\r\nProxy-Authorization: "+credential+"\r\nX-App: cli\r\n\r\n") {
						t.Errorf("the lines are not sorted by name: %q", head)
					}
					r, err := http.ReadRequest(in)
					if err != nil || r.Header.Get("Proxy-Authorization") != credential || r.UserAgent() != "" {
						t.Errorf("%s, %s: %v, %v", c.name, kind, r, err)
						return
					}
					io.Copy(io.Discard, r.Body)
					io.WriteString(conn, c.response)
					if !c.closes {
						io.Copy(io.Discard, in)
					}
				}}
				transport := newTransport(u.dial)
				defer transport.Close()
				began := time.Now()
				response, err := sentTo(t, t.Context(), transport, c.base, 1000, time.Minute, false)
				took := time.Since(began)
				if err == nil {
					io.Copy(io.Discard, response.Body)
					response.Body.Close()
				}
				if (err == nil) != (c.cause == "") || took != c.took {
					t.Fatalf("%s, %s: %v after %v", c.name, kind, err, took)
				}
				if err != nil && (!errors.Is(err, http1.ErrNoConnection) || !strings.HasPrefix(cause(err), c.cause) || strings.Contains(err.Error(), "secret")) {
					t.Errorf("%s, %s: %q: %v", c.name, kind, cause(err), err)
				}
			})
		}
	}
}
