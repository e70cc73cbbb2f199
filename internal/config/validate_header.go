package config

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// fixedHeaders are the headers that an operator cannot add (FAM-4): credentials, and what belongs to one connection or frames
// the message. A name that ends with a star is a prefix.
var fixedHeaders = []string{
	"Authorization", "Cookie", "Host", "X-Api-Key", "X-Goog-Api-Key", "Proxy-*", "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding",
	"Upgrade", "Content-Length", "Content-Encoding", "Accept-Encoding", "Expect",
}

var headerForm = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// validateHeaders checks the headers of a provider, and sorts them by name.
func (l *loader) validateHeaders(p *Provider, s settings) {
	seen := map[string]bool{}
	for _, h := range p.Headers {
		switch {
		case !headerForm.MatchString(h.Name):
			l.Fail(s.headers, "has a name that is not the name of a header")
		case slices.ContainsFunc(fixedHeaders, func(fixed string) bool { return named(h.Name, fixed) }):
			l.Fail(s.headers, "cannot set "+strings.ToLower(h.Name)+", which shunt sets itself or which belongs to one connection; remove it")
		case seen[h.Name]:
			l.Fail(s.headers, "has "+strings.ToLower(h.Name)+" twice; remove one of them")
		}
		seen[h.Name] = true
	}
	slices.SortFunc(p.Headers, func(a, b Header) int { return cmp.Compare(a.Name, b.Name) })
}

// named reports whether a header has a name, of which a star at the end stands for any rest.
func named(header, name string) bool {
	prefix, isPrefix := strings.CutSuffix(name, "*")
	return header == name || isPrefix && strings.HasPrefix(header, prefix)
}
