package http1

import (
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Hosts are spelled to peers as DNS and HTTP require, however the configuration spells them.
func TestOriginNames(t *testing.T) {
	for _, c := range []struct{ host, header, address, server string }{
		{"api.example", "api.example", "api.example:443", "api.example"},
		{"api.example:8443", "api.example:8443", "api.example:8443", "api.example"},
		{"bücher.example", "xn--bcher-kva.example", "xn--bcher-kva.example:443", "xn--bcher-kva.example"},
		{"127.0.0.1:81", "127.0.0.1:81", "127.0.0.1:81", "127.0.0.1"},
		{"[::1]", "[::1]", "[::1]:443", "::1"},
		{"[fe80::1%eth0]:81", "[fe80::1]:81", "[fe80::1%eth0]:81", "fe80::1%eth0"},
		{"under_score.example", "under_score.example", "under_score.example:443", "under_score.example"},
	} {
		o := NewClient(nil).Origin(&url.URL{Scheme: "https", Host: c.host})
		if o.Host() != c.header || o.address != c.address || o.tls.ServerName != c.server {
			t.Errorf("%s: %q, %q, %q", c.host, o.Host(), o.address, o.tls.ServerName)
		}
	}
}

const proxyChild = "HTTP1_TEST_PROXY_CHILD"

// CFG-41: loopback hosts are reached without the environment's proxy, however their names are written. net/http reads the
// environment once per process, so the test runs in a process of its own.
func TestLoopbackOriginsHaveNoProxy(t *testing.T) {
	if os.Getenv(proxyChild) == "" {
		c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		c.Env = append(os.Environ(), proxyChild+"=1", "HTTP_PROXY=http://proxy.example:9", "http_proxy=", "NO_PROXY=", "no_proxy=")
		if output, err := c.CombinedOutput(); err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
			t.Errorf("%v:\n%s", err, output)
		}
		return
	}
	for host, proxied := range map[string]bool{
		"LOCALHOST:81": false, "localhost": false, "127.0.0.1:81": false, "\uff2cocalhost": false, "api.example": true,
	} {
		if o := NewClient(nil).Origin(&url.URL{Scheme: "http", Host: host}); (o.proxy != nil) != proxied || o.invalid != nil {
			t.Errorf("%s: proxy %v, %v", host, o.proxy, o.invalid)
		}
	}
}
