package config

import "shunt/internal/config/schema"

// settings are where those of one provider stand. The two forms of declaring one differ in that, and in what the keys are called.
type settings struct {
	self, name, preset, kind, baseURL, authTable, auth, keyEnv, keyHeader, account, accounts schema.Spot
}

func (l *loader) settings(provider int) settings {
	if !l.config.ordered {
		in := schema.At("providers." + schema.Segment(l.config.Providers[provider].Name))
		return settings{
			self: in, kind: in.Of("kind"), baseURL: in.Of("base_url"), authTable: in.Of("auth"), auth: in.Of("auth"),
			keyEnv: in.Of("api_key_env"), keyHeader: in.Of("api_key_header"), accounts: in.Of("accounts"),
		}
	}
	in := schema.At("").Of("upstreams").Item(provider)
	auth := in.Of("auth").Table()
	return settings{
		self: in, name: in.Of("name"), preset: in.Of("provider"), kind: in.Of("kind"), baseURL: in.Of("base_url"), authTable: in.Of("auth"), auth: auth.Of("mode"),
		keyEnv: auth.Of("env"), keyHeader: auth.Of("header"), account: auth.Of("account"), accounts: auth.Of("accounts"),
	}
}

// accountSpot is a key of one of a provider's accounts. A pool of one has no other key than its name.
func (l *loader) accountSpot(provider, account int, key string) schema.Spot {
	s := l.settings(provider)
	if l.config.ordered && l.Written(s.account) {
		return s.account
	}
	return s.accounts.Item(account).Of(key)
}

// authKnown reports whether what a provider's Auth says can be relied on.
func (l *loader) authKnown(s settings) bool {
	return !l.Failed(s.auth) && !l.Failed(s.authTable) && (!l.config.ordered || l.Written(s.auth) || !l.Failed(s.preset))
}
