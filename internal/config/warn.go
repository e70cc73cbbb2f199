package config

import (
	"fmt"
	"strings"

	"shunt/internal/identity"
)

// warn says what is allowed but probably not meant (CFG-45), as far as the configuration alone can tell.
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
				l.warning(accountSpot(p, j, "token_env"), fmt.Sprintf("account %q has no uuid, and its token does not tell it; "+
					"add uuid, or an entry for the same account elsewhere is taken for another account", a.Name))
			}
		}
	}
	if len(pools) > 0 && !l.config.Server.Bind.Addr().IsLoopback() {
		l.warning(spot{table: "server", key: "bind"}, fmt.Sprintf("whoever reaches this address can use the accounts of %s without a token; "+
			"bind to a loopback address, or let only trusted machines reach it", strings.Join(pools, ", ")))
	}
	l.warnOfAliases()
}

func (l *loader) warning(at spot, message string) { l.warnings = append(l.warnings, l.at(at, message)) }

// warnOfAliases names the configured accounts that are one identity (ID-1), and those that cannot be told from one because
// their UUID is held in several organizations and theirs is not given (ID-1b).
func (l *loader) warnOfAliases() {
	organizations := l.organizations()
	first := map[identity.Key]string{}
	l.eachPoolAccount(func(p *Provider, index int) {
		a := &p.Accounts[index]
		name := fmt.Sprintf("%q of provider %s", a.Name, p.Name)
		split := len(organizations[a.UUID]) > 1
		if split && a.OrganizationUUID == "" {
			l.warning(accountSpot(p, index, "uuid"), "account "+name+" has a uuid that other entries hold in two organizations; "+
				"add organization_uuid, or it counts as an account of its own")
		}
		key := fileIdentity(p, a, split)
		if other, dup := first[key]; dup {
			l.warning(accountSpot(p, index, "name"), "account "+name+" is the same account as "+other+"; they share quota, cooldowns and refresh")
			return
		}
		first[key] = name
	})
}

// fileIdentity is the identity of an account as far as the file tells; split says that its UUID is held in two organizations.
func fileIdentity(p *Provider, a *Account, split bool) identity.Key {
	switch {
	case a.UUID != "" && split && a.OrganizationUUID == "":
		return identity.OfInline(p.Name, a.Name)
	case a.UUID != "" && split:
		return identity.OfAccount(a.UUID, a.OrganizationUUID)
	case a.UUID != "":
		return identity.OfAccount(a.UUID, "")
	case a.Credentials == "" && a.TokenEnv == "":
		return identity.OfStoreEntry(a.Name)
	default:
		return identity.OfInline(p.Name, a.Name)
	}
}

// organizations collects for each UUID the organizations that it is configured with.
func (l *loader) organizations() map[string]map[string]bool {
	found := map[string]map[string]bool{}
	l.eachPoolAccount(func(p *Provider, index int) {
		a := &p.Accounts[index]
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

func (l *loader) eachPoolAccount(visit func(p *Provider, index int)) {
	for i := range l.config.Providers {
		p := &l.config.Providers[i]
		for j := range p.Accounts {
			visit(p, j) // only a pool has accounts (CFG-42)
		}
	}
}
