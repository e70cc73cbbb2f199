package gateway

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"shunt/internal/config"
	"shunt/internal/secret"
)

// ownTokens are the tokens of clients and of the admin surface, which no provider may receive (WIRE-2).
type ownTokens []secret.String

func (o *ownTokens) add(tokens []config.Token) {
	for _, t := range tokens {
		*o = append(*o, t.Value)
	}
}

// longToken is the length, in bytes, from which a token is found anywhere in a value. A shorter one might occur in another word,
// and has to be a word of its own.
const longToken = 16

// in reports whether a header's value contains one of the tokens: alone, in a list, quoted, as name:token, or encoded by the
// Basic scheme.
func (o ownTokens) in(value string) bool {
	if len(o) == 0 {
		return false
	}
	if o.plain(value) {
		return true
	}
	if strings.IndexByte(value, ' ') < 0 && strings.IndexByte(value, '\t') < 0 { // as in most values; the rest is slower
		return false
	}
	basic := false
	for word := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ' ' || r == '\t' || r == ',' || r == '"' || r == '\'' }) {
		if basic && o.plain(decodeBasic(word)) {
			return true
		}
		basic = strings.EqualFold(word, "Basic")
	}
	return false
}

// decodeBasic decodes a word in any alphabet of base64, padded or not, up to the first byte that is not part of it.
func decodeBasic(word string) string {
	word = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(word, "="))
	text, _ := base64.RawStdEncoding.DecodeString(word)
	return string(text)
}

func (o ownTokens) plain(value string) bool {
	for _, token := range o {
		text := token.Reveal()
		for rest, from := value, 0; len(rest) >= len(text); rest = value[from:] {
			i := strings.Index(rest, text)
			if i < 0 {
				break
			}
			i += from
			if len(text) >= longToken || isWholeWord(value, i, i+len(text)) {
				return true
			}
			from = i + 1
		}
	}
	return false
}

// isWholeWord reports whether the text between start and end is not part of a longer word.
func isWholeWord(value string, start, end int) bool {
	return (start == 0 || !isWord(value[start-1])) && (end == len(value) || !isWord(value[end]))
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.'
}

// stripGatewayTokens returns a client's request without the headers for tokens of this gateway, and without any other that
// contains one.
func (s *snapshot) stripGatewayTokens(r *http.Request) *http.Request {
	var h http.Header
	for name, values := range r.Header {
		if !slices.Contains(s.headers, name) && !slices.ContainsFunc(values, s.own.in) {
			continue
		}
		if h == nil {
			h = r.Header.Clone()
		}
		delete(h, name)
	}
	if h == nil {
		return r
	}
	clean := *r
	clean.Header = h
	return &clean
}
