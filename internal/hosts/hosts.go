// Package hosts decides what host names and addresses mean: which of them are this machine, which names a request to a listener
// may use, whether a web page of another origin sent it, which client behind reverse proxies it comes from, and which proxy
// leads to a host. It resolves no names and keeps no state; its functions are safe for concurrent use.
package hosts

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Lower returns a host with its ASCII letters in lower case (CFG-41). It leaves other letters alone: Unicode folds some of
// them into ASCII ones, and a resolver may not.
func Lower(host string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, host)
}

// IsLoopback reports whether a host, without brackets and port, names this machine: localhost, 127.0.0.0/8 or ::1 (CFG-41).
func IsLoopback(host string) bool {
	if Lower(host) == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && (address.Is4() && address.IsLoopback() || address == netip.IPv6Loopback())
}

// Confidential reports whether what is sent to a URL cannot be read on the way: it goes over TLS or to this machine (CFG-41).
func Confidential(u *url.URL) bool { return u.Scheme == "https" || IsLoopback(u.Hostname()) }

// Admits reports whether a request to a listener at bind may have this Host header (AUTH-4). A loopback listener accepts
// loopback names and those in allowed, which are in lower case and without ports: a web page could have rebound any other name to
// this machine. Other listeners accept any name.
func Admits(bind netip.Addr, allowed []string, hostHeader string) bool {
	if !bind.IsLoopback() {
		return true
	}
	host := name(hostHeader)
	return IsLoopback(host) || slices.Contains(allowed, canonical(host))
}

// name returns the host of a Host header, without brackets and port.
func name(hostHeader string) string {
	host, _, err := net.SplitHostPort(hostHeader)
	if err != nil {
		host = hostHeader
	}
	return strings.Trim(host, "[]")
}

// canonical returns a host in the form that the configuration uses.
func canonical(host string) string {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.String()
	}
	return Lower(host)
}

// CrossOrigin reports whether a browser sent a request for a page of another origin (AUTH-4).
func CrossOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return true
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return false
	}
	origin, err := url.Parse(origins[0])
	return err != nil || len(origins) > 1 || origin.Host == "" || !strings.EqualFold(origin.Host, r.Host)
}

// Proxy returns the proxy that the environment names for a request, as [http.ProxyFromEnvironment] does. For a loopback host,
// however it is written, there is none: what is sent to it must not leave the machine (CFG-41).
func Proxy(r *http.Request) (*url.URL, error) {
	if IsLoopback(r.URL.Hostname()) {
		return nil, nil
	}
	return http.ProxyFromEnvironment(r)
}
