package config

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"shunt/internal/config/schema"
)

const providerDoc = "A backend: one base URL, one protocol, one way to authenticate. A name consists of `a-z`, `0-9`, `_` and `-`.\n\n" +
	"The provider `anthropic` is built in, with `base_url = \"https://api.anthropic.com\"` and `auth = \"passthrough\"`. " +
	"A file that sets some of its keys keeps the others."

var providerName = schema.Pattern(`[a-z0-9_-]+`, "the name of a provider (a-z, 0-9, _ and -)")

func providerOwner(parent any, name string) (any, bool) {
	c := parent.(*Config)
	if p, ok := c.Provider(name); ok {
		return p, false
	}
	c.Providers = append(c.Providers, Provider{Name: name})
	return &c.Providers[len(c.Providers)-1], true
}

// providers returns the elements of [providers] or, if ordered, of [[upstreams]]: those of the form that the file uses.
func providers(ordered bool) func(parent any) []schema.Element {
	return func(parent any) []schema.Element {
		c := parent.(*Config)
		if c.ordered != ordered {
			return nil
		}
		found := make([]schema.Element, len(c.Providers))
		for i := range c.Providers {
			found[i] = schema.Element{Name: c.Providers[i].Name, Owner: &c.Providers[i]}
		}
		return found
	}
}

func providerKeys(fs families) []schema.Key {
	return []schema.Key{
		{
			Name: "kind", Default: `"anthropic"`,
			Binding: schema.Bind(schema.Choice(fs.kinds()...), func(p *Provider) *Kind { return &p.Kind }),
			Doc: "The protocol that the provider speaks: `anthropic` is Messages, `responses` and `chat` are OpenAI's, whose base URLs end in their " +
				"version (`/v1`), and `gemini` is Google's. shunt translates the requests of clients that speak another.",
		},
		{
			Name:    "base_url",
			Binding: schema.Bind(baseURL, func(p *Provider) **url.URL { return &p.BaseURL }),
			Doc: "The URL of the provider, to which the path and query of each request are appended. Required, except for `anthropic`. " +
				hostsDoc(fs),
		},
		{
			Name: "auth", Default: `"passthrough"`,
			Binding: schema.Bind(schema.Choice(fs.auths()...), func(p *Provider) *Auth { return &p.Auth }),
			Doc: "`passthrough` forwards the credentials of the client. `api_key` sends the key in `api_key_env`. `none` sends no credential. " +
				poolsDoc(fs, "provider"),
		},
		{
			Name:    "api_key_env",
			Binding: schema.Bind(schema.Variable, func(p *Provider) *string { return &p.APIKeyEnv }),
			Doc:     "The name of the environment variable that holds the key. Required with `auth = \"api_key\"`; the variable must be set.",
		},
		{
			Name: "api_key_header", Default: `"bearer"`,
			Binding: schema.Bind(schema.Choice(Bearer, XAPIKey, XGoogAPIKey), func(p *Provider) *KeyHeader { return &p.APIKeyHeader }),
			Doc:     "The header that carries the key: `bearer` is `Authorization: Bearer`, `x_api_key` is `x-api-key`, `x_goog_api_key` is `x-goog-api-key`.",
		},
	}
}

// poolsDoc documents the modes that make a provider, or an upstream, a pool.
func poolsDoc(fs families, what string) string {
	verb := "makes"
	if len(fs) > 1 {
		verb = "make"
	}
	modes := fs.list("and", func(f *Family) string { return "`" + string(f.Auth) + "`" })
	return modes + " " + verb + " the " + what + " a pool: each request goes out with one of its accounts."
}

// hostsDoc documents where the tokens of accounts may go (CFG-41).
func hostsDoc(fs families) string {
	return fs.each(" ", func(f *Family) string {
		return "With `auth = \"" + string(f.Auth) + "\"` it must be `https` to `" + strings.Join(f.Hosts, "` or `") + "` or a subdomain of it."
	}) + " A loopback host (`localhost`, `127.0.0.0/8`, `[::1]`) is always allowed, even without TLS."
}

func accountDoc(fs families) string {
	return "The accounts of a pool (" + fs.mode("auth", "`") + "). Without any, the pool has every valid file of " +
		"the account store, in the order of the file names.\n\n" +
		"An account's credential comes from `credentials`, from `token_env` or, without either, from the entry of its name in the account store: " +
		fs.each("; ", func(f *Family) string {
			return "`~/.shunt/accounts/" + f.store() + "/<name>.json`, or the same in `$SHUNT_" + strings.ToUpper(f.store()) + "_ACCOUNTS_DIR` if that is set"
		}) + "."
}

func accountOwner(parent any, _ string) (any, bool) {
	p := parent.(*Provider)
	p.Accounts = append(p.Accounts, Account{})
	return &p.Accounts[len(p.Accounts)-1], true
}

var accountName = schema.Pattern(`[a-z0-9-]+`, "a name of the characters a-z, 0-9 and -")

var uuid = schema.Pattern(`[A-Za-z0-9-]*`, "a UUID (letters, digits and -)") // empty means unknown (ID-1)

func accountKeys(fs families) []schema.Key {
	return slices.Concat([]schema.Key{
		{
			Name:    "name",
			Binding: schema.Bind(accountName, func(a *Account) *string { return &a.Name }),
			Doc:     "Required, and unique in the provider. It appears in logs and in the header `x-shunt-account`.",
		},
		{
			Name:    "credentials",
			Binding: schema.Bind(schema.Path, func(a *Account) *string { return &a.Credentials }),
			Doc:     "A credentials file" + fs.programs() + ". shunt refreshes the token in it and writes it back.",
		},
		{
			Name:    "token_env",
			Binding: schema.Bind(schema.Variable, func(a *Account) *string { return &a.TokenEnv }),
			Doc:     "The name of the environment variable that holds a long-lived token, such as a setup token. shunt never refreshes it. Set `uuid` as well.",
		},
		{
			Name:    "uuid",
			Binding: schema.Bind(uuid, func(a *Account) *string { return &a.UUID }),
			Doc:     "The account's UUID, by which shunt recognizes two entries for the same account. Credentials in the account store include it.",
		},
		{
			Name:    "organization_uuid",
			Binding: schema.Bind(uuid, func(a *Account) *string { return &a.OrganizationUUID }),
			Doc:     "The UUID of the account's organization. It matters only if one account is configured in two organizations.",
		},
		{
			Name: "priority", Default: strconv.Itoa(defaultPriority),
			Binding: schema.Bind(schema.Whole[int](math.MinInt32, math.MaxInt32, ""), func(a *Account) *int { return &a.Priority }),
			Doc:     "When the account of a session cannot serve it, accounts with a lower number come first. The priority does not decide where a session starts.",
		},
		{
			Name: "disabled", Default: `false`,
			Binding: schema.Bind(schema.Boolean, func(a *Account) *bool { return &a.Disabled }),
			Doc:     "Keep the entry but do not use it.",
		},
	}, fractions(fs,
		"threshold", func(a *Account) *Fractions { return &a.Thresholds },
		"Once it has used this fraction of a quota window, the account is near its limit, and sessions leave it while other accounts are free. "+
			"Default: the one in `[server.pool]`. A value above `hard_threshold` acts like `hard_threshold`.",
	), fractions(fs,
		"max_utilization", func(a *Account) *Fractions { return &a.MaxUtilization },
		"The account serves nothing while this fraction of a quota window is used, even if no other account is left; the remainder is kept for "+
			"other clients of the account. Default: the one in `[server.pool]`, else none.",
	))
}
