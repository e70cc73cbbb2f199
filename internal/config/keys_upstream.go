package config

import (
	"net/url"
	"strings"

	"shunt/internal/config/schema"
)

const upstreamDoc = "Backends in an order, as another way to declare them than `[providers.<name>]`; a file has one or the other. Only the upstreams " +
	"that are declared exist, so `default_provider` must name one of them. A model that `[[models]]` maps to several tries them in the order in " +
	"which they stand here.\n\n" +
	"`provider` names a preset, which says everything else. What an upstream says itself goes before its preset.\n\n"

// upstreamTable is [[upstreams]] (CFG-20, CFG-21).
func upstreamTable(fs families) schema.Table {
	return schema.Table{
		Name: "upstreams", Form: schema.Listed, Owner: upstreamOwner, Elements: providers(true), Keys: upstreamKeys(fs), Doc: upstreamDoc + presetDoc(),
		Tables: []schema.Table{{
			Name: "auth", Owner: schema.Part(func(p *Provider) *Provider { return p }), Keys: authKeys(fs), Doc: authDoc(fs),
			Short: &schema.Short{
				Key:    "mode",
				Expect: schema.OneOf(fs.auths()...) + `, or a table such as { mode = "api_key", env = "NAME" }`,
			},
			Tables: []schema.Table{{
				Name: "accounts", Form: schema.Listed, Owner: accountOwner, Keys: accountKeys(fs), Doc: scopeDoc, Like: "[[providers.<name>.accounts]]",
				Short: &schema.Short{
					Key:    "name",
					Expect: `a list of names and tables, such as ["main", { name = "ci", token_env = "CI_TOKEN" }]`,
				},
			}},
		}},
	}
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

func upstreamKeys(fs families) []schema.Key {
	return []schema.Key{
		{
			Name:    "name",
			Binding: schema.Bind(providerName, func(p *Provider) *string { return &p.Name }),
			Doc:     "Required and unique. Routes, models and `default_provider` refer to it, and so do variables of the environment.",
		},
		{
			Name:    "provider",
			Binding: schema.Bind(schema.Choice(presetNames()...), func(p *Provider) *string { return &p.Preset }),
			Doc:     "The preset to begin with. Without it, `kind` and `base_url` are required.",
		},
		{
			Name:    "kind",
			Binding: schema.Bind(schema.Choice(fs.kinds()...), func(p *Provider) *Kind { return &p.Kind }),
			Doc:     "The protocol that the upstream speaks.",
		},
		{
			Name:    "base_url",
			Binding: schema.Bind(baseURL, func(p *Provider) **url.URL { return &p.BaseURL }),
			Doc:     "Where the upstream is reached, as in `[providers.<name>]`.",
		},
	}
}

func authDoc(fs families) string {
	return "How requests to the upstream are authenticated. Where only `mode` is to be said, a string is enough: `" + fs.mode("auth") + "`. " +
		"Without `auth` the preset says it; without a preset it is `passthrough`."
}

func authKeys(fs families) []schema.Key {
	return []schema.Key{
		{
			Name:    "mode",
			Binding: schema.Bind(schema.Choice(fs.auths()...), func(p *Provider) *Auth { return &p.Auth }),
			Doc: "`passthrough` forwards the credentials of the client. `api_key` sends the key in `env`. " +
				poolsDoc(fs, "upstream"),
		},
		{
			Name:    "env",
			Binding: schema.Bind(schema.Variable, func(p *Provider) *string { return &p.APIKeyEnv }),
			Doc:     "The name of the environment variable that holds the key of `api_key`; it must be set. Default: that of the preset.",
		},
		{
			Name:    "header",
			Binding: schema.Bind(schema.Choice(Bearer, XAPIKey, XGoogAPIKey), func(p *Provider) *KeyHeader { return &p.APIKeyHeader }),
			Doc: "The header that carries the key: `bearer` is `Authorization: Bearer`, `x_api_key` is `x-api-key`, `x_goog_api_key` is `x-goog-api-key`. Default: that of the preset, " +
				"else `bearer`.",
		},
		{
			Name:    "account",
			Binding: schema.Bind(scope, func(p *Provider) *[]Account { return &p.Accounts }),
			Doc:     "The one account of the account store that the pool consists of.",
		},
	}
}

// scope is a list of one account of the store.
var scope = schema.Convert(accountName, func(name string) []Account { return []Account{unlisted(name)} })

const scopeDoc = "The accounts that the pool consists of, where they are not the one of `account`: names of the account store, or tables. " +
	"With neither, the pool is every valid file of the store. An account in two upstreams is still one account, with one quota. " +
	"A name that is not in the store is no error: the account counts as soon as there is a login for it."
