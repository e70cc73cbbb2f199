package admin_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/hosts"
)

// attempt sends one request with a token, by form, header, key or bearer token, from an address.
func (s *surface) attempt(by, token, from string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/admin/api/pool", nil)
	var h http.Handler = s.admin
	switch by {
	case "form":
		r = httptest.NewRequest("POST", "/admin/login", strings.NewReader("token="+token))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	case "header":
		r.Header.Set("X-Shunt-Admin-Token", token)
	case "key":
		r.Header.Set("X-Api-Key", token)
	case "bearer":
		r = httptest.NewRequest("GET", "/metrics", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		h = s.admin.Readers(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	}
	if r.RemoteAddr = from; !strings.Contains(from, "]:") && strings.Count(from, ":") != 1 {
		r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(from), 4711).String()
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

var ways = []string{"form", "header", "key", "bearer"}

// granted is the status of a successful attempt.
var granted = map[string]int{"form": 303, "header": 200, "key": 200, "bearer": 200}

// ADM-2: thirty failed attempts of any kind are allowed per minute and address. Further ones are refused with the time to wait.
// A correct credential is always accepted, and other addresses are not affected.
func TestFailedAttemptsAreLimited(t *testing.T) {
	for _, by := range ways {
		t.Run(by, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSurface(t)
				for range 100 { // these are not failures
					if w := s.attempt(by, adminToken, "192.0.2.1"); w.Code != granted[by] {
						t.Fatalf("a valid token: %d", w.Code)
					}
				}
				for i := range 30 {
					if w := s.attempt(by, "wrong", "192.0.2.1"); w.Code != 401 {
						t.Fatalf("wrong token %d: %d", i+1, w.Code)
					}
					time.Sleep(time.Second)
				}
				w := s.attempt(by, "wrong", "192.0.2.1")
				if w.Code != 429 || w.Header().Get("Retry-After") != "30" || !strings.Contains(w.Body.String(), "in 30 s") {
					t.Errorf("the 31st: %d, retry-after %q: %s", w.Code, w.Header().Get("Retry-After"), w.Body)
				}
				for _, other := range ways {
					if w := s.attempt(other, "wrong", "192.0.2.1"); w.Code != 429 {
						t.Errorf("by %s: %d", other, w.Code)
					}
					if w := s.attempt(other, adminToken, "192.0.2.1"); w.Code != granted[other] {
						t.Errorf("a valid token by %s, from the same address: %d", other, w.Code)
					}
				}
				if w := s.attempt(by, "wrong", "192.0.2.2"); w.Code != 401 {
					t.Errorf("another address: %d", w.Code)
				}
				time.Sleep(30 * time.Second)
				if w := s.attempt(by, "wrong", "192.0.2.1"); w.Code != 401 {
					t.Errorf("a minute after the first: %d", w.Code)
				}
			})
		})
	}
}

// ADM-2: a request without a credential, a session with another credential next to it, and a credential of a lower tier are not
// failed attempts.
func TestNotAFailedAttempt(t *testing.T) {
	s := newSurface(t)
	cookie := s.attempt("form", adminToken, "192.0.2.1").Result().Cookies()[0]
	for range 50 {
		if w := s.call("GET", "/admin/api/pool", "", ""); w.Code != 401 {
			t.Fatalf("no credential: %d", w.Code)
		}
		if w := s.call("POST", "/admin/api/logout", readKey, ""); w.Code != 403 {
			t.Fatalf("a change with a read key: %d", w.Code)
		}
		if w := s.attempt("form", readKey, "192.0.2.1"); w.Code != 401 || !strings.Contains(w.Body.String(), "read-only") {
			t.Fatalf("a read key in the form: %d %s", w.Code, w.Body)
		}
		r := httptest.NewRequest("GET", "/admin/api/pool", nil)
		r.AddCookie(cookie)
		r.Header.Set("Authorization", "Bearer of-a-proxy")
		w := httptest.NewRecorder()
		if s.admin.ServeHTTP(w, r); w.Code != 200 {
			t.Fatalf("a session: %d", w.Code)
		}
	}
	if log := s.log.String(); strings.Contains(log, "wrong") {
		t.Errorf("logged %s", log)
	}
}

// ADM-2: failures are counted by /64 for IPv6, by address for IPv4 even if it is mapped to IPv6, and by the client's address
// behind a trusted proxy.
func TestAddressesOfFailedAttempts(t *testing.T) {
	for _, c := range []struct {
		name, first, second string
		same                bool
	}{
		{"one /64", "2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true},
		{"two /64", "2001:db8::1", "2001:db8:0:1::1", false},
		{"mapped", "192.0.2.7", "::ffff:192.0.2.7", true},
		{"neighbours", "192.0.2.7", "192.0.2.6", false},
	} {
		s := newSurface(t)
		for range 30 {
			s.attempt("header", "wrong", c.first)
		}
		if got := s.attempt("header", "wrong", c.second).Code; (got == 429) != c.same {
			t.Errorf("%s: %d", c.name, got)
		}
	}
	s := newSurface(t)
	s.admin.Proxies = hosts.Proxies{Trust: true}
	behind := func(client string) int {
		r := httptest.NewRequest("GET", "/admin/api/pool", nil)
		r.RemoteAddr = "127.0.0.1:1"
		r.Header.Set("X-Forwarded-For", client)
		r.Header.Set("X-Api-Key", "wrong")
		w := httptest.NewRecorder()
		s.admin.ServeHTTP(w, r)
		return w.Code
	}
	for range 30 {
		behind("192.0.2.8")
	}
	if one, other := behind("192.0.2.8"), behind("192.0.2.9"); one != 429 || other != 401 {
		t.Errorf("behind a proxy: %d, %d", one, other)
	}
	if !strings.Contains(s.log.String(), "address=192.0.2.8") {
		t.Errorf("logged %s", &s.log)
	}
}

// ADM-2: a failure is logged with its address, at most once a second, with the number of suppressed ones and never with the token.
func TestFailedAttemptsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSurface(t)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.admin.Run(ctx); close(ended) }()
		lines := func() []string {
			synctest.Wait()
			text := strings.TrimSpace(s.log.Take())
			if text == "" {
				return nil
			}
			return strings.Split(text, "\n")
		}
		expect := func(what string, got []string, want ...string) {
			t.Helper()
			ok := len(got) == len(want)
			for i := range want {
				ok = ok && strings.Contains(got[i], "level=WARN") && strings.Contains(got[i], want[i])
			}
			if !ok {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		time.Sleep(500 * time.Millisecond)
		s.attempt("form", "wrong-1", "192.0.2.1")
		expect("the first", lines(), "address=192.0.2.1 by=form limited=false suppressed=0")
		for i := range 40 {
			s.attempt("bearer", "wrong-2", fmt.Sprintf("192.0.2.%d", i))
		}
		expect("within the same second", lines())
		time.Sleep(2 * time.Second)
		expect("after it", lines(), "address=192.0.2.39 by=bearer limited=false suppressed=39")
		time.Sleep(5 * time.Second)
		expect("no failures", lines())
		for range 5 {
			s.attempt("header", "wrong-3", "2001:db8::1")
			expect("one per second", lines(), "address=2001:db8::1 by=header limited=false suppressed=0")
			time.Sleep(time.Second)
		}
		stop()
		<-ended
	})
}

// ADM-2: a limited number of addresses is remembered; the least recent are forgotten first.
func TestFailedAttemptsAreForgotten(t *testing.T) {
	s := newSurface(t)
	from := func(i int) string { return fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255) }
	fail := func(i int) (code int) { return s.attempt("header", "wrong", from(i)).Code }
	for range 30 {
		fail(0)
	}
	if fail(0) != 429 {
		t.Error("the first is not limited")
	}
	for i := range 5000 {
		fail(1 + i)
	}
	if fail(0) != 401 {
		t.Error("5000 addresses later, the first is still remembered")
	}
}

// ADM-2: the form accepts a token alone or as name:token with the matching name, and shows errors.
func TestLoginForm(t *testing.T) {
	for token, want := range map[string]int{
		adminToken: 303, "ops:" + adminToken: 303, "script:" + writeKey: 303, " ops:" + adminToken + " ": 303,
		"other:" + adminToken: 401, ":" + adminToken: 401, "ops:": 401, "ops": 401, "": 401, "grafana:" + readKey: 401,
	} {
		s := newSurface(t)
		w := s.attempt("form", strings.ReplaceAll(token, " ", "+"), "192.0.2.1")
		if w.Code != want {
			t.Errorf("%q: %d", token, w.Code)
		}
		if page := w.Body.String(); want == 401 && (!strings.Contains(page, `role="alert"`) || !strings.Contains(page, `action="/admin/login"`) || !strings.Contains(page, " token")) {
			t.Errorf("%q: %s", token, page)
		}
	}
	s := newSurface(t)
	var w *httptest.ResponseRecorder
	for range 31 {
		w = s.attempt("form", "wrong", "192.0.2.1")
	}
	if wait, _ := strconv.Atoi(w.Header().Get("Retry-After")); w.Code != 429 || wait < 1 || wait > 60 || !strings.Contains(w.Body.String(), "Too many wrong tokens") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	r := httptest.NewRequest("POST", "/admin/login", strings.NewReader("token=%zz"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w = httptest.NewRecorder()
	if s.admin.ServeHTTP(w, r); w.Code != 400 || !strings.Contains(w.Body.String(), `action="/admin/login"`) {
		t.Errorf("an invalid form: %d %s", w.Code, w.Body)
	}
}
