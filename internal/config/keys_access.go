package config

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"shunt/internal/config/schema"
	"shunt/internal/secret"
)

const accessDoc = "Which IP addresses may use shunt. Requests from others get 403."

var accessKeys = []schema.Key{
	{
		Name: "allow_cidrs", Default: `[]`, Restart: true,
		Binding: schema.Bind(networks, func(a *Access) *[]netip.Prefix { return &a.Allow }),
		Doc:     "The networks from which requests are accepted. An empty list allows all. `/` and `/health` can be reached from anywhere that is not denied.",
	},
	{
		Name: "deny_cidrs", Default: `[]`, Restart: true,
		Binding: schema.Bind(networks, func(a *Access) *[]netip.Prefix { return &a.Deny }),
		Doc:     "The networks from which requests are refused. It takes precedence over `allow_cidrs`.",
	},
	{
		Name: "trust_forwarded_for", Default: `false`, Restart: true,
		Binding: schema.Bind(schema.Boolean, func(a *Access) *bool { return &a.TrustForwardedFor }),
		Doc: "Honor `X-Forwarded-For` and `X-Forwarded-Proto` from the reverse proxies in `trusted_proxies`. The client is the rightmost entry of " +
			"`X-Forwarded-For` that is not a trusted proxy. From other senders these headers are ignored, because they could name any address.",
	},
	{
		Name: "trusted_proxies", Default: `[]`, Restart: true,
		Binding: schema.Bind(networks, func(a *Access) *[]netip.Prefix { return &a.TrustedProxies }),
		Doc: "The networks of the reverse proxies in front of shunt. It has an effect only with `trust_forwarded_for`. A proxy at a " +
			"loopback address need not be listed.",
	},
}

const clientsDoc = "Tokens for the clients of shunt. With this table, even if empty, a request needs a token if shunt would send it with one of its own credentials, " +
	"an account or a key, and so do requests for the lists of models and routes. Requests that use the client's own credential (`passthrough`) need none. " +
	"A token is read from `header`, from `Authorization: Bearer` or from `x-api-key`; its name appears in the log."

var clientKeys = []schema.Key{
	{
		Name: "header", Default: `"x-shunt-token"`,
		Binding: schema.Bind(headerName, func(c *Clients) *string { return &c.Header }),
		Doc:     "The header for tokens. It is never sent to a provider.",
	},
	{
		Name: "tokens_env", Default: `"SHUNT_CLIENT_TOKENS"`,
		Binding: schema.Bind(schema.Variable, func(c *Clients) *string { return &c.TokensEnv }),
		Doc:     "The name of the environment variable that holds the tokens, as `name:token` pairs separated by commas. It must be set. A token should have at least 16 characters.",
	},
}

const adminDoc = "The web page and the API under `/admin`, which do not exist without the table. At least one credential is required."

var adminTable = schema.Table{
	Name: "admin", Owner: schema.Part(func(s *Server) *Admin { return &s.Admin }), Keys: adminKeys, Doc: adminDoc,
	Presence: func(owner any) *bool { return &owner.(*Admin).Present }, Restart: true,
	Tables: []schema.Table{
		adminKeyTable("read_keys", func(a *Admin) *[]Token { return &a.ReadKeys }, "Keys that can read everything and change nothing."),
		adminKeyTable("write_keys", func(a *Admin) *[]Token { return &a.WriteKeys }, "Keys that can do everything a token can."),
	},
}

var adminKeys = []schema.Key{
	{
		Name: "header", Default: `"x-shunt-admin-token"`, Restart: true,
		Binding: schema.Bind(headerName, func(a *Admin) *string { return &a.Header }),
		Doc:     "The header for tokens and keys, which are also read from `x-api-key`. It is never sent to a provider.",
	},
	{
		Name: "tokens_env", Default: `"SHUNT_ADMIN_TOKENS"`, Restart: true,
		Binding: schema.Bind(schema.Variable, func(a *Admin) *string { return &a.TokensEnv }),
		Doc:     "The name of the environment variable that holds the tokens, as `name:token` pairs separated by commas. It need not be set if there is another credential. A token needs at least 16 characters.",
	},
	{
		Name: "tokens_file", Restart: true,
		Binding: schema.Bind(schema.Path, func(a *Admin) *string { return &a.TokensFile }),
		Doc:     "A file that holds tokens, as `name:token` pairs, one per line or separated by commas.",
	},
	{
		Name: "session_ttl_secs", Default: `3600`, Restart: true,
		Binding: schema.Bind(schema.Duration(1, time.Second, "(seconds)"), func(a *Admin) *time.Duration { return &a.SessionTTL }),
		Doc:     "How long a browser stays logged in.",
	},
	{
		Name: "pending_ttl_secs", Default: `600`, Restart: true,
		Binding: schema.Bind(schema.Duration(1, time.Second, "(seconds)"), func(a *Admin) *time.Duration { return &a.PendingTTL }),
		Doc:     "How long the login of an account may take once it has been started in the browser.",
	},
}

func adminKeyTable(name string, list func(*Admin) *[]Token, doc string) schema.Table {
	return schema.Table{
		Name: name, Form: schema.Listed, Doc: doc, Keys: adminKeyKeys,
		Owner: func(parent any, _ string) (any, bool) {
			tokens := list(parent.(*Admin))
			*tokens = append(*tokens, Token{})
			return &(*tokens)[len(*tokens)-1], true
		},
	}
}

var adminKeyKeys = []schema.Key{
	{
		Name:    "id",
		Binding: schema.Bind(tokenName, func(t *Token) *string { return &t.Name }),
		Doc:     "Required and unique among the keys and tokens of the table. It appears in logs.",
	},
	{
		Name:    "key",
		Binding: schema.Bind(referenced, func(t *Token) *secret.String { return &t.Value }),
		Doc:     "Required. A reference to the key, which has at least 32 characters.",
	},
}

const (
	usageDoc = "Opens `GET /usage`, which shows holders of a client token how much of the pools' quota is left, without naming accounts. " +
		"It requires `[server.auth]`. The table has no keys."
	oauthUsageDoc = "Opens `GET /api/oauth/usage`, from which Claude Code draws its usage bars. On a loopback address it needs no token; " +
		"elsewhere it requires `[server.auth]` and a client token. The table has no keys."
	metricsDoc = "A separate address for `GET /metrics`, which needs no credential. With `[server.admin]` the metrics are also at `/metrics` of the gateway, " +
		"for requests with a credential of that table."
	otelDoc = "Export of traces over OTLP (HTTP): one span for each request, with a child span for each attempt."
)

// switchTable returns a table without keys, of which only the presence counts.
func switchTable(name string, field func(*Server) *bool, doc string) schema.Table {
	return schema.Table{
		Name: name, Owner: schema.Part(field), Doc: doc,
		Presence: func(owner any) *bool { return owner.(*bool) }, Restart: true,
	}
}

var metricsKeys = []schema.Key{{
	Name: "bind", Restart: true,
	Binding: schema.Bind(address, func(m *Metrics) *netip.AddrPort { return &m.Bind }),
	Doc:     "Required. The address and port to listen on.",
}}

var otelKeys = []schema.Key{
	{
		Name: "endpoint", Restart: true,
		Binding: schema.Bind(collector, func(o *OTel) **url.URL { return &o.Endpoint }),
		Doc:     "Required. The URL of the collector, to which `/v1/traces` is appended.",
	},
	{
		Name: "service_name", Default: `"shunt"`, Restart: true,
		Binding: schema.Bind(schema.Pattern(`.*\S.*`, "a name"), func(o *OTel) *string { return &o.ServiceName }),
		Doc:     "The name under which the spans are exported.",
	},
	{
		Name: "sample_ratio", Default: `1`, Restart: true,
		Binding: schema.Bind(fraction, func(o *OTel) *float64 { return &o.SampleRatio }),
		Doc:     "The fraction of requests to trace.",
	},
}

var headerToken = regexp.MustCompile(`^[a-z0-9_-]+$`)

// headerName is the name of a header for tokens, in lower case. A header with another meaning is not allowed.
var headerName = schema.Text(`the name of a header that nothing else uses, such as "x-shunt-token"`, func(text string, _ schema.Base) (string, error) {
	name := strings.ToLower(text)
	taken := slices.Contains(takenHeaders, name) || strings.HasPrefix(name, "anthropic-") || strings.HasPrefix(name, "x-forwarded-") ||
		strings.Contains(name, "x-api-key") // which Claude Code would take for its own
	if !headerToken.MatchString(name) || taken {
		return "", schema.ErrUnexpected
	}
	return name, nil
})

var takenHeaders = []string{
	"accept", "accept-encoding", "authorization", "connection", "content-encoding", "content-length", "content-type", "cookie", "expect", "forwarded", "host",
	"origin", "referer", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "via", "x-api-key", "x-app", "x-claude-code-session-id", "x-csrf-token", "x-real-ip",
}

var tokenName = schema.Pattern(tokenNames, "a name of the characters a-z, A-Z, 0-9, ., _, @ and -")

const tokenNames = `[A-Za-z0-9._@-]+`

// shortestKey is the minimum length of a key (ADM-1).
const shortestKey = 32

const referencedKey = `a reference to where the key is kept, such as "${SHUNT_READ_KEY}" or "${file:/run/secrets/read-key}"`

// referenced is a key that the file refers to and does not hold.
var referenced = schema.Reference(referencedKey, func(value string) (secret.String, error) {
	switch {
	case len(value) < shortestKey:
		return secret.String{}, errors.New("refers to a key of fewer than 32 characters; " + longerToken)
	case !headerValue.MatchString(value):
		return secret.String{}, errors.New("refers to a value with characters that no key has, such as a space or a line break")
	}
	return secret.New(value), nil
})

// collector is where traces are sent.
var collector = schema.Text(`an http or https URL, such as "http://127.0.0.1:4318"`, func(text string, from schema.Base) (*url.URL, error) {
	u, err := parseBaseURL(text, from)
	if err != nil {
		return nil, schema.ErrUnexpected
	}
	return u, nil
})
