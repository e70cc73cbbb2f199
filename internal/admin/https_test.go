package admin_test

import (
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"shunt/internal/hosts"
)

// ADM-2: a login over plain HTTP from another machine is refused, unless a trusted proxy reports HTTPS. The cookie is Secure
// unless the browser is on this machine. X-Forwarded-Proto from others is ignored.
func TestLoginTransport(t *testing.T) {
	none, local := hosts.Proxies{}, hosts.Proxies{Trust: true}
	listed := hosts.Proxies{Trust: true, Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for _, c := range []struct {
		name            string
		loopback        bool // the address that shunt listens on
		proxies         hosts.Proxies
		from, who, how  string // the address of the connection, and the headers of a proxy
		allowed, secure bool
	}{
		{"on this machine", true, none, "127.0.0.1:1", "", "", true, false},
		{"on this machine, listening on all addresses", false, none, "127.0.0.1:1", "", "", true, false},
		{"another machine", false, none, "192.0.2.1:1", "", "", false, false},
		{"another machine that claims https", false, none, "192.0.2.1:1", "", "https", false, false},
		{"another machine that claims to be this one", false, local, "192.0.2.1:1", "127.0.0.1", "https", false, false},
		{"local proxy, not trusted", true, none, "127.0.0.1:1", "192.0.2.1", "https", true, false},
		{"local proxy, trusted", true, local, "127.0.0.1:1", "192.0.2.1", "https", true, true},
		{"local proxy, trusted, http", true, local, "127.0.0.1:1", "192.0.2.1", "http", false, false},
		{"local proxy, trusted, without a scheme", true, local, "127.0.0.1:1", "192.0.2.1", "", false, false},
		{"remote proxy, listed", false, listed, "10.0.0.1:1", "192.0.2.1", "https", true, true},
		{"remote proxy, not listed", false, local, "10.0.0.1:1", "192.0.2.1", "https", false, false},
	} {
		s := newSurface(t)
		s.admin.Loopback, s.admin.Proxies = c.loopback, c.proxies
		r := httptest.NewRequest("POST", "/admin/login", strings.NewReader("token="+adminToken))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.RemoteAddr = c.from
		for name, value := range map[string]string{"X-Forwarded-For": c.who, "X-Forwarded-Proto": c.how} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		s.admin.ServeHTTP(w, r)
		cookies := w.Result().Cookies()
		if allowed := len(cookies) == 1; allowed != c.allowed || allowed && cookies[0].Secure != c.secure {
			t.Errorf("%s: %d, cookies %v", c.name, w.Code, cookies)
		}
		if !c.allowed && (w.Code != 403 || !strings.Contains(w.Body.String(), "HTTPS")) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
}
