package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"shunt/internal/anthropic"
	"shunt/internal/config"
	"shunt/internal/upstream"
)

// running is a state and what follows from it.
type running struct {
	*State
	clients keyring
	places  [3]string // headers that a client's token may stand in; the first is its own
	own     keyring   // clients' tokens and those of the admin surface: no provider is to see one (WIRE-2)
	headers []string
	closed  bool // no upstream is open to those without a token
}

func (g *Gateway) run(s *State) *running {
	server := &s.Config.Server
	r := &running{State: s, clients: newKeyring(server.Clients.Tokens), closed: true}
	r.places = [...]string{http.CanonicalHeaderKey(server.Clients.Header), "Authorization", "X-Api-Key"}
	r.own = slices.Clone(r.clients)
	// The admin surface keeps the credentials that it began with.
	for _, a := range []*config.Admin{&g.fixed.Admin, &server.Admin} {
		for _, tokens := range [][]config.Token{a.Tokens, a.ReadKeys, a.WriteKeys} {
			r.own = append(r.own, newKeyring(tokens)...)
		}
		r.headers = append(r.headers, http.CanonicalHeaderKey(a.Header))
	}
	r.headers = append(r.headers, r.places[0])
	for i := range s.Config.Providers {
		r.closed = r.closed && s.Config.Providers[i].Auth != config.Passthrough
	}
	return r
}

// keyring knows tokens by their hashes, so that looking for one takes the same time wherever it differs (AUTH-2).
type keyring []struct {
	name string
	sum  [sha256.Size]byte
}

func newKeyring(tokens []config.Token) keyring {
	ring := make(keyring, len(tokens))
	for i, t := range tokens {
		ring[i].name, ring[i].sum = t.Name, sha256.Sum256([]byte(t.Value.Reveal()))
	}
	return ring
}

// holder is whose token a value is.
func (k keyring) holder(value string) (name string, ok bool) {
	if len(k) == 0 || value == "" {
		return "", false
	}
	sum := sha256.Sum256([]byte(value))
	for i := range k {
		if subtle.ConstantTimeCompare(sum[:], k[i].sum[:]) == 1 {
			name, ok = k[i].name, true
		}
	}
	return name, ok
}

// client is who sent a request, by the token in any of the places for one; the dedicated header goes first (AUTH-2).
func (s *running) client(h http.Header) (name string, ok bool) {
	if len(s.clients) == 0 {
		return "", false
	}
	for _, header := range s.places {
		for _, value := range h[header] {
			if header == "Authorization" {
				value = bearer(value)
			}
			if name, ok = s.clients.holder(value); ok {
				return name, true
			}
		}
	}
	return "", false
}

// bearer is the token of an Authorization header, empty for another scheme.
func bearer(value string) string {
	scheme, token, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// authenticate wants a client's token, if there are any.
func (s *running) authenticate(h http.Header) *upstream.Failure {
	if !s.Config.Server.Clients.Present {
		return nil
	}
	if _, ok := s.client(h); ok {
		return nil
	}
	return s.needsToken()
}

func (s *running) needsToken() *upstream.Failure {
	return fail(http.StatusUnauthorized, anthropic.TypeAuthentication,
		"this needs a token of this gateway: send yours in the header "+s.Config.Server.Clients.Header+", or as Authorization: Bearer or x-api-key")
}

// spends reports whether one of the targets is asked with a credential of the operator's (AUTH-3).
func (s *running) spends(targets []config.Target) bool {
	return slices.ContainsFunc(targets, func(t config.Target) bool {
		p, ok := s.Config.Provider(t.Upstream)
		return !ok || p.Auth != config.Passthrough
	})
}

// withoutOurs is a client's request without what is for shunt only: its tokens, wherever they stand, and the headers for them.
func (s *running) withoutOurs(r *http.Request) *http.Request {
	var h http.Header
	drop := func(name string) {
		if h == nil {
			h = r.Header.Clone()
		}
		delete(h, name)
	}
	for _, name := range s.headers {
		if _, there := r.Header[name]; there {
			drop(name)
		}
	}
	isOurs := func(value string) bool { // with whatever scheme before it
		for part := range strings.FieldsSeq(value) {
			if _, ours := s.own.holder(part); ours {
				return true
			}
		}
		return false
	}
	for _, name := range []string{"Authorization", "X-Api-Key"} {
		if slices.ContainsFunc(r.Header[name], isOurs) {
			drop(name)
		}
	}
	if h == nil {
		return r
	}
	clean := *r
	clean.Header = h
	return &clean
}

// admitAddress holds the address of a request against [server.access_control]. What answers anybody is still closed to those who are denied.
func (g *Gateway) admitAddress(r *http.Request) *upstream.Failure {
	access := &g.fixed.Access
	if len(access.Deny) == 0 && len(access.Allow) == 0 {
		return nil
	}
	address, _ := g.proxies.Client(r)
	within := func(p netip.Prefix) bool { return p.Contains(address) }
	path := r.URL.EscapedPath()
	anybody := path == "/" || path == "/health"
	switch {
	case !address.IsValid(), slices.ContainsFunc(access.Deny, within):
	case len(access.Allow) == 0, anybody, slices.ContainsFunc(access.Allow, within):
		return nil
	}
	return fail(http.StatusForbidden, anthropic.TypePermission, "your address may not use this gateway (server.access_control)")
}
