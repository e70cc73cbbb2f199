package gateway

import (
	"fmt"
	"net/http"

	"shunt/internal/dialect"
	"shunt/internal/hosts"
	"shunt/internal/upstream"
)

// admit makes the checks that apply to every request.
func (g *Gateway) admit(r *http.Request, s *snapshot) *upstream.Failure {
	if f := g.admitAddress(r); f != nil {
		return f
	}
	limits := g.fixed.Limits
	if len(r.RequestURI) > limits.MaxURLLength {
		return fail(http.StatusRequestURITooLong, dialect.TooLarge,
			fmt.Sprintf("the URL is longer than the %d bytes that this gateway accepts: shorten it, or have the operator raise server.limits.max_url_length", limits.MaxURLLength))
	}
	if headerBytes(r.Header) > limits.MaxRequestHeaderBytes {
		return fail(http.StatusRequestHeaderFieldsTooLarge, dialect.TooLarge,
			fmt.Sprintf("the headers are larger than the %d bytes that this gateway accepts: send fewer, or have the operator raise server.limits.max_request_header_bytes", limits.MaxRequestHeaderBytes))
	}
	if !hosts.Admits(g.fixed.Bind.Addr(), s.Config.Server.AllowedHosts, r.Host) {
		return fail(http.StatusForbidden, dialect.Permission,
			"this gateway can be reached by a loopback name only: use 127.0.0.1 or localhost, or have its operator add the name to server.allowed_hosts")
	}
	return nil
}

// headerBytes returns the size of a header on the wire, in bytes.
func headerBytes(h http.Header) int {
	n := 0
	for name, values := range h {
		for _, v := range values {
			n += len(name) + len(": ") + len(v) + len("\r\n")
		}
	}
	return n
}
