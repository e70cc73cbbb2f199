package hosts

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are honored ([server.access_control]). The
// zero value honors none.
type Proxies struct {
	Trust    bool           // false: a request comes from the address of its connection
	Networks []netip.Prefix // of the proxies, IPv4 networks as IPv4; loopback addresses are always trusted
}

// Client returns the address that a request comes from, and whether it was sent over TLS to this process or to the trusted
// proxy that forwarded it. The address is the rightmost that is not a trusted proxy's: the client may have written those to its
// left. It is not valid if it cannot be parsed.
func (p *Proxies) Client(r *http.Request) (address netip.Addr, https bool) {
	peer := parse(r.RemoteAddr)
	if !p.trusts(peer) {
		return peer, r.TLS != nil
	}
	address = peer
	for _, line := range slices.Backward(r.Header["X-Forwarded-For"]) {
		for more := true; more; {
			var entry string
			if i := strings.LastIndexByte(line, ','); i >= 0 {
				line, entry = line[:i], line[i+1:]
			} else {
				entry, more = line, false
			}
			if address = parse(strings.TrimSpace(entry)); !p.trusts(address) {
				return address, p.overTLS(r)
			}
		}
	}
	return address, p.overTLS(r)
}

// overTLS reports whether a request was sent over TLS to the trusted proxy that forwarded it.
func (p *Proxies) overTLS(r *http.Request) bool {
	lines := r.Header["X-Forwarded-Proto"]
	if len(lines) == 0 {
		return r.TLS != nil
	}
	last := lines[len(lines)-1]
	return strings.EqualFold(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:]), "https")
}

func (p *Proxies) trusts(address netip.Addr) bool {
	within := func(network netip.Prefix) bool { return network.Contains(address) }
	return p.Trust && address.IsValid() && (address.IsLoopback() || slices.ContainsFunc(p.Networks, within))
}

// parse reads an address, with or without a port. It returns an IPv4 address in IPv6 form as IPv4.
func parse(text string) netip.Addr {
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap().WithZone("")
	}
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return address.Unmap().WithZone("")
}
