package upstream

import "strings"

// hopHeaders lists the request headers that are not forwarded (WIRE-3), in canonical form. A name that ends with a star is a
// prefix.
var hopHeaders = [...]string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding",
	"Upgrade", "Content-Length", "Host", "Cookie", "Expect",
	// Headers that reverse proxies add about themselves, their clients and their users.
	"Forwarded", "X-Forwarded-*", "X-Real-Ip", "Via", "Cf-*", "Cdn-Loop", "True-Client-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Envoy-*",
	"X-Amzn-*", "Fly-*", "X-Vercel-*", "X-Auth-Request-*", "Tailscale-User-*", "X-Goog-Iap-*", "X-Goog-Authenticated-User-*", "X-Ms-Client-*",
	// Headers for shunt.
	"X-Shunt-*",
}

// hopHeadersBy groups them by their most distinctive letter, so that each header of a request is compared with at most one or
// two of them.
var hopHeadersBy = func() (by [256][]hopHeader) {
	for _, name := range hopHeaders {
		prefix, isPrefix := strings.CutSuffix(name, "*")
		letter := distinctive(prefix)
		by[letter] = append(by[letter], hopHeader{prefix, isPrefix})
	}
	return by
}()

type hopHeader struct {
	name     string
	isPrefix bool
}

// distinctive returns the second letter of a header name or, with another bit set, the second letter after X-. Every name in
// the table is long enough to have one.
func distinctive(name string) byte {
	switch {
	case len(name) > 3 && name[0] == 'X' && name[1] == '-':
		return name[3] | 128
	case len(name) > 1:
		return name[1] & 127
	}
	return 0
}

// isHopByHop reports whether a request header, given in canonical form, is not forwarded (WIRE-3).
func isHopByHop(name string) bool {
	bucket := hopHeadersBy[distinctive(name)]
	for i := range bucket {
		h := &bucket[i]
		if h.isPrefix && len(name) > len(h.name) && name[:len(h.name)] == h.name || name == h.name {
			return true
		}
	}
	return false
}
