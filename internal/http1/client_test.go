package http1

import (
	"net/url"
	"testing"
)

// A host is named to a peer as DNS and HTTP spell it, whatever the configuration calls it.
func TestOriginNames(t *testing.T) {
	for _, c := range []struct{ host, header, address, server string }{
		{"api.example", "api.example", "api.example:443", "api.example"},
		{"api.example:8443", "api.example:8443", "api.example:8443", "api.example"},
		{"bücher.example", "xn--bcher-kva.example", "xn--bcher-kva.example:443", "xn--bcher-kva.example"},
		{"127.0.0.1:81", "127.0.0.1:81", "127.0.0.1:81", "127.0.0.1"},
		{"[::1]", "[::1]", "[::1]:443", "::1"},
		{"[fe80::1%eth0]:81", "[fe80::1]:81", "[fe80::1%eth0]:81", "fe80::1%eth0"},
		{"under_score.example", "under_score.example", "under_score.example:443", "under_score.example"},
	} {
		o := NewClient(nil).Origin(&url.URL{Scheme: "https", Host: c.host})
		if o.Host() != c.header || o.address != c.address || o.tls.ServerName != c.server {
			t.Errorf("%s: %q, %q, %q", c.host, o.Host(), o.address, o.tls.ServerName)
		}
	}
}
