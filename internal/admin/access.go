package admin

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"shunt/internal/clock"
	"shunt/internal/config"
)

// tier is what a credential may do.
type tier uint8

const (
	nobody tier = iota
	reader
	writer
)

// keys are the credentials of the surface.
type keys struct {
	header string
	tokens tiers
	named  tiers // the same as name:token, as they are written in SHUNT_ADMIN_TOKENS
}

// tiers map hashes of credentials to what these may do: to compare hashes takes the same time whatever the credentials are.
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

// of returns what a presented credential may do.
func (t tiers) of(presented string) tier {
	if presented == "" {
		return nobody
	}
	sum, best := sha256.Sum256([]byte(presented)), nobody
	for known, may := range t {
		if subtle.ConstantTimeCompare(sum[:], known[:]) == 1 {
			best = max(best, may)
		}
	}
	return best
}

// presented returns what the best of the credentials in a request's headers may do.
func (k *keys) presented(h http.Header) tier {
	return max(k.tokens.of(h.Get(k.header)), k.tokens.of(h.Get("X-Api-Key")))
}

// bearer returns what the bearer token in a request's headers may do, where one is accepted.
func (k *keys) bearer(h http.Header) tier { return k.tokens.of(bearerOf(h)) }

func bearerOf(h http.Header) string {
	scheme, token, _ := strings.Cut(h.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// wrong returns where a request presents a credential that is not one of the surface's; empty if it does not.
func (k *keys) wrong(h http.Header) (by string) {
	switch {
	case k.presented(h) != nobody:
		return ""
	case h.Get(k.header) != "" || h.Get("X-Api-Key") != "":
		return "header"
	case bearerOf(h) != "" && k.bearer(h) == nobody:
		return "bearer"
	}
	return ""
}

const sessionCookie = "shunt_admin_session"

// session is a browser that has logged in.
type session struct {
	csrf    string
	expires time.Time
}

// sessions are those there are, by the hash of their cookie; they live as long as the process at most.
type sessions struct {
	clock clock.Clock
	ttl   time.Duration

	mu  sync.Mutex
	all map[[sha256.Size]byte]session
}

// maxSessions bounds the memory of logins; the oldest go first.
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

// reads admits whoever may look; writes whoever may change something. A browser is told from a program by its cookie, and
// has to show that it was its own page that asked (ADM-2).
func (a *Admin) reads(h http.HandlerFunc) http.HandlerFunc { return a.admit(reader, h) }

func (a *Admin) writes(h http.HandlerFunc) http.HandlerFunc { return a.admit(writer, h) }

func (a *Admin) admit(needed tier, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		has := a.keys.presented(r.Header)
		if has == nobody {
			if session, ok := a.sessions.of(r); ok {
				if needed == writer && !(sameOrigin(r) && subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Csrf-Token")), []byte(session.csrf)) == 1) {
					refuse(w, http.StatusForbidden, "this change was not asked for by the page: reload it and try again")
					return
				}
				has = writer
			}
		}
		switch {
		case has == nobody:
			a.unauthenticated(w, r, "send an admin token in the header "+a.keys.header+", or log in at /admin/login")
		case has < needed:
			refuse(w, http.StatusForbidden, "this key may only read")
		default:
			h(w, r)
		}
	}
}

// Readers has h serve requests with a credential of the surface, in their headers or as a bearer token (OBS-2). A browser's
// session is not one.
func (a *Admin) Readers(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if max(a.keys.presented(r.Header), a.keys.bearer(r.Header)) == nobody {
			a.unauthenticated(w, r, "send an admin token or a read key, in the header "+a.keys.header+" or as Authorization: Bearer")
			return
		}
		h.ServeHTTP(w, r)
	})
}

// unauthenticated refuses a request without a credential, and one with a wrong credential as a failed attempt (ADM-2).
func (a *Admin) unauthenticated(w http.ResponseWriter, r *http.Request, message string) {
	if by := a.keys.wrong(r.Header); by != "" {
		if wait := a.failed(w, r, by); wait > 0 {
			refuse(w, http.StatusTooManyRequests, fmt.Sprintf(tooManyTries, seconds(wait)))
			return
		}
		message = "this is not an admin token or key of this gateway: " + message
	}
	refuse(w, http.StatusUnauthorized, message)
}

const tooManyTries = "too many wrong tokens from your address: try again in %d s (a valid one is accepted at any time)"

// failed takes in a failed attempt. If that was one too many, it returns how long the address has to wait, and sets
// retry-after.
func (a *Admin) failed(w http.ResponseWriter, r *http.Request, by string) (wait time.Duration) {
	address, _ := a.Proxies.Client(r)
	if wait = a.attempts.failed(address, by); wait > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(seconds(wait), 10))
	}
	return wait
}

// sameOrigin reports whether a request comes from a page of this surface, or from no page.
func sameOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return false
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return true
	}
	origin, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && origin.Host != "" && strings.EqualFold(origin.Host, r.Host)
}

// reached returns how a browser reached the surface: from this machine, and over TLS. A proxy's word about either counts if
// the configuration trusts it (ADM-2).
func (a *Admin) reached(r *http.Request) (local, https bool) {
	address, https := a.Proxies.Client(r)
	return address.IsLoopback() || a.Loopback && !a.Proxies.Trust, https
}
