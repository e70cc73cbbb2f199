package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"shunt/internal/hosts"
)

// Family is what the configuration knows of a family of accounts. [Options] lists the families that there are.
type Family struct {
	Name    string   // in identities
	Store   string   // in the account store; empty: Name
	Kind    Kind     // the protocol of its provider
	Auth    Auth     // makes a provider a pool of such accounts
	Hosts   []string // the domains that may receive a token, with their subdomains (CFG-41); lower case
	Windows []Window
	Program string // the provider's own program, whose credentials files shunt can use; empty: there is none
	Preset  string // the name of the preset for a pool of all accounts; empty: there is none
	BaseURL string // of that preset
}

// Window is a quota window, which has thresholds and caps of its own.
type Window struct {
	Name  string // ends the names of its keys: "5h" in threshold_5h
	Title string // for the reference: "five-hour window"
}

type families []Family

// pool returns the family whose accounts a mode of authentication pools.
func (fs families) pool(auth Auth) (*Family, bool) {
	i := slices.IndexFunc(fs, func(f Family) bool { return f.Auth == auth })
	if i < 0 {
		return nil, false
	}
	return &fs[i], true
}

// pools returns the modes that make a provider a pool.
func (fs families) pools() []Auth {
	modes := make([]Auth, len(fs))
	for i, f := range fs {
		modes[i] = f.Auth
	}
	return modes
}

// auths returns all modes of authentication.
func (fs families) auths() []Auth {
	return slices.Concat([]Auth{Passthrough, APIKey, None}, fs.pools())
}

// kinds returns all protocols.
func (fs families) kinds() []Kind {
	kinds := []Kind{Anthropic, Responses, Chat, Gemini}
	for _, f := range fs {
		if !slices.Contains(kinds, f.Kind) {
			kinds = append(kinds, f.Kind)
		}
	}
	return kinds
}

// windows returns the windows of all families in order. Windows of one name share their keys.
func (fs families) windows() []Window {
	var all []Window
	for _, f := range fs {
		for _, w := range f.Windows {
			if !slices.ContainsFunc(all, func(other Window) bool { return other.Name == w.Name }) {
				all = append(all, w)
			}
		}
	}
	return all
}

// each joins what text returns for each family.
func (fs families) each(separator string, text func(f *Family) string) string {
	texts := make([]string, len(fs))
	for i := range fs {
		texts[i] = text(&fs[i])
	}
	return strings.Join(texts, separator)
}

// checkURL keeps the tokens of accounts with their issuer (CFG-41): they go over TLS to one of the family's hosts, or to a
// loopback host, where a mock or a debugging proxy may listen without TLS.
func (f *Family) checkURL(u *url.URL) error {
	host := u.Hostname()
	switch {
	case hosts.IsLoopback(host):
		return nil
	case !f.owns(host):
		return fmt.Errorf("must name %s, a subdomain of it or a loopback host, because auth = %q sends account credentials there", strings.Join(f.Hosts, " or "), f.Auth)
	case !hosts.Confidential(u):
		return fmt.Errorf("must be https, because auth = %q sends account credentials there", f.Auth)
	}
	return nil
}

// owns reports whether a host is one of the family's domains or a subdomain. Every label must be plain, so that nothing that a
// resolver or a proxy may read differently passes.
func (f *Family) owns(host string) bool {
	return slices.ContainsFunc(f.Hosts, func(domain string) bool { return within(host, domain) })
}

// within reports whether a host is a domain or a subdomain of it.
func within(host, domain string) bool {
	return hostLabels.MatchString(host) && (host == domain || strings.HasSuffix(host, "."+domain))
}

// mode returns what makes a provider a pool: auth = "..." for each mode that there is, each between quotes.
func (fs families) mode(key, quote string) string {
	return fs.list("or", func(f *Family) string { return fmt.Sprintf("%s%s = %q%[1]s", quote, key, f.Auth) })
}

// list returns what text returns for each family as a list in a sentence: "a, b or c".
func (fs families) list(last string, text func(f *Family) string) string {
	all := fs.each(", ", text)
	if i := strings.LastIndex(all, ", "); i >= 0 {
		return all[:i] + " " + last + all[i+1:]
	}
	return all
}

// programs returns where a credentials file may come from, as the end of a sentence; empty if it comes from shunt alone.
func (fs families) programs() string {
	var names []string
	for _, f := range fs {
		if f.Program != "" {
			names = append(names, f.Program)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", such as that of " + strings.Join(names, " or ")
}

// store returns the name of the family in the account store.
func (f *Family) store() string { return cmp.Or(f.Store, f.Name) }

// has reports whether accounts of the family have a window of that name.
func (f *Family) has(window string) bool {
	return slices.ContainsFunc(f.Windows, func(w Window) bool { return w.Name == window })
}
