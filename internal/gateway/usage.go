package gateway

import (
	"net/http"
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/upstream"
)

// usage serves clients that have a token (USE-1).
func (g *Gateway) usage(w http.ResponseWriter, r *http.Request, s *snapshot) {
	if f := s.requireToken(r); f != nil {
		g.refuse(w, r, f)
		return
	}
	g.Usage.ServeHTTP(w, r)
}

// oauthUsage serves clients on this machine, and others that have a token (USE-2).
func (g *Gateway) oauthUsage(w http.ResponseWriter, r *http.Request, s *snapshot) {
	if !g.fixed.Bind.Addr().IsLoopback() || wasForwarded(r.Header) {
		if f := s.requireToken(r); f != nil {
			g.refuse(w, r, f)
			return
		}
	}
	g.OAuthUsage.ServeHTTP(w, r)
}

// requireToken requires a client's token even if clients have none.
func (s *snapshot) requireToken(r *http.Request) *upstream.Failure {
	if !s.Config.Server.Clients.Present {
		return fail(http.StatusForbidden, dialect.Permission, "this endpoint needs a token of this gateway, which has none: its operator has to set up [server.auth]")
	}
	return s.authenticate(r.Header)
}

// wasForwarded reports whether a proxy forwarded the request, so that its sender may be anywhere.
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
