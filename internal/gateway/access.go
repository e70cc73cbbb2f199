package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"shunt/internal/config"
	"shunt/internal/dialect"
	"shunt/internal/upstream"
)

// running is a state and what follows from it.
type running struct {
	*State
	clients keyring
	places  [3]string // headers that a client's token may stand in; the first is its own
	own     ownTokens
	headers []string
	routes  openness

	dialects []dialect.Inbound
}

// openness is how much of a gateway with [server.auth] serves those without a token (AUTH-3).
type openness uint8

const (
	closed openness = iota // no upstream is open to them
	mixed                  // the model decides
	open                   // every upstream is
)

func (g *Gateway) run(s *State) *running {
	server := &s.Config.Server
	r := &running{State: s, dialects: g.Dialects, clients: newKeyring(server.Clients.Tokens)}
	r.places = [...]string{http.CanonicalHeaderKey(server.Clients.Header), "Authorization", "X-Api-Key"}
	r.own.add(server.Clients.Tokens)
	// The admin surface keeps the credentials that it began with.
	for _, a := range []*config.Admin{&g.fixed.Admin, &server.Admin} {
		for _, tokens := range [][]config.Token{a.Tokens, a.ReadKeys, a.WriteKeys} {
			r.own.add(tokens)
		}
		r.headers = append(r.headers, http.CanonicalHeaderKey(a.Header))
	}
	r.headers = append(r.headers, r.places[0])
	var opens, closes bool
	for i := range s.Config.Providers {
		if s.Config.Providers[i].Auth == config.Passthrough {
			opens = true
		} else {
			closes = true
		}
	}
	switch {
	case opens && closes:
		r.routes = mixed
	case opens:
		r.routes = open
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

// needsToken says what to do without one. A client was seen to show a 401 at once if it says not to retry, and to print
// "Please run /login", which would not help, if the message contains "x-api-key".
func (s *running) needsToken() *upstream.Failure {
	return fail(http.StatusUnauthorized, dialect.Authentication,
		"this gateway needs a token: "+s.dialects[0].TokenAdvice()+" one that its operator gave you, or send it in the header "+s.Config.Server.Clients.Header)
}

// spends reports whether one of the targets is asked with a credential of the operator's (AUTH-3).
func (s *running) spends(targets []config.Target) bool {
	return slices.ContainsFunc(targets, func(t config.Target) bool {
		p, ok := s.Config.Provider(t.Upstream)
		return !ok || p.Auth != config.Passthrough
	})
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
	anybody := path == "/" || isHealth(path)
	switch {
	case !address.IsValid(), slices.ContainsFunc(access.Deny, within):
	case len(access.Allow) == 0, anybody, slices.ContainsFunc(access.Allow, within):
		return nil
	}
	return fail(http.StatusForbidden, dialect.Permission, "this gateway does not accept requests from your address: ask its operator to allow it (server.access_control)")
}
