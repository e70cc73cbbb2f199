package config

// settings are where those of one provider stand. The two forms of declaring one differ in that, and in what the keys are called.
type settings struct {
	self, name, preset, kind, baseURL, authTable, auth, keyEnv, keyHeader, account, accounts spot
}

func (l *loader) settings(provider int) settings {
	if !l.config.ordered {
		in := spot{table: "providers." + segment(l.config.Providers[provider].Name)}
		return settings{
			self: in, kind: in.of("kind"), baseURL: in.of("base_url"), authTable: in.of("auth"), auth: in.of("auth"),
			keyEnv: in.of("api_key_env"), keyHeader: in.of("api_key_header"), accounts: in.of("accounts"),
		}
	}
	in := spot{key: "upstreams"}.item(provider)
	auth := in.of("auth").below()
	return settings{
		self: in, name: in.of("name"), preset: in.of("provider"), kind: in.of("kind"), baseURL: in.of("base_url"), authTable: in.of("auth"), auth: auth.of("mode"),
		keyEnv: auth.of("env"), keyHeader: auth.of("header"), account: auth.of("account"), accounts: auth.of("accounts"),
	}
}

// accountSpot is a key of one of a provider's accounts. A pool of one has no other key than its name.
func (l *loader) accountSpot(provider, account int, key string) spot {
	s := l.settings(provider)
	if l.config.ordered && l.written(s.account) {
		return s.account
	}
	return s.accounts.item(account).of(key)
}

// authKnown reports whether what a provider's Auth says can be relied on.
func (l *loader) authKnown(s settings) bool {
	return !l.failed(s.auth) && !l.failed(s.authTable) && (!l.config.ordered || l.written(s.auth) || !l.failed(s.preset))
}
