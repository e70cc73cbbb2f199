package upstream

import (
	"iter"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"shunt/internal/family"
	"shunt/internal/secret"
)

// Credential authenticates a request to an upstream. The zero Credential leaves the client's own in place.
type Credential struct {
	header string // "Authorization", "X-Api-Key" or "X-Goog-Api-Key"
	value  secret.String
}

// NoCredential removes the client's credential without a replacement.
func NoCredential() Credential { return Credential{header: "none"} }

// Bearer presents a token in the Authorization header.
func Bearer(token secret.String) Credential {
	return Credential{"Authorization", secret.New("Bearer " + token.Reveal())}
}

// APIKey presents a key in the x-api-key header.
func APIKey(key secret.String) Credential { return Credential{"X-Api-Key", key} }

// GoogAPIKey presents a key in the x-goog-api-key header.
func GoogAPIKey(key secret.String) Credential { return Credential{"X-Goog-Api-Key", key} }

// field is one header line.
type field struct{ name, value string }

// appendFields appends the header lines to send upstream (WIRE-1 to WIRE-3), sorted by name: those of the client that are
// forwarded, those in set, which replace the client's of the same names (an empty one only removes them), and the credential.
func appendFields(dst []field, client http.Header, c Credential, set []field) []field {
	named := client["Connection"]
	for name, values := range client {
		if isHopByHop(name) || c.replaces(name) || isSet(set, name) || len(named) > 0 && isNamed(named, name) {
			continue
		}
		for _, value := range values {
			dst = append(dst, field{name, value})
		}
	}
	for _, f := range set {
		if f.value != "" {
			dst = append(dst, f)
		}
	}
	if !c.value.IsZero() {
		dst = append(dst, field{c.header, c.value.Reveal()})
	}
	slices.SortStableFunc(dst, byName)
	return dst
}

// withStatic returns header lines with those of the operator, which replace others of the same names (FAM-4).
func withStatic(set []field, static []family.HeaderField) []field {
	for _, f := range static {
		set = slices.DeleteFunc(set, func(own field) bool { return own.name == f.Name })
	}
	for _, f := range static {
		set = append(set, field{f.Name, f.Value})
	}
	return set
}

// insertField inserts a header line into lines that are sorted by name.
func insertField(fields []field, f field) []field {
	at, _ := slices.BinarySearchFunc(fields, f, byName)
	return slices.Insert(fields, at, f)
}

func byName(a, b field) int { return strings.Compare(a.name, b.name) }

// replaces reports whether the credential replaces a header of the client's.
func (c *Credential) replaces(name string) bool {
	return *c != Credential{} && slices.Contains(credentialHeaders[:], name)
}

// credentialHeaders are the headers in which clients present a credential.
var credentialHeaders = [...]string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"}

// withCredentialOf returns the header of a translated request with the client's own credential.
func withCredentialOf(h, client http.Header) http.Header {
	for _, name := range credentialHeaders {
		if values := client[name]; len(values) > 0 && !isNamed(client["Connection"], name) {
			h[name] = values
		}
	}
	return h
}

// identityEncoding requests a response that is not compressed, so that shunt can read it (WIRE-1).
var identityEncoding = field{"Accept-Encoding", "identity"}

func isSet(set []field, name string) bool {
	return slices.ContainsFunc(set, func(f field) bool { return f.name == name })
}

// isNamed reports whether the lines of a Connection header name another header.
func isNamed(lines []string, header string) bool {
	for name := range namedIn(lines) {
		if name == header {
			return true
		}
	}
	return false
}

// namedIn returns the names of the headers that the lines of a Connection header list, in canonical form.
func namedIn(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, line := range lines {
			for name := range strings.SplitSeq(line, ",") {
				if !yield(textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))) {
					return
				}
			}
		}
	}
}

// smallBody is the size in bytes up to which a body is copied after its head, so that one write sends both.
const smallBody = 8 << 10

// writeHead writes the head of a request as net/http would, with a prefix before the target. A small body follows in the same
// piece.
func (p *payload) writeHead(prefix, host string) {
	h := append(p.head[:0], "POST "...)
	h = append(h, prefix...)
	h = append(h, p.target...)
	h = append(h, " HTTP/1.1\r\nHost: "...)
	h = append(h, host...)
	h = append(h, "\r\n"...)
	for _, f := range p.fields {
		if f.name == "User-Agent" {
			h = f.appendTo(h)
			break
		}
	}
	h = append(h, "Content-Length: "...)
	h = strconv.AppendInt(h, p.length, 10)
	h = append(h, "\r\n"...)
	for _, f := range p.fields {
		if f.name != "User-Agent" {
			h = f.appendTo(h)
		}
	}
	p.head = append(h, "\r\n"...)
	if p.length > smallBody {
		return
	}
	for _, segment := range p.body {
		p.head = append(p.head, segment...)
	}
	p.body = nil
}

func (f *field) appendTo(h []byte) []byte {
	h = append(h, f.name...)
	h = append(h, ": "...)
	h = append(h, f.value...)
	return append(h, "\r\n"...)
}

// headerOf returns lines as the header of a net/http request.
func headerOf(fields []field) http.Header {
	h := http.Header{"User-Agent": nil} // net/http would add its own
	for _, f := range fields {
		h[f.name] = append(h[f.name], f.value)
	}
	return h
}

// appendItems appends those of the client's headers that need another item for the family (WIRE-1).
func (p *Pool) appendItems(dst []field, client http.Header) []field {
	for _, item := range p.family.HeaderItems {
		if f, changed := withItem(client, item.Name, item.Item); changed {
			dst = append(dst, f)
		}
	}
	return dst
}

// withItem returns a client's list header with one more item, unless a line already contains it.
func withItem(client http.Header, name, item string) (_ field, changed bool) {
	lines := client[name]
	if isNamed(client["Connection"], name) {
		lines = nil
	}
	joined := make([]string, 0, 4)
	for _, line := range lines {
		for entry := range strings.SplitSeq(line, ",") {
			if strings.TrimSpace(entry) == item {
				return field{}, false
			}
		}
		if line != "" {
			joined = append(joined, line)
		}
	}
	return field{name, strings.Join(append(joined, item), ",")}, true
}

func dropNamedByConnection(out, in http.Header) {
	for name := range namedIn(in["Connection"]) {
		delete(out, name)
	}
}

// copyResponseHeader adds to dst the headers of an upstream's response that the client gets (WIRE-10). Headers that only shunt
// may set are dropped.
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
	headerPool          = "X-Shunt-Pool"
	headerUpstream      = "X-Gateway-Upstream"
	headerModel         = "X-Gateway-Model"
	headerUpstreamModel = "X-Gateway-Upstream-Model"
)

// isPrintable reports whether a value may be sent in one of shunt's own headers (CHN-3).
func isPrintable(value string) bool {
	for i := range len(value) {
		if value[i] < 0x20 || value[i] > 0x7e {
			return false
		}
	}
	return value != "" && len(value) <= 256
}
