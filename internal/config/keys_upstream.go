package config

import (
	"net/url"
	"strings"
)

const upstreamDoc = "Backends in an order, as another way to declare them than `[providers.<name>]`; a file has one or the other. Only the upstreams " +
	"that are declared exist, so `default_provider` must name one of them. A model that `[[models]]` maps to several tries them in the order in " +
	"which they stand here.\n\n" +
	"`provider` names a preset, which says everything else. What an upstream says itself goes before its preset.\n\n"

// upstreamTable is [[upstreams]] (CFG-20, CFG-21).
var upstreamTable = table{
	name: "upstreams", form: listed, owner: upstreamOwner, elements: providers(true), keys: upstreamKeys, doc: upstreamDoc + presetDoc(),
	tables: []table{{
		name: "auth", owner: part(func(p *Provider) *Provider { return p }), keys: authKeys, doc: authDoc,
		short: &short{"mode", `"passthrough", "api_key", "claude_oauth" or a table, such as { mode = "api_key", env = "NAME" }`},
		tables: []table{{
			name: "accounts", form: listed, owner: accountOwner, keys: accountKeys, doc: scopeDoc, like: "[[providers.<name>.accounts]]",
			short: &short{"name", `a list of names and tables, such as ["main", { name = "ci", token_env = "CI_TOKEN" }]`},
		}},
	}},
}

// presetDoc is the table of presets in Markdown.
func presetDoc() string {
	var b strings.Builder
	b.WriteString("| preset | `base_url` | `auth` |\n|---|---|---|\n")
	for _, p := range presets {
		auth := "`passthrough`"
		if p.auth == APIKey {
			auth = "the key in `" + p.keyEnv + "`"
		}
		if p.keyHeader == XAPIKey {
			auth += ", as `x-api-key`"
		}
		b.WriteString("| `" + p.name + "` | `" + p.baseURL + "` | " + auth + " |\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func upstreamOwner(parent any, _ string) (any, bool) {
	c := parent.(*Config)
	c.Providers = append(c.Providers, Provider{})
	return &c.Providers[len(c.Providers)-1], true
}

var upstreamKeys = []key{
	{
		name:    "name",
		binding: to(providerName, func(p *Provider) *string { return &p.Name }),
		doc:     "Required and unique. Routes, models and `default_provider` refer to it, and so do variables of the environment.",
	},
	{
		name:    "provider",
		binding: to(choice(presetNames()...), func(p *Provider) *string { return &p.Preset }),
		doc:     "The preset to begin with. Without it, `kind` and `base_url` are required.",
	},
	{
		name:    "kind",
		binding: to(choice(Anthropic), func(p *Provider) *Kind { return &p.Kind }),
		doc:     "The protocol that the upstream speaks.",
	},
	{
		name:    "base_url",
		binding: to(baseURL, func(p *Provider) **url.URL { return &p.BaseURL }),
		doc:     "Where the upstream is reached, as in `[providers.<name>]`.",
	},
}

const authDoc = "How requests to the upstream are authenticated. Where only `mode` is to be said, a string is enough: `auth = \"claude_oauth\"`. " +
	"Without `auth` the preset says it; without a preset it is `passthrough`."

var authKeys = []key{
	{
		name:    "mode",
		binding: to(choice(Passthrough, APIKey, ClaudeOAuth), func(p *Provider) *Auth { return &p.Auth }),
		doc: "`passthrough` forwards the credentials of the client. `api_key` sends the key in `env`. " +
			"`claude_oauth` makes the upstream a pool: each request goes out with one of its accounts.",
	},
	{
		name:    "env",
		binding: to(variable, func(p *Provider) *string { return &p.APIKeyEnv }),
		doc:     "The name of the environment variable that holds the key of `api_key`; it must be set. Default: that of the preset.",
	},
	{
		name:    "header",
		binding: to(choice(Bearer, XAPIKey, XGoogAPIKey), func(p *Provider) *KeyHeader { return &p.APIKeyHeader }),
		doc: "The header that carries the key: `bearer` is `Authorization: Bearer`, `x_api_key` is `x-api-key`, `x_goog_api_key` is `x-goog-api-key`. Default: that of the preset, " +
			"else `bearer`.",
	},
	{
		name:    "account",
		binding: to(scope, func(p *Provider) *[]Account { return &p.Accounts }),
		doc:     "The one account of the account store that the pool consists of.",
	},
}

// scope is a list of one account of the store.
var scope = kind[[]Account]{accountName.shape, accountName.expect, func(n *node, from base) ([]Account, error) {
	name, err := accountName.parse(n, from)
	if err != nil {
		return nil, err
	}
	var a Account
	(&table{keys: accountKeys}).defaults(&a)
	a.Name = name
	return []Account{a}, nil
}}

const scopeDoc = "The accounts that the pool consists of, where they are not the one of `account`: names of the account store, or tables. " +
	"With neither, the pool is every valid file of the store. An account in two upstreams is still one account, with one quota. " +
	"A name that is not in the store is no error: the account counts as soon as there is a login for it."
