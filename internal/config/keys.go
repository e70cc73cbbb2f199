package config

import (
	"log/slog"
	"math"
	"net/netip"
	"net/url"
	"slices"
	"time"
)

// builtin is what there is without any file (CFG-11). It is decoded before the file, like a file.
const builtin = `
[providers.anthropic]
base_url = "https://api.anthropic.com"
`

// schema is the whole file.
var schema = table{
	tables: []table{
		{name: "server", owner: part(func(c *Config) *Server { return &c.Server }), keys: serverKeys, tables: []table{
			{
				name: "limits", owner: part(func(s *Server) *Limits { return &s.Limits }), keys: limitKeys,
				doc: "How large a request may be.",
			},
			{name: "timeouts", owner: part(func(s *Server) *Timeouts { return &s.Timeouts }), keys: timeoutKeys},
			{name: "pool", owner: part(func(s *Server) *Pool { return &s.Pool }), keys: poolKeys, doc: poolDoc, presence: func(owner any) *bool { return &owner.(*Pool).Present }},
			{name: "access_control", owner: part(func(s *Server) *Access { return &s.Access }), keys: accessKeys, doc: accessDoc},
			{
				name: "auth", owner: part(func(s *Server) *Clients { return &s.Clients }), keys: clientKeys, doc: clientsDoc,
				presence: func(owner any) *bool { return &owner.(*Clients).Present },
			},
			adminTable,
			switchTable("usage", func(s *Server) *bool { return &s.Usage }, usageDoc),
			switchTable("oauth_usage", func(s *Server) *bool { return &s.OAuthUsage }, oauthUsageDoc),
			{
				name: "metrics", owner: part(func(s *Server) *Metrics { return &s.Metrics }), keys: metricsKeys, doc: metricsDoc,
				presence: func(owner any) *bool { return &owner.(*Metrics).Present }, restart: true,
			},
		}},
		{name: "providers", form: named, owner: providerOwner, names: providerName, elements: providers(false), keys: providerKeys, doc: providerDoc, tables: []table{
			{name: "accounts", form: listed, owner: accountOwner, keys: accountKeys, doc: accountDoc},
		}},
		upstreamTable,
		modelTable,
		{name: "routes", form: listed, owner: routeOwner, keys: routeKeys, doc: routeDoc},
		{name: "route_prefixes", form: listed, owner: prefixOwner, keys: prefixKeys, doc: prefixDoc},
		{name: "log", owner: part(func(c *Config) *Log { return &c.Log }), keys: logKeys},
		{
			name: "otel", owner: part(func(c *Config) *OTel { return &c.OTel }), keys: otelKeys, doc: otelDoc,
			presence: func(owner any) *bool { return &owner.(*OTel).Present }, restart: true,
		},
	},
}

var serverKeys = []key{
	{
		name: "bind", def: `"127.0.0.1:3001"`, restart: true,
		binding: to(address, func(s *Server) *netip.AddrPort { return &s.Bind }),
		doc:     "The address and port to listen on.",
	},
	{
		name: "default_provider", def: `"anthropic"`,
		binding: to(providerName, func(s *Server) *string { return &s.DefaultProvider }),
		doc:     "The provider of every model that is not routed elsewhere.",
	},
	{
		name: "sse_keepalive_seconds", def: `15`,
		binding: to(seconds(), func(s *Server) *time.Duration { return &s.SSEKeepalive }),
		doc:     "How long a stream may be silent before a ping is put into it. 0 turns pings off.",
	},
	{
		name: "max_concurrent_requests", def: `1024`, restart: true,
		binding: to(whole[int](0, math.MaxInt32, ""), func(s *Server) *int { return &s.MaxConcurrentRequests }),
		doc: "How many inference requests may be in flight, each until its response has ended. Beyond that a request gets 503 with `retry-after: 1`. " +
			"0 means no limit. With `[server.auth]`, requests without a token count only until they are refused, and hold at most a tenth.",
	},
	{
		name: "allowed_hosts", def: `[]`,
		binding: to(hostNames, func(s *Server) *[]string { return &s.AllowedHosts }),
		doc: "Names, besides those of the loopback interface, under which shunt may be reached while `bind` is a loopback address, such as the name " +
			"a local reverse proxy passes on. Others are refused, which keeps web pages from reaching it by DNS rebinding.",
	},
	{
		name: "shutdown_timeout_seconds", def: `30`,
		binding: to(seconds(), func(s *Server) *time.Duration { return &s.ShutdownTimeout }),
		doc:     "How long open streams may finish after SIGTERM or SIGINT.",
	},
}

var limitKeys = []key{
	{
		name: "max_request_bytes", def: `33554432`,
		binding: to(whole[int64](1, 1<<40, "(bytes)"), func(l *Limits) *int64 { return &l.MaxRequestBytes }),
		doc:     "The largest request body. A larger one is answered 413.",
	},
	{
		name: "max_request_header_bytes", def: `65536`, restart: true,
		binding: to(whole[int](1, math.MaxInt32, "(bytes)"), func(l *Limits) *int { return &l.MaxRequestHeaderBytes }),
		doc:     "The largest set of request headers. A larger one is answered 431.",
	},
	{
		name: "max_url_length", def: `8192`, restart: true,
		binding: to(whole[int](1, math.MaxInt32, "(bytes)"), func(l *Limits) *int { return &l.MaxURLLength }),
		doc:     "The longest path and query. A longer one is answered 414.",
	},
}

var timeoutKeys = []key{
	{
		name: "upstream_ttfb_ms", def: `120000`,
		binding: to(milliseconds(0), func(t *Timeouts) *time.Duration { return &t.UpstreamTTFB }),
		doc:     "How long the provider may take until the headers of a streamed answer. 0 turns it off.",
	},
	{
		name: "upstream_ttfb_nonstream_ms", def: `600000`,
		binding: to(milliseconds(0), func(t *Timeouts) *time.Duration { return &t.UpstreamTTFBNonstream }),
		doc: "The same for an answer that is not streamed. Its headers come only when the whole answer is ready, so this is much longer. " +
			"0 turns it off.",
	},
	{
		name: "upstream_idle_ms", def: `300000`,
		binding: to(milliseconds(0), func(t *Timeouts) *time.Duration { return &t.UpstreamIdle }),
		doc: "How long the provider may send nothing once its response has begun, streamed or not; pings of shunt's own do not count. Then the " +
			"response ends incomplete, a stream with an `error` event, so that the client can send the request again. 0 turns it off.",
	},
	{
		name: "read_header_ms", def: `10000`, restart: true,
		binding: to(milliseconds(1), func(t *Timeouts) *time.Duration { return &t.ReadHeader }),
		doc:     "How long a client may take to send the headers of a request.",
	},
	{
		name: "read_idle_ms", def: `60000`,
		binding: to(milliseconds(1), func(t *Timeouts) *time.Duration { return &t.ReadIdle }),
		doc: "How long a client may be silent between bytes of a request body. In addition, after 30 seconds, it has to have sent at least 1 kB per " +
			"second on average. A slower one gets 408.",
	},
	{
		name: "write_stall_ms", def: `300000`, restart: true,
		binding: to(milliseconds(0), func(t *Timeouts) *time.Duration { return &t.WriteStall }),
		doc:     "How long a client may read nothing of a response that is being sent to it. Then it is disconnected. 0 turns it off.",
	},
}

const providerDoc = "A backend: one base URL, one protocol, one way to authenticate. A name consists of `a-z`, `0-9`, `_` and `-`.\n\n" +
	"The provider `anthropic` is there without any file, with `base_url = \"https://api.anthropic.com\"` and `auth = \"passthrough\"`. " +
	"A file that sets some of its keys keeps the others."

var providerName = pattern(`[a-z0-9_-]+`, "the name of a provider (a-z, 0-9, _ and -)")

func providerOwner(parent any, name string) (any, bool) {
	c := parent.(*Config)
	if p, ok := c.Provider(name); ok {
		return p, false
	}
	c.Providers = append(c.Providers, Provider{Name: name})
	return &c.Providers[len(c.Providers)-1], true
}

// providers are the elements of the table that Config.Providers come from, if that is the form.
func providers(ordered bool) func(parent any) []element {
	return func(parent any) []element {
		c := parent.(*Config)
		if c.ordered != ordered {
			return nil
		}
		found := make([]element, len(c.Providers))
		for i := range c.Providers {
			found[i] = element{c.Providers[i].Name, &c.Providers[i]}
		}
		return found
	}
}

var providerKeys = []key{
	{
		name: "kind", def: `"anthropic"`,
		binding: to(choice(Anthropic), func(p *Provider) *Kind { return &p.Kind }),
		doc:     "The protocol that the provider speaks.",
	},
	{
		name:    "base_url",
		binding: to(baseURL, func(p *Provider) **url.URL { return &p.BaseURL }),
		doc: "Where the provider is reached; the path and query of each request are appended. Required, except for `anthropic`. " +
			"With `auth = \"claude_oauth\"` it must be `https` to `anthropic.com` or a subdomain of it; only a loopback host (`localhost`, `127.0.0.0/8`, `[::1]`) may be any, and without TLS.",
	},
	{
		name: "auth", def: `"passthrough"`,
		binding: to(choice(Passthrough, APIKey, ClaudeOAuth), func(p *Provider) *Auth { return &p.Auth }),
		doc: "`passthrough` forwards the credentials of the client. `api_key` sends the key in `api_key_env`. " +
			"`claude_oauth` makes the provider a pool: each request goes out with one of its `accounts`.",
	},
	{
		name:    "api_key_env",
		binding: to(variable, func(p *Provider) *string { return &p.APIKeyEnv }),
		doc:     "The name of the environment variable that holds the key. Required with `auth = \"api_key\"`; the variable must be set.",
	},
	{
		name: "api_key_header", def: `"bearer"`,
		binding: to(choice(Bearer, XAPIKey, XGoogAPIKey), func(p *Provider) *KeyHeader { return &p.APIKeyHeader }),
		doc:     "The header that carries the key: `bearer` is `Authorization: Bearer`, `x_api_key` is `x-api-key`, `x_goog_api_key` is `x-goog-api-key`.",
	},
}

const accountDoc = "The accounts of a pool (`auth = \"claude_oauth\"`), in any number. Without any, the pool is every valid file of " +
	"the account store, in file-name order.\n\n" +
	"An account's credential comes from `credentials`, from `token_env` or, with neither, from the entry of its name in the account store: " +
	"`~/.shunt/accounts/claude/<name>.json`, or below `$SHUNT_CLAUDE_ACCOUNTS_DIR` where that is set."

func accountOwner(parent any, _ string) (any, bool) {
	p := parent.(*Provider)
	p.Accounts = append(p.Accounts, Account{})
	return &p.Accounts[len(p.Accounts)-1], true
}

var accountName = pattern(`[a-z0-9-]+`, "a name of the characters a-z, 0-9 and -")

var uuid = pattern(`[A-Za-z0-9-]*`, "a UUID (letters, digits and -)") // blank counts as unknown (ID-1)

var accountKeys = slices.Concat([]key{
	{
		name:    "name",
		binding: to(accountName, func(a *Account) *string { return &a.Name }),
		doc:     "Required, and unique in the provider. It appears in logs and in the header `x-shunt-account`.",
	},
	{
		name:    "credentials",
		binding: to(filePath, func(a *Account) *string { return &a.Credentials }),
		doc:     "A Claude Code credentials file. shunt refreshes the token in it and writes it back.",
	},
	{
		name:    "token_env",
		binding: to(variable, func(a *Account) *string { return &a.TokenEnv }),
		doc:     "The name of the environment variable that holds a setup token. It is used as it is and never refreshed. Set `uuid` as well.",
	},
	{
		name:    "uuid",
		binding: to(uuid, func(a *Account) *string { return &a.UUID }),
		doc:     "The account's UUID, by which shunt knows two entries for the same account. Credentials of the account store carry it themselves.",
	},
	{
		name:    "organization_uuid",
		binding: to(uuid, func(a *Account) *string { return &a.OrganizationUUID }),
		doc:     "The UUID of the account's organization. It matters only if the pool holds one account in two organizations.",
	},
	{
		name: "priority", def: `100`,
		binding: to(whole[int](math.MinInt32, math.MaxInt32, ""), func(a *Account) *int { return &a.Priority }),
		doc:     "Lower is earlier in the order in which a session moves on when its account cannot serve it. It does not decide where a session starts.",
	},
	{
		name: "disabled", def: `false`,
		binding: to(boolean, func(a *Account) *bool { return &a.Disabled }),
		doc:     "Keep the entry but use it for nothing.",
	},
}, fractions(
	"threshold", func(a *Account) *Fractions { return &a.Thresholds },
	"The account counts as nearly used up once it has used this fraction of a quota window, and sessions leave it while others are free. "+
		"Default: what `[server.pool]` says. More than `hard_threshold` has no further effect.",
), fractions(
	"max_utilization", func(a *Account) *Fractions { return &a.MaxUtilization },
	"The account serves nothing at all while this fraction of a quota window is used, not even if no other account is left; the rest is kept for "+
		"whatever else uses it. Default: what `[server.pool]` says, else none.",
))

var logKeys = []key{
	{
		name: "level", def: `"info"`,
		binding: to(logLevel, func(l *Log) *slog.Level { return &l.Level }),
		doc:     "The least level that is logged.",
	},
	{
		name: "format", def: `"auto"`, restart: true,
		binding: to(choice(FormatAuto, FormatText, FormatJSON), func(l *Log) *LogFormat { return &l.Format }),
		doc:     "`auto` is text on a terminal and JSON elsewhere.",
	},
	{
		name:    "requests",
		binding: to(filePath, func(l *Log) *string { return &l.Requests }),
		doc:     "A file to which a record of each request is appended as a line of JSON. Off if it is not set.",
	},
}
