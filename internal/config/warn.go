package config

import (
	"fmt"
	"slices"
	"strings"

	"shunt/internal/config/schema"
	"shunt/internal/hosts"
	"shunt/internal/identity"
)

// warn adds warnings about what is allowed but probably not intended (CFG-45), as far as the configuration alone shows it.
func (l *loader) warn() {
	var pools []string
	for i := range l.config.Providers {
		p := &l.config.Providers[i]
		if !p.Pool() {
			continue
		}
		pools = append(pools, p.Name)
		for j, a := range p.Accounts {
			if a.TokenEnv != "" && a.UUID == "" {
				l.Warn(l.accountSpot(i, j, "token_env"), fmt.Sprintf("account %q has no uuid, and its token does not contain it; "+
					"add uuid, or shunt takes another entry for the same account for a different account", a.Name))
			}
			l.warnOfWindows(i, j)
		}
	}
	if server := &l.config.Server; len(pools) > 0 && !server.Bind.Addr().IsLoopback() && !server.Clients.Present {
		l.Warn(schema.At("server").Of("bind"), fmt.Sprintf("anyone who can reach this address can use the accounts of %s without a token; "+
			"write [server.auth], bind to a loopback address, or let only trusted machines reach it", strings.Join(pools, ", ")))
	}
	if access := &l.config.Server.Access; len(access.TrustedProxies) > 0 && !access.TrustForwardedFor {
		l.Warn(schema.At("server.access_control").Of("trusted_proxies"), "has no effect without trust_forwarded_for = true; add that, or remove this")
	}
	l.warnOfAliases()
	l.warnOfPlainHTTP()
	l.warnOfHeaders()
	l.warnOfRoutes()
}

// warnOfWindows warns of an account's thresholds and caps on windows that its family does not have (FAM-2).
func (l *loader) warnOfWindows(provider, account int) {
	p := &l.config.Providers[provider]
	a := &p.Accounts[account]
	family, _ := l.families.pool(p.Auth)
	for _, w := range l.families.windows() {
		if family.has(w.Name) {
			continue
		}
		for key, limits := range map[string]*Fractions{"threshold_": &a.Thresholds, "max_utilization_": &a.MaxUtilization} {
			if limits.Window(w.Name) != nil {
				l.Warn(l.accountSpot(provider, account, key+w.Name), fmt.Sprintf("has no effect: accounts of auth = %q have no %s; remove it", p.Auth, w.Title))
			}
		}
	}
}

// warnOfAliases warns of configured accounts that are one identity (ID-1), and of those that may be one because their UUID is in
// several organizations and their own is not given (ID-1b). An account that several upstreams name alike is meant to be shared:
// that is how a model is pinned to it.
func (l *loader) warnOfAliases() {
	organizations := l.organizations()
	first := map[identity.Key]*Account{}
	titles := map[*Account]string{}
	l.eachPoolAccount(func(provider, index int) {
		p := &l.config.Providers[provider]
		a := &p.Accounts[index]
		name := fmt.Sprintf("%q of provider %s", a.Name, p.Name)
		titles[a] = name
		split := len(organizations[a.UUID]) > 1
		if split && a.OrganizationUUID == "" {
			l.Warn(l.accountSpot(provider, index, "uuid"), "account "+name+" has a uuid that other entries have in two organizations; "+
				"add organization_uuid, or it counts as a separate account")
		}
		key := fileIdentity(p, a, split)
		switch other, dup := first[key]; {
		case !dup:
			first[key] = a
		case !l.config.ordered || a.Name != other.Name:
			l.Warn(l.accountSpot(provider, index, "name"), "account "+name+" is the same account as "+titles[other]+
				"; they share quota, cooldowns and refresh")
		}
	})
}

// fileIdentity returns the identity of an account as far as the file shows it. Split says that its UUID is in two organizations.
func fileIdentity(p *Provider, a *Account, split bool) identity.Key {
	switch {
	case a.UUID != "" && split && a.OrganizationUUID == "":
		return identity.OfInline(p.Family, p.Name, a.Name)
	case a.UUID != "" && split:
		return identity.OfAccount(p.Family, a.UUID, a.OrganizationUUID)
	case a.UUID != "":
		return identity.OfAccount(p.Family, a.UUID, "")
	case a.Credentials == "" && a.TokenEnv == "":
		return identity.OfStoreEntry(p.Family, a.Name)
	default:
		return identity.OfInline(p.Family, p.Name, a.Name)
	}
}

// organizations returns, for each UUID, the organizations that it is configured with.
func (l *loader) organizations() map[string]map[string]bool {
	found := map[string]map[string]bool{}
	l.eachPoolAccount(func(provider, index int) {
		a := &l.config.Providers[provider].Accounts[index]
		if a.UUID == "" || a.OrganizationUUID == "" {
			return
		}
		if found[a.UUID] == nil {
			found[a.UUID] = map[string]bool{}
		}
		found[a.UUID][a.OrganizationUUID] = true
	})
	return found
}

func (l *loader) eachPoolAccount(visit func(provider, index int)) {
	for i, p := range l.config.Providers {
		for j := range p.Accounts {
			visit(i, j) // only a pool has accounts (CFG-42)
		}
	}
}

// warnOfPlainHTTP warns of providers to which a credential would be sent unencrypted.
func (l *loader) warnOfPlainHTTP() {
	for i := range l.config.Providers {
		p := &l.config.Providers[i]
		if hosts.Confidential(p.BaseURL) {
			continue
		}
		what := "the credentials of clients"
		if p.Auth == APIKey {
			what = "the API key"
		}
		l.Warn(l.settings(i).baseURL, "sends "+what+" over plain HTTP, which anyone on the network path can read; use https, or a provider on this machine")
	}
}

// warnOfHeaders warns of providers that do not read the key from the header that carries it.
func (l *loader) warnOfHeaders() {
	for i := range l.config.Providers {
		p, s := &l.config.Providers[i], l.settings(i)
		if p.Auth != APIKey || p.APIKeyHeader != Bearer {
			continue
		}
		for _, o := range ownHeaders {
			if within(p.BaseURL.Hostname(), o.domain) {
				l.Warn(s.keyHeader, fmt.Sprintf(`is "bearer", but %s takes API keys in %s; write %s = %q`, o.title, o.written, s.keyHeader.Key(), o.header))
			}
		}
	}
}

// warnOfRoutes warns of routes and prefixes that no request can reach.
func (l *loader) warnOfRoutes() {
	first := map[string]int{}
	for i, r := range l.config.Routes {
		at := routeSpot(i).Of("model")
		if unmarked(r.Model) != r.Model {
			l.Warn(at, "ends in a long-context mark, which shunt removes from every model before it looks for it, so this route is never used; write the model without the mark")
		}
		if before, dup := first[r.Model]; dup {
			l.Warn(at, "is also routed in line "+l.line(routeSpot(before))+", so this route is never used")
			continue
		}
		first[r.Model] = i
	}
	prefixes := l.config.Prefixes
	for i, p := range prefixes {
		before := slices.IndexFunc(prefixes[:i], func(earlier Prefix) bool { return strings.HasPrefix(p.Prefix, earlier.Prefix) })
		if before >= 0 {
			l.Warn(prefixSpot(i).Of("prefix"), "begins with the prefix in line "+l.line(prefixSpot(before))+", so this one is never used; put it before that one")
		}
	}
}
