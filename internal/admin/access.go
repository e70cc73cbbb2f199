package admin

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"shunt/internal/anthropic"
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

// keys are the credentials of the surface, as hashes, so that comparing them takes the same time whatever they are.
type keys struct {
	header string
	tiers  map[[sha256.Size]byte]tier
}

func keysOf(s *config.Admin) keys {
	k := keys{header: s.Header, tiers: map[[sha256.Size]byte]tier{}}
	for _, t := range s.ReadKeys {
		k.tiers[sha256.Sum256([]byte(t.Value.Reveal()))] = reader
	}
	for _, list := range [][]config.Token{s.Tokens, s.WriteKeys} {
		for _, t := range list {
			k.tiers[sha256.Sum256([]byte(t.Value.Reveal()))] = writer
		}
	}
	return k
}

// of is what a presented credential may do.
func (k *keys) of(presented string) tier {
	if presented == "" {
		return nobody
	}
	sum, best := sha256.Sum256([]byte(presented)), nobody
	for known, t := range k.tiers {
		if subtle.ConstantTimeCompare(sum[:], known[:]) == 1 {
			best = max(best, t)
		}
	}
	return best
}

// presented is the best of the credentials in a request's headers.
func (k *keys) presented(h http.Header) tier {
	return max(k.of(h.Get(k.header)), k.of(h.Get("X-Api-Key")))
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
					refuse(w, http.StatusForbidden, anthropic.TypePermission, "this change was not asked for by the page: reload it and try again")
					return
				}
				has = writer
			}
		}
		switch {
		case has == nobody:
			refuse(w, http.StatusUnauthorized, anthropic.TypeAuthentication, "present an admin token in the header "+a.keys.header+", or log in at /admin/login")
		case has < needed:
			refuse(w, http.StatusForbidden, anthropic.TypePermission, "this key may only read")
		default:
			h(w, r)
		}
	}
}

// Readers has h answer whoever presents a credential of the surface, in its headers or as a bearer token (OBS-2). A
// browser's session is none.
func (a *Admin) Readers(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if a.keys.presented(r.Header) == nobody && !(strings.EqualFold(scheme, "Bearer") && a.keys.of(strings.TrimSpace(token)) != nobody) {
			refuse(w, http.StatusUnauthorized, anthropic.TypeAuthentication,
				"present an admin token or a read key, in the header "+a.keys.header+" or as Authorization: Bearer")
			return
		}
		h.ServeHTTP(w, r)
	})
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

// tries bounds how often somebody may guess (ADM-2): a bucket of as many as a minute gives back.
type tries struct {
	mu    sync.Mutex
	left  float64
	since time.Time
}

const triesPerMinute = 30

func (t *tries) take(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		t.left = triesPerMinute
	} else {
		t.left = min(triesPerMinute, t.left+now.Sub(t.since).Minutes()*triesPerMinute)
	}
	t.since = now
	if t.left < 1 {
		return false
	}
	t.left--
	return true
}
