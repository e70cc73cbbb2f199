package config

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"shunt/internal/secret"
)

const accessDoc = "From where shunt may be reached, by IP address. Whoever it turns away is answered 403."

var accessKeys = []key{
	{
		name: "allow_cidrs", def: `[]`, restart: true,
		binding: to(networks, func(a *Access) *[]netip.Prefix { return &a.Allow }),
		doc:     "The networks from which requests are taken. An empty list allows all. `/` and `/health` answer from anywhere that is not denied.",
	},
	{
		name: "deny_cidrs", def: `[]`, restart: true,
		binding: to(networks, func(a *Access) *[]netip.Prefix { return &a.Deny }),
		doc:     "The networks from which nothing is taken. It goes before `allow_cidrs`.",
	},
	{
		name: "trust_forwarded_for", def: `false`, restart: true,
		binding: to(boolean, func(a *Access) *bool { return &a.TrustForwardedFor }),
		doc: "Honor `X-Forwarded-For` and `X-Forwarded-Proto` of the reverse proxies in `trusted_proxies`. The client is the rightmost entry of " +
			"`X-Forwarded-For` that is not a trusted proxy. Others could write any address, so their headers are ignored.",
	},
	{
		name: "trusted_proxies", def: `[]`, restart: true,
		binding: to(networks, func(a *Access) *[]netip.Prefix { return &a.TrustedProxies }),
		doc: "The networks of the reverse proxies in front of shunt, which counts only with `trust_forwarded_for`. A proxy on the same machine, at a " +
			"loopback address, need not be listed.",
	},
}

const clientsDoc = "Tokens of shunt's own for those who may use it. Once the table is there, be it empty, every request that would go out with a credential of shunt's, " +
	"an account or a key, needs one, and so do the lists of models and routes. What the client's own credential pays for (`passthrough`) stays open. " +
	"A token is taken from `header`, from `Authorization: Bearer` or from `x-api-key`; the name of who holds it goes to the log."

var clientKeys = []key{
	{
		name: "header", def: `"x-shunt-token"`,
		binding: to(headerName, func(c *Clients) *string { return &c.Header }),
		doc:     "The header for tokens. It never goes to a provider.",
	},
	{
		name: "tokens_env", def: `"SHUNT_CLIENT_TOKENS"`,
		binding: to(variable, func(c *Clients) *string { return &c.TokensEnv }),
		doc:     "The name of the environment variable that holds the tokens, as `name:token` pairs with commas between them. It must be set. A token should have at least 16 characters.",
	},
}

const adminDoc = "The page and the interface under `/admin`, which without the table are not there. At least one credential is required."

var adminTable = table{
	name: "admin", owner: part(func(s *Server) *Admin { return &s.Admin }), keys: adminKeys, doc: adminDoc,
	presence: func(owner any) *bool { return &owner.(*Admin).Present }, restart: true,
	tables: []table{
		adminKeyTable("read_keys", func(a *Admin) *[]Token { return &a.ReadKeys }, "Keys that may look at everything and change nothing."),
		adminKeyTable("write_keys", func(a *Admin) *[]Token { return &a.WriteKeys }, "Keys that may do whatever a token may."),
	},
}

var adminKeys = []key{
	{
		name: "header", def: `"x-shunt-admin-token"`, restart: true,
		binding: to(headerName, func(a *Admin) *string { return &a.Header }),
		doc:     "The header for tokens and keys, which are taken from `x-api-key` as well. It never goes to a provider.",
	},
	{
		name: "tokens_env", def: `"SHUNT_ADMIN_TOKENS"`, restart: true,
		binding: to(variable, func(a *Admin) *string { return &a.TokensEnv }),
		doc:     "The name of the environment variable that holds the tokens, as `name:token` pairs with commas between them. It need not be set if there is another credential. A token has at least 16 characters.",
	},
	{
		name: "tokens_file", restart: true,
		binding: to(filePath, func(a *Admin) *string { return &a.TokensFile }),
		doc:     "A file that holds tokens, as `name:token` pairs on lines of their own or with commas between them.",
	},
	{
		name: "session_ttl_secs", def: `3600`, restart: true,
		binding: to(duration(1, time.Second, "(seconds)"), func(a *Admin) *time.Duration { return &a.SessionTTL }),
		doc:     "How long a browser stays logged in.",
	},
	{
		name: "pending_ttl_secs", def: `600`, restart: true,
		binding: to(duration(1, time.Second, "(seconds)"), func(a *Admin) *time.Duration { return &a.PendingTTL }),
		doc:     "How long the login of an account that was begun in the browser may take.",
	},
}

func adminKeyTable(name string, list func(*Admin) *[]Token, doc string) table {
	return table{
		name: name, form: listed, doc: doc, keys: adminKeyKeys,
		owner: func(parent any, _ string) (any, bool) {
			tokens := list(parent.(*Admin))
			*tokens = append(*tokens, Token{})
			return &(*tokens)[len(*tokens)-1], true
		},
	}
}

var adminKeyKeys = []key{
	{
		name:    "id",
		binding: to(tokenName, func(t *Token) *string { return &t.Name }),
		doc:     "Required, and unique among the keys and tokens of the table. It appears in logs.",
	},
	{
		name:    "key",
		binding: to(referenced, func(t *Token) *secret.String { return &t.Value }),
		doc:     "Required. The key itself, of at least 32 characters, is kept elsewhere.",
	},
}

const (
	usageDoc = "Its presence opens `GET /usage`, which tells holders of a client token how much of the pools' quota is left, without naming an account. " +
		"It needs `[server.auth]`. It has no keys."
	oauthUsageDoc = "Its presence opens `GET /api/oauth/usage`, from which Claude Code draws its usage bars. On a loopback address it is open; " +
		"elsewhere it needs `[server.auth]` and a client token. It has no keys."
	metricsDoc = "An address of its own for `GET /metrics`, where no credential is asked for. With `[server.admin]` the metrics are at `/metrics` of the gateway, too, " +
		"for whoever presents a credential of that table."
	otelDoc = "Export of traces over OTLP (HTTP): a span for each request, and one in it for each attempt."
)

// switchTable is a table without keys, whose presence alone says something.
func switchTable(name string, field func(*Server) *bool, doc string) table {
	return table{
		name: name, owner: part(field), doc: doc,
		presence: func(owner any) *bool { return owner.(*bool) }, restart: true,
	}
}

var metricsKeys = []key{{
	name: "bind", restart: true,
	binding: to(address, func(m *Metrics) *netip.AddrPort { return &m.Bind }),
	doc:     "Required. The address and port to listen on.",
}}

var otelKeys = []key{
	{
		name: "endpoint", restart: true,
		binding: to(collector, func(o *OTel) **url.URL { return &o.Endpoint }),
		doc:     "Required. Where the collector is reached; `/v1/traces` is appended.",
	},
	{
		name: "service_name", def: `"shunt"`, restart: true,
		binding: to(pattern(`.*\S.*`, "a name"), func(o *OTel) *string { return &o.ServiceName }),
		doc:     "The name under which the spans are exported.",
	},
	{
		name: "sample_ratio", def: `1`, restart: true,
		binding: to(fraction, func(o *OTel) *float64 { return &o.SampleRatio }),
		doc:     "The share of the requests that is traced.",
	},
}

// networks are CIDRs, with what is IPv4 written as IPv4.
var networks = kind[[]netip.Prefix]{
	listShape, `a list of networks, such as ["192.168.0.0/16", "fd00::/8"]`,
	func(n *node, _ base) ([]netip.Prefix, error) {
		list := make([]netip.Prefix, 0, len(n.items))
		for _, item := range n.items {
			p, err := netip.ParsePrefix(item.text)
			if err != nil || item.shape != textShape {
				return nil, errUnexpected
			}
			if mapped := p.Bits() - 96; p.Addr().Is4In6() && mapped >= 0 {
				p = netip.PrefixFrom(p.Addr().Unmap(), mapped)
			}
			list = append(list, p.Masked())
		}
		return list, nil
	},
}

var headerToken = regexp.MustCompile(`^[a-z0-9_-]+$`)

// headerName is the name of a header for tokens, in lower case. Those that have another meaning are no such names.
var headerName = kind[string]{
	textShape, `the name of a header that nothing else uses, such as "x-shunt-token"`,
	func(n *node, _ base) (string, error) {
		name := strings.ToLower(n.text)
		taken := slices.Contains(takenHeaders, name) || strings.HasPrefix(name, "anthropic-") || strings.HasPrefix(name, "x-forwarded-") || strings.Contains(name, "x-api-key") // which Claude Code would take for its own
		if !headerToken.MatchString(name) || taken {
			return "", errUnexpected
		}
		return name, nil
	},
}

var takenHeaders = []string{
	"accept", "accept-encoding", "authorization", "connection", "content-encoding", "content-length", "content-type", "cookie", "expect", "forwarded", "host",
	"origin", "referer", "te", "trailer", "transfer-encoding", "upgrade", "user-agent", "via", "x-api-key", "x-app", "x-claude-code-session-id", "x-csrf-token", "x-real-ip",
}

var tokenName = pattern(tokenNames, "a name of the characters a-z, A-Z, 0-9, ., _, @ and -")

const tokenNames = `[A-Za-z0-9._@-]+`

// shortestKey is how many characters a key of the file has at least (ADM-1).
const shortestKey = 32

// referenced is a key that the file refers to and does not hold.
var referenced = kind[secret.String]{
	textShape, `a reference to where the key is kept, such as "${SHUNT_READ_KEY}" or "${file:/run/secrets/read-key}"`,
	func(n *node, _ base) (secret.String, error) {
		switch {
		case !n.reference:
			return secret.String{}, errUnexpected
		case len(n.text) < shortestKey:
			return secret.String{}, errors.New("refers to a key of fewer than 32 characters; " + longerToken)
		case !headerValue.MatchString(n.text):
			return secret.String{}, errors.New("refers to something with characters that no key has, such as a space or a line break")
		}
		return secret.New(n.text), nil
	},
}

// collector is where traces are sent.
var collector = kind[*url.URL]{textShape, `an http or https URL, such as "http://127.0.0.1:4318"`, func(n *node, from base) (*url.URL, error) {
	u, err := baseURL.parse(n, from)
	if err != nil {
		return nil, errUnexpected
	}
	return u, nil
}}
