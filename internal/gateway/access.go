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

// snapshot is a state and what is derived from it.
type snapshot struct {
	*State
	clients keyring
	places  [3]string // headers that may contain a client's token; the first is for that alone
	own     ownTokens
	headers []string // that are for shunt's own tokens
	routes  openness

	dialects []dialect.Inbound
}

// openness is how much of a gateway with [server.auth] serves clients without a token (AUTH-3).
type openness uint8

const (
	closed openness = iota // no upstream is
	mixed                  // the model decides
	open                   // every upstream is
)

func (g *Gateway) snapshot(s *State) *snapshot {
	server := &s.Config.Server
	r := &snapshot{State: s, dialects: g.Dialects, clients: newKeyring(server.Clients.Tokens)}
	r.places = [...]string{http.CanonicalHeaderKey(server.Clients.Header), "Authorization", "X-Api-Key"}
	r.own.add(server.Clients.Tokens)
	// The admin surface keeps the credentials that it started with.
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

// keyring holds the hashes of tokens, so that a lookup takes the same time wherever a token differs (AUTH-2).
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

// holder returns the name of the client whose token the value is.
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

// client returns the name of the client that sent a request, by a token in any of its places; the dedicated header comes first
// (AUTH-2).
func (s *snapshot) client(h http.Header) (name string, ok bool) {
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

// bearer returns the token of an Authorization header, or "" for another scheme.
func bearer(value string) string {
	scheme, token, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// authenticate requires a client's token if clients have tokens.
func (s *snapshot) authenticate(h http.Header) *upstream.Failure {
	if !s.Config.Server.Clients.Present {
		return nil
	}
	if _, ok := s.client(h); ok {
		return nil
	}
	return s.needsToken(s.dialects[0])
}

// needsToken returns the failure of a request without a token. Clients were seen to show a 401 at once if it says not to retry,
// and to print "Please run /login", which would not help, if the message contains "x-api-key".
func (s *snapshot) needsToken(d dialect.Inbound) *upstream.Failure {
	return fail(http.StatusUnauthorized, dialect.Authentication,
		"this gateway needs a token: "+d.TokenAdvice()+" one that its operator gave you, or send it in the header "+s.Config.Server.Clients.Header)
}

// defaults returns the providers for models that no route names, for clients of a dialect. It reports false if the gateway does
// not serve them (INB-5).
func (s *snapshot) defaults(d dialect.Inbound) (providers []string, ok bool) {
	return s.Config.Server.Defaults(d.Name() == s.dialects[0].Name())
}

// spends reports whether one of the targets uses a credential of the operator's (AUTH-3).
func (s *snapshot) spends(targets []config.Target) bool {
	return slices.ContainsFunc(targets, func(t config.Target) bool {
		p, ok := s.Config.Provider(t.Upstream)
		return !ok || p.Auth != config.Passthrough
	})
}

// admitAddress applies [server.access_control] to the address of a request. A denied address is refused even where any other is
// admitted.
func (g *Gateway) admitAddress(r *http.Request) *upstream.Failure {
	access := &g.fixed.Access
	if len(access.Deny) == 0 && len(access.Allow) == 0 {
		return nil
	}
	address, _ := g.proxies.Client(r)
	within := func(p netip.Prefix) bool { return p.Contains(address) }
	path := r.URL.EscapedPath()
	public := path == "/" || isHealth(path)
	switch {
	case !address.IsValid(), slices.ContainsFunc(access.Deny, within):
	case len(access.Allow) == 0, public, slices.ContainsFunc(access.Allow, within):
		return nil
	}
	return fail(http.StatusForbidden, dialect.Permission, "this gateway does not accept requests from your address: ask its operator to allow it (server.access_control)")
}
