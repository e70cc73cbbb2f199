package admin

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"shunt/internal/clock"
	"shunt/internal/config"
	"shunt/internal/hosts"
)

// tier is what a request may do.
type tier uint8

const (
	none tier = iota
	reader
	writer
)

// keys holds the admin credentials.
type keys struct {
	header string
	tokens tiers
	named  tiers // the same credentials as name:token, as in SHUNT_ADMIN_TOKENS
}

// tiers maps hashes of credentials to their tiers. Hashes are compared so that the time does not depend on the credentials.
type tiers map[[sha256.Size]byte]tier

func keysOf(s *config.Admin) keys {
	k := keys{header: s.Header, tokens: tiers{}, named: tiers{}}
	add := func(list []config.Token, t tier) {
		for _, token := range list {
			k.tokens[sha256.Sum256([]byte(token.Value.Reveal()))] = t
			k.named[sha256.Sum256([]byte(token.Name+":"+token.Value.Reveal()))] = t
		}
	}
	add(s.ReadKeys, reader)
	add(s.Tokens, writer)
	add(s.WriteKeys, writer)
	return k
}

// of returns the tier of a credential.
func (t tiers) of(presented string) tier {
	if presented == "" {
		return none
	}
	sum, best := sha256.Sum256([]byte(presented)), none
	for known, may := range t {
		if subtle.ConstantTimeCompare(sum[:], known[:]) == 1 {
			best = max(best, may)
		}
	}
	return best
}

// ofHeaders returns the highest tier of the credentials in x-api-key and in the admin header.
func (k *keys) ofHeaders(h http.Header) tier {
	return max(k.tokens.of(h.Get(k.header)), k.tokens.of(h.Get("X-Api-Key")))
}

// ofBearer returns the tier of the bearer token, for endpoints that accept one.
func (k *keys) ofBearer(h http.Header) tier { return k.tokens.of(bearerOf(h)) }

func bearerOf(h http.Header) string {
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// wrong returns how a request sends a credential that is not an admin credential: "header" or "bearer"; empty if it sends none.
func (k *keys) wrong(h http.Header) (by string) {
	switch {
	case k.ofHeaders(h) != none:
		return ""
	case h.Get(k.header) != "" || h.Get("X-Api-Key") != "":
		return "header"
	case bearerOf(h) != "" && k.ofBearer(h) == none:
		return "bearer"
	}
	return ""
}

const sessionCookie = "shunt_admin_session"

// session is the session of a browser that has logged in.
type session struct {
	csrf    string
	expires time.Time
}

// sessions holds the sessions by the hash of their cookie, in memory only.
type sessions struct {
	clock clock.Clock
	ttl   time.Duration

	mu  sync.Mutex
	all map[[sha256.Size]byte]session
}

// maxSessions limits the number of sessions; a new one replaces the oldest.
const maxSessions = 1000

func (s *sessions) open() (cookie string) {
	secret := make([]byte, 32)
	rand.Read(secret)
	cookie = base64.RawURLEncoding.EncodeToString(secret)
	opened := session{csrf: rand.Text(), expires: s.clock.Now().Add(s.ttl)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[[sha256.Size]byte]session{}
	}
	now := s.clock.Now()
	var oldest [sha256.Size]byte
	for key, other := range s.all {
		if !other.expires.After(now) {
			delete(s.all, key)
		} else if first, ok := s.all[oldest]; !ok || other.expires.Before(first.expires) {
			oldest = key
		}
	}
	if len(s.all) >= maxSessions {
		delete(s.all, oldest)
	}
	s.all[sha256.Sum256([]byte(cookie))] = opened
	return cookie
}

func (s *sessions) of(r *http.Request) (session, bool) {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil {
		return session{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.all[sha256.Sum256([]byte(cookie.Value))]
	return found, ok && found.expires.After(s.clock.Now())
}

func (s *sessions) end(r *http.Request) {
	if cookie, err := r.Cookie(sessionCookie); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, sha256.Sum256([]byte(cookie.Value)))
	}
}

// reads requires a credential that can read, writes one that can change something. A request with a cookie comes from a browser:
// to change something, it must come from the admin page (ADM-2).
func (a *Admin) reads(h http.HandlerFunc) http.HandlerFunc { return a.admit(reader, h) }

func (a *Admin) writes(h http.HandlerFunc) http.HandlerFunc { return a.admit(writer, h) }

func (a *Admin) admit(needed tier, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		has := a.keys.ofHeaders(r.Header)
		if has == none {
			if session, ok := a.sessions.of(r); ok {
				if needed == writer && (hosts.CrossOrigin(r) || subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Csrf-Token")), []byte(session.csrf)) != 1) {
					refuse(w, http.StatusForbidden, "this request did not come from the admin page: reload the page and try again")
					return
				}
				has = writer
			}
		}
		switch {
		case has == none:
			a.unauthenticated(w, r, "send an admin token in the "+a.keys.header+" header, or log in at /admin/login")
		case has < needed:
			refuse(w, http.StatusForbidden, "this key is read-only")
		default:
			h(w, r)
		}
	}
}

// Readers returns a handler that passes requests with an admin credential to h; a bearer token is accepted too (OBS-2). The
// session of a browser is not sufficient.
func (a *Admin) Readers(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if max(a.keys.ofHeaders(r.Header), a.keys.ofBearer(r.Header)) == none {
			a.unauthenticated(w, r, "send an admin token or a read key in the "+a.keys.header+" header or as Authorization: Bearer")
			return
		}
		h.ServeHTTP(w, r)
	})
}

// unauthenticated refuses a request without a valid credential. A wrong credential counts as a failed attempt (ADM-2).
func (a *Admin) unauthenticated(w http.ResponseWriter, r *http.Request, message string) {
	if by := a.keys.wrong(r.Header); by != "" {
		if wait := a.failed(w, r, by); wait > 0 {
			refuse(w, http.StatusTooManyRequests, fmt.Sprintf(tooManyAttempts, seconds(wait)))
			return
		}
		message = "the credential is not an admin token or key of this gateway: " + message
	}
	refuse(w, http.StatusUnauthorized, message)
}

const tooManyAttempts = "too many wrong tokens from your address: try again in %d s (a valid token is always accepted)"

// failed counts a failed attempt. If the address is over the limit, it sets retry-after and returns how long the address has
// to wait, else 0.
func (a *Admin) failed(w http.ResponseWriter, r *http.Request, by string) (wait time.Duration) {
	address, _ := a.Proxies.Client(r)
	if wait = a.attempts.failed(address, by); wait > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(seconds(wait), 10))
	}
	return wait
}

// connection reports whether a request comes from this machine, and whether it was sent over HTTPS. Headers of a proxy count if
// the configuration trusts the proxy (ADM-2).
func (a *Admin) connection(r *http.Request) (local, https bool) {
	address, https := a.Proxies.Client(r)
	return address.IsLoopback() || a.Loopback && !a.Proxies.Trust, https
}
