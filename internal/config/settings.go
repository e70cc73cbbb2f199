package config

import "shunt/internal/config/schema"

// settings are the spots of one provider's keys, which have other places and names in the two forms of declaring one.
type settings struct {
	self, name, preset, kind, baseURL, authTable, auth, keyEnv, keyHeader, account, accounts, headers schema.Spot
}

func (l *loader) settings(provider int) settings {
	if !l.config.ordered {
		in := schema.At("providers." + schema.Segment(l.config.Providers[provider].Name))
		return settings{
			self: in, kind: in.Of("kind"), baseURL: in.Of("base_url"), authTable: in.Of("auth"), auth: in.Of("auth"),
			keyEnv: in.Of("api_key_env"), keyHeader: in.Of("api_key_header"), accounts: in.Of("accounts"), headers: in.Of("headers"),
		}
	}
	in := schema.At("").Of("upstreams").Item(provider)
	auth := in.Of("auth").Table()
	return settings{
		self: in, name: in.Of("name"), preset: in.Of("provider"), kind: in.Of("kind"), baseURL: in.Of("base_url"), authTable: in.Of("auth"), auth: auth.Of("mode"),
		keyEnv: auth.Of("env"), keyHeader: auth.Of("header"), account: auth.Of("account"), accounts: auth.Of("accounts"), headers: in.Of("headers"),
	}
}

// accountSpot returns the spot of a key of one of a provider's accounts. The account of a pool with `account` has no key besides
// its name.
func (l *loader) accountSpot(provider, account int, key string) schema.Spot {
	s := l.settings(provider)
	if l.config.ordered && l.Written(s.account) {
		return s.account
	}
	return s.accounts.Item(account).Of(key)
}

// authKnown reports whether a provider's Auth can be relied on.
func (l *loader) authKnown(s settings) bool {
	return !l.Failed(s.auth) && !l.Failed(s.authTable) && (!l.config.ordered || l.Written(s.auth) || !l.Failed(s.preset))
}
