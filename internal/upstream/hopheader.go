package upstream

import "strings"

// hopHeaders are the request headers that end at this hop (WIRE-3), in canonical form. A name that ends in a star is a
// prefix.
var hopHeaders = [...]string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding",
	"Upgrade", "Content-Length", "Host", "Cookie", "Expect",
	// What reverse proxies add about themselves, their clients and their users.
	"Forwarded", "X-Forwarded-*", "X-Real-Ip", "Via", "Cf-*", "Cdn-Loop", "True-Client-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Envoy-*",
	"X-Amzn-*", "Fly-*", "X-Vercel-*", "X-Auth-Request-*", "Tailscale-User-*", "X-Goog-Iap-*", "X-Goog-Authenticated-User-*", "X-Ms-Client-*",
	// What is for shunt.
	"X-Shunt-*",
}

// hopHeadersBy has them by their most distinctive letter, so that a header is compared with one or two of them at most: this
// runs for every header of every request.
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

// distinctive returns the second letter of a header's name or, with another bit set, that of what follows an X-. No name in
// the table is too short to have one.
func distinctive(name string) byte {
	switch {
	case len(name) > 3 && name[0] == 'X' && name[1] == '-':
		return name[3] | 128
	case len(name) > 1:
		return name[1] & 127
	}
	return 0
}

// staysHere reports whether a request header, given in canonical form, ends at this hop (WIRE-3).
func staysHere(name string) bool {
	bucket := hopHeadersBy[distinctive(name)]
	for i := range bucket {
		h := &bucket[i]
		if h.isPrefix && len(name) > len(h.name) && name[:len(h.name)] == h.name || name == h.name {
			return true
		}
	}
	return false
}
