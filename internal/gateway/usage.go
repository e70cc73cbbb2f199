package gateway

import (
	"net/http"
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/upstream"
)

// usage answers holders of a client's token (USE-1).
func (g *Gateway) usage(w http.ResponseWriter, r *http.Request, s *running) {
	if f := s.holdsToken(r); f != nil {
		g.refuse(w, r, f)
		return
	}
	g.Usage.ServeHTTP(w, r)
}

// oauthUsage answers those on this machine, and holders of a client's token (USE-2).
func (g *Gateway) oauthUsage(w http.ResponseWriter, r *http.Request, s *running) {
	if !g.fixed.Bind.Addr().IsLoopback() || wasForwarded(r.Header) {
		if f := s.holdsToken(r); f != nil {
			g.refuse(w, r, f)
			return
		}
	}
	g.OAuthUsage.ServeHTTP(w, r)
}

// holdsToken wants a client's token where none can be had, too.
func (s *running) holdsToken(r *http.Request) *upstream.Failure {
	if !s.Config.Server.Clients.Present {
		return fail(http.StatusForbidden, dialect.Permission, "this needs a token of this gateway, which has none: its operator has to set up [server.auth]")
	}
	return s.authenticate(r.Header)
}

// wasForwarded reports whether a proxy passed a request on, so that its sender may be anywhere.
func wasForwarded(h http.Header) bool {
	for name := range h {
		switch name {
		case "Forwarded", "Via", "X-Real-Ip":
			return true
		}
		if strings.HasPrefix(name, "X-Forwarded-") {
			return true
		}
	}
	return false
}
