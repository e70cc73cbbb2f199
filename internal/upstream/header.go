package upstream

import (
	"net/http"
	"net/textproto"
	"strings"

	"shunt/internal/secret"
)

// Credential is how a request proves itself to an upstream.
// The zero Credential leaves the client's own in place.
type Credential struct {
	header string // "Authorization" or "X-Api-Key"
	value  secret.String
}

// nobody takes the client's credential off and puts none in its place.
var nobody = Credential{header: "none"}

// Bearer presents a token in the Authorization header.
func Bearer(token secret.String) Credential {
	return Credential{"Authorization", secret.New("Bearer " + token.Reveal())}
}

// APIKey presents a key in the x-api-key header.
func APIKey(key secret.String) Credential { return Credential{"X-Api-Key", key} }

// staysHere reports whether a request header ends at this hop (WIRE-3).
func staysHere(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Content-Length", "Host", "Cookie", "Expect", "Forwarded", "Via", "X-Real-Ip":
		return true
	}
	return strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "X-Shunt-")
}

// requestHeader is what goes upstream of a client's header: WIRE-1 to WIRE-3. The values are shared with the client's
// header, which nobody changes.
func requestHeader(client http.Header, c Credential) http.Header {
	out := make(http.Header, len(client)+2)
	for name, values := range client {
		if !staysHere(name) {
			out[name] = values
		}
	}
	dropNamedByConnection(out, client)
	if c != (Credential{}) {
		delete(out, "Authorization")
		delete(out, "X-Api-Key")
	}
	if !c.value.IsZero() {
		out[c.header] = []string{c.value.Reveal()}
	}
	if _, ok := out["User-Agent"]; !ok {
		out["User-Agent"] = nil // net/http would add its own
	}
	return out
}

// addBeta puts a beta into anthropic-beta unless some line has it already (WIRE-1).
func addBeta(h http.Header, beta string) {
	const name = "Anthropic-Beta"
	lines := h[name]
	for _, line := range lines {
		for entry := range strings.SplitSeq(line, ",") {
			if strings.TrimSpace(entry) == beta {
				return
			}
		}
	}
	joined := make([]string, 0, len(lines)+1)
	for _, line := range lines {
		if line != "" {
			joined = append(joined, line)
		}
	}
	h[name] = []string{strings.Join(append(joined, beta), ",")}
}

func dropNamedByConnection(out, in http.Header) {
	for _, line := range in["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			delete(out, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)))
		}
	}
}

// copyResponseHeader adds to dst what goes to the client of an upstream's header (WIRE-10). What only shunt may say of an
// answer is dropped, so that an upstream cannot say it.
func copyResponseHeader(dst, upstream http.Header) {
	for name, values := range upstream {
		switch name {
		case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
			"Content-Length", "Set-Cookie", headerUpstream, headerModel, headerUpstreamModel:
			continue
		}
		if !strings.HasPrefix(name, "X-Shunt-") {
			dst[name] = values
		}
	}
	dropNamedByConnection(dst, upstream)
}

const (
	headerAccount       = "X-Shunt-Account"
	headerUpstream      = "X-Gateway-Upstream"
	headerModel         = "X-Gateway-Model"
	headerUpstreamModel = "X-Gateway-Upstream-Model"
)

// setPrintable sets a header unless its value could not stand in one (CHN-3).
func setPrintable(h http.Header, name, value string) {
	if value == "" || len(value) > 256 {
		return
	}
	for i := range len(value) {
		if value[i] < 0x20 || value[i] > 0x7e {
			return
		}
	}
	h[name] = []string{value}
}
