package gateway

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"shunt/internal/anthropic"
	"shunt/internal/upstream"
)

// admit checks what is checked of every request, whatever it asks for.
func (g *Gateway) admit(r *http.Request, s *running) *upstream.Failure {
	if f := g.admitAddress(r); f != nil {
		return f
	}
	limits := g.fixed.Limits
	if len(r.RequestURI) > limits.MaxURLLength {
		return fail(http.StatusRequestURITooLong, anthropic.TypeTooLarge,
			fmt.Sprintf("the URL is longer than %d bytes (server.limits.max_url_length)", limits.MaxURLLength))
	}
	if headerBytes(r.Header) > limits.MaxRequestHeaderBytes {
		return fail(http.StatusRequestHeaderFieldsTooLarge, anthropic.TypeTooLarge,
			fmt.Sprintf("the headers are larger than %d bytes (server.limits.max_request_header_bytes)", limits.MaxRequestHeaderBytes))
	}
	if g.fixed.Bind.Addr().IsLoopback() && !isLoopbackHost(r.Host) && !slices.Contains(s.Config.Server.AllowedHosts, hostName(r.Host)) {
		return fail(http.StatusForbidden, anthropic.TypePermission,
			"this gateway is reached by a loopback name only: use 127.0.0.1 or localhost, or add the name to server.allowed_hosts")
	}
	return nil
}

// headerBytes is the size of a header block as it stands on the wire, in bytes.
func headerBytes(h http.Header) int {
	n := 0
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(": ") + len(v) + len("\r\n")
		}
	}
	return n
}

// hostName is the lower-case name of a Host header, without its port.
func hostName(hostport string) string {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// isLoopbackHost reports whether a Host header names this machine from within (AUTH-4).
func isLoopbackHost(hostport string) bool {
	name := hostName(hostport)
	if name == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().IsLoopback()
}

// fromWebPage reports whether a browser sent the request on behalf of a page that is not this gateway's (AUTH-4).
func fromWebPage(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return true
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return false
	}
	origin, err := url.Parse(origins[0])
	return err != nil || len(origins) > 1 || origin.Host == "" || !strings.EqualFold(origin.Host, r.Host)
}
