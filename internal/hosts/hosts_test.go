package hosts_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/internal/hosts"
)

// CFG-41: one rule says which hosts are this machine.
func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "LocalHost": true, "127.0.0.1": true, "127.255.255.254": true, "::1": true, "0:0:0:0:0:0:0:1": true,
		"": false, "localhost.": false, "x.localhost": false, "localho\u017ft": false, "127.1": false, "0127.0.0.1": false, "128.0.0.1": false,
		"0.0.0.0": false, "::": false, "::1%lo": false, "::ffff:127.0.0.1": false, "127.0.0.1.example": false, "[::1]": false, "localhost:80": false,
	} {
		if got := hosts.IsLoopback(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

// AUTH-4: the names that a request to a listener may use.
func TestAdmits(t *testing.T) {
	allowed := []string{"shunt.example", "fd00::1", "192.168.1.5"}
	for _, c := range []struct {
		bind, host string
		want       bool
	}{
		{"127.0.0.1", "localhost", true},
		{"127.0.0.1", "LOCALHOST:3001", true},
		{"127.0.0.1", "127.9.9.9:1", true},
		{"::1", "[::1]:3001", true},
		{"::1", "[::1]", true},
		{"127.0.0.1", "Shunt.Example:80", true},
		{"127.0.0.1", "[FD00:0::1]:80", true},
		{"127.0.0.1", "192.168.1.5", true},
		{"127.0.0.1", "evil.example", false},
		{"127.0.0.1", "localhost.evil.example", false},
		{"127.0.0.1", "shunt.example.", false},
		{"127.0.0.1", "10.0.0.1", false},
		{"127.0.0.1", "", false},
		{"0.0.0.0", "evil.example", true},
		{"10.0.0.1", "", true},
	} {
		if got := hosts.Admits(netip.MustParseAddr(c.bind), allowed, c.host); got != c.want {
			t.Errorf("%s at %s: %v", c.host, c.bind, got)
		}
	}
}

// AUTH-4: whether a browser sent a request to shunt.example:3001 for a page of another origin.
func TestCrossOrigin(t *testing.T) {
	for _, c := range []struct {
		name   string
		header http.Header
		want   bool
	}{
		{"not a browser", nil, false},
		{"the address bar", http.Header{"Sec-Fetch-Site": {"none"}}, false},
		{"its own page", http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {"https://Shunt.Example:3001"}}, false},
		{"a neighbor", http.Header{"Sec-Fetch-Site": {"same-site"}}, true},
		{"another site", http.Header{"Sec-Fetch-Site": {"cross-site"}}, true},
		{"another origin", http.Header{"Origin": {"https://evil.example"}}, true},
		{"another port", http.Header{"Origin": {"https://shunt.example:9000"}}, true},
		{"an opaque origin", http.Header{"Origin": {"null"}}, true},
		{"two origins", http.Header{"Origin": {"https://shunt.example:3001", "https://evil.example"}}, true},
		{"not a URL", http.Header{"Origin": {"https://%zz"}}, true},
	} {
		if got := hosts.CrossOrigin(&http.Request{Host: "shunt.example:3001", Header: c.header}); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

const child = "HOSTS_TEST_CHILD"

// CFG-41: requests to this machine never go through a proxy of the environment, however its name is written. net/http reads the
// environment once per process, so the test runs in a process of its own.
func TestLoopbackNeedsNoProxy(t *testing.T) {
	targets := map[string]string{
		"http://localhost:1": "", "http://LOCALHOST:1": "", "https://LocalHost": "", "http://127.0.0.2": "", "http://[::1]:1": "",
		"http://example.com": "http://proxy.example:9", "https://example.com": "http://proxy.example:9", "http://localhost.example": "http://proxy.example:9",
	}
	if os.Getenv(child) == "" {
		c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		c.Env = append(os.Environ(), child+"=1", "HTTP_PROXY=http://proxy.example:9", "HTTPS_PROXY=http://proxy.example:9", "NO_PROXY=", "no_proxy=", "http_proxy=", "https_proxy=")
		output, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(output), "--- PASS: "+t.Name()) {
			t.Errorf("%v:\n%s", err, output)
		}
		return
	}
	for target, want := range targets {
		r, err := http.NewRequest(http.MethodGet, target, nil)
		if err != nil {
			t.Fatal(err)
		}
		proxy, err := hosts.Proxy(r)
		if got := fmt.Sprint(proxy); err != nil || got != want && !(want == "" && proxy == nil) {
			t.Errorf("%s: %v, %v", target, proxy, err)
		}
	}
}

// [server.access_control] trusted_proxies: the address that a request comes from.
func TestClient(t *testing.T) {
	off := hosts.Proxies{Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	local := hosts.Proxies{Trust: true}
	two := hosts.Proxies{Trust: true, Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
	for _, c := range []struct {
		name    string
		proxies hosts.Proxies
		from    string
		tls     bool
		header  http.Header
		want    string
		https   bool
	}{
		{"no trust", off, "10.1.1.1:1", false, forwarded("https", "8.8.8.8"), "10.1.1.1", false},
		{"no trust, TLS", off, "10.1.1.1:1", true, forwarded("http", "8.8.8.8"), "10.1.1.1", true},
		{"loopback is a proxy", local, "127.0.0.1:1", false, forwarded("https", "8.8.8.8"), "8.8.8.8", true},
		{"loopback, IPv6", local, "[::1]:1", false, forwarded("HTTPS", "2001:db8::1"), "2001:db8::1", true},
		{"loopback, mapped", local, "[::ffff:127.0.0.1]:1", false, forwarded("https", "8.8.8.8"), "8.8.8.8", true},
		{"not a proxy", local, "10.1.1.1:1", false, forwarded("https", "127.0.0.1"), "10.1.1.1", false},
		{"a trusted network", two, "10.1.1.1:1", false, forwarded("https", "8.8.8.8"), "8.8.8.8", true},
		{"no header", two, "10.1.1.1:1", false, nil, "10.1.1.1", false},
		{"the rightmost counts", two, "10.1.1.1:1", false, forwarded("", "127.0.0.1, 8.8.8.8"), "8.8.8.8", false},
		{"proxies are skipped", two, "10.1.1.1:1", false, forwarded("", "9.9.9.9, 8.8.8.8, 10.2.2.2", "fd00::1 ,[::1]:5"), "8.8.8.8", false},
		{"nothing but proxies", two, "10.1.1.1:1", false, forwarded("", "10.3.3.3, 10.2.2.2"), "10.3.3.3", false},
		{"with ports", two, "10.1.1.1:1", false, forwarded("", "8.8.8.8:443"), "8.8.8.8", false},
		{"with a zone", two, "10.1.1.1:1", false, forwarded("", "fe80::1%eth0"), "fe80::1", false},
		{"not an address", two, "10.1.1.1:1", false, forwarded("https", "8.8.8.8, unknown"), "invalid IP", true},
		{"an empty entry", two, "10.1.1.1:1", false, forwarded("", "8.8.8.8,"), "invalid IP", false},
		{"no address at all", two, "pipe:1", false, forwarded("https", "8.8.8.8"), "invalid IP", false},
		{"the proxy speaks TLS to shunt only", two, "10.1.1.1:1", true, forwarded("http", "8.8.8.8"), "8.8.8.8", false},
		{"the nearest proxy's word", two, "10.1.1.1:1", false, forwarded("https, http", "8.8.8.8"), "8.8.8.8", false},
	} {
		r := &http.Request{RemoteAddr: c.from, Header: c.header}
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		address, https := c.proxies.Client(r)
		if address.String() != c.want || https != c.https {
			t.Errorf("%s: %v, %v; want %s, %v", c.name, address, https, c.want, c.https)
		}
	}
}

func forwarded(proto string, lines ...string) http.Header {
	h := http.Header{"X-Forwarded-For": lines}
	if proto != "" {
		h["X-Forwarded-Proto"] = []string{proto}
	}
	return h
}

// Whatever a client writes into X-Forwarded-For, its address is the entry that the trusted proxy appends.
func TestClientCannotChooseItsAddress(t *testing.T) {
	proxies := hosts.Proxies{Trust: true, Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOf(rapid.StringMatching(`[0-9a-f:.,\[\] ]*|127\.0\.0\.1|10\.0\.0\.1`)).Draw(t, "forged")
		lines = append(lines, rapid.StringMatching(`([0-9a-f:., ]*, )?`).Draw(t, "same line")+"203.0.113.7")
		r := &http.Request{RemoteAddr: "10.1.1.1:1", Header: http.Header{"X-Forwarded-For": lines}}
		if address, _ := proxies.Client(r); address.String() != "203.0.113.7" {
			t.Errorf("%q: %v", lines, address)
		}
	})
}
