package config

import (
	"net/url"
	"strings"

	"shunt/internal/config/schema"
)

const upstreamDoc = "Backends in order, an alternative to `[providers.<name>]`; a file uses one or the other. Only the declared upstreams exist, " +
	"so `default_provider` must name one of them. Requests for a model that `[[models]]` maps to several upstreams try them in the order " +
	"of this list.\n\n" +
	"`provider` names a preset, which sets all other keys. The keys of an upstream take precedence over its preset.\n\n"

// upstreamTable is [[upstreams]] (CFG-20, CFG-21).
func upstreamTable(fs families) schema.Table {
	return schema.Table{
		Name: "upstreams", Form: schema.Listed, Owner: upstreamOwner, Elements: providers(true), Keys: upstreamKeys(fs), Doc: upstreamDoc + presetDoc(fs),
		Tables: []schema.Table{headerTable, {
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

// presetDoc returns the table of presets in Markdown.
func presetDoc(fs families) string {
	var b strings.Builder
	b.WriteString("| preset | `kind` | `base_url` | `auth` |\n|---|---|---|---|\n")
	for _, p := range fs.presets() {
		auth := "`" + string(p.auth) + "`"
		if p.auth == APIKey {
			auth = "the key in `" + p.keyEnv + "`"
		}
		if p.keyHeader != "" {
			auth += ", as `" + strings.ReplaceAll(string(p.keyHeader), "_", "-") + "`"
		}
		b.WriteString("| `" + p.name + "` | `" + string(p.kind) + "` | `" + p.baseURL + "` | " + auth + " |\n")
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
			Doc:     "Required and unique. Routes, models, `default_provider` and environment variables refer to it.",
		},
		{
			Name:    "provider",
			Binding: schema.Bind(schema.Choice(fs.presetNames()...), func(p *Provider) *string { return &p.Preset }),
			Doc:     "The preset to start from. Without one, `kind` and `base_url` are required.",
		},
		{
			Name:    "kind",
			Binding: schema.Bind(schema.Choice(fs.kinds()...), func(p *Provider) *Kind { return &p.Kind }),
			Doc:     "The protocol that the upstream speaks.",
		},
		{
			Name:    "base_url",
			Binding: schema.Bind(baseURL, func(p *Provider) **url.URL { return &p.BaseURL }),
			Doc:     "The URL of the upstream, as in `[providers.<name>]`.",
		},
	}
}

func authDoc(fs families) string {
	return "How requests to the upstream are authenticated. If only `mode` is set, a string is enough: " + fs.mode("auth", "`") + ". " +
		"Default: that of the preset; without a preset, `passthrough`."
}

func authKeys(fs families) []schema.Key {
	return []schema.Key{
		{
			Name:    "mode",
			Binding: schema.Bind(schema.Choice(fs.auths()...), func(p *Provider) *Auth { return &p.Auth }),
			Doc: "`passthrough` forwards the credentials of the client. `api_key` sends the key in `env`. `none` sends no credential. " +
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
			Doc:     "The only account of the pool, from the account store.",
		},
	}
}

// scope is the name of an account of the store, as a list of one.
var scope = schema.Convert(accountName, func(name string) []Account { return []Account{unlisted(name)} })

const scopeDoc = "The accounts of the pool, unless `account` names one: names in the account store, or tables. " +
	"Without either, the pool has every valid file of the store. An account in two upstreams is still one account, with one quota. " +
	"A name that is not in the store is not an error: the account joins the pool when someone logs in to it."
