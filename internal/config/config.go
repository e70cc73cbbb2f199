// Package config turns one TOML file and the environment into an immutable [Config], or into every problem they have.
//
// The files keys*.go describe each key: how it is written, its default, its meaning, whether it needs a restart. Package
// schema derives the rest from them: strict decoding, environment overrides, suggestions and the reference in docs/. The families of
// accounts are the caller's ([Options]); their modes of authentication, hosts and quota windows become keys and rules.
//
// The package reads the configuration file, the files that it refers to, and nothing else: it opens no account store, reads no
// variable that a token_env names, and uses no network (CFG-46).
//
// A Config is never written to after [Load] returns it and may be shared freely.
package config

import (
	"crypto/sha256"
	"log/slog"
	"net/netip"
	"net/url"
	"time"

	"shunt/internal/config/schema"
	"shunt/internal/hosts"
	"shunt/internal/secret"
)

// Config is one valid configuration. A request keeps the one it began with (CFG-50).
type Config struct {
	// Path is the file as it was named; empty if there was none (CFG-1).
	Path string

	Server    Server
	Providers []Provider // those of [[upstreams]] in their order (CFG-20), or else those of [providers.*] and the built-in one (CFG-11), by name
	Models    []Model    // in the order of the file, as are Routes and Prefixes
	Routes    []Route
	Prefixes  []Prefix
	ModelMaps []ModelMap
	Log       Log
	OTel      OTel

	sum     [sha256.Size]byte // of the file's content, for Watch
	ordered bool              // whether Providers are declared by [[upstreams]]
	schema  *schema.Schema    // which it was decoded with
}

// Server is the table [server].
type Server struct {
	Bind                  netip.AddrPort
	DefaultProviders      []string      // name Config.Providers, in the order in which they are tried
	SSEKeepalive          time.Duration // 0: off
	CommitAfter           time.Duration // after which a translated stream begins (FAM-8); 0: at once, and every pool's stream
	MaxConcurrentRequests int           // 0: no limit
	AllowedHosts          []string      // lower case, without ports
	ShutdownTimeout       time.Duration
	Transport             Transport
	Limits                Limits
	Timeouts              Timeouts
	Pool                  Pool
	Access                Access
	Clients               Clients
	OpenAIEndpoint        OpenAIEndpoint
	Admin                 Admin
	Usage, OAuthUsage     bool // whether the file has [server.usage] and [server.oauth_usage]
	Metrics               Metrics
}

// Transport is what sends clients' requests to providers.
type Transport string

// The transports.
const (
	TransportHTTP1   Transport = "http1"
	TransportNetHTTP Transport = "net/http"
)

// Access is the table [server.access_control].
type Access struct {
	Allow, Deny       []netip.Prefix // IPv4 networks as IPv4
	TrustForwardedFor bool
	TrustedProxies    []netip.Prefix // IPv4 networks as IPv4
}

// Proxies returns the reverse proxies whose forwarding headers are honored.
func (a *Access) Proxies() hosts.Proxies {
	return hosts.Proxies{Trust: a.TrustForwardedFor, Networks: a.TrustedProxies}
}

// Token is one of shunt's own credentials, with the name of its holder.
type Token struct {
	Name  string
	Value secret.String
}

// Clients is the table [server.auth].
type Clients struct {
	Present   bool   // without the table, everything is open
	Header    string // lower case
	TokensEnv string
	Tokens    []Token // at least one if Present, with distinct names
}

// Admin is the table [server.admin].
type Admin struct {
	Present                bool   // without the table, the admin surface is off
	Header                 string // lower case
	TokensEnv              string
	TokensFile             string  // absolute path; empty if not set
	Tokens                 []Token // of both; with the keys at least one if Present; distinct names
	ReadKeys, WriteKeys    []Token
	SessionTTL, PendingTTL time.Duration
}

// OpenAIEndpoint is the table [server.openai_endpoint] (INB-5).
type OpenAIEndpoint struct {
	Present   bool     // without the table, the endpoints do not exist
	Providers []string // name Config.Providers, in the order in which they are tried; at least one if Present
}

// OtherProtocols is the table that opens the gateway to clients of other protocols than Messages.
const OtherProtocols = "[server.openai_endpoint]"

// Defaults returns the providers for models that no route names: for clients of Messages, or for those of other protocols. It
// reports false if the gateway does not serve such clients (INB-5).
func (s *Server) Defaults(messages bool) (providers []string, ok bool) {
	if messages {
		return s.DefaultProviders, true
	}
	return s.OpenAIEndpoint.Providers, s.OpenAIEndpoint.Present
}

// Metrics is the table [server.metrics].
type Metrics struct {
	Present bool
	Bind    netip.AddrPort // set if Present
}

// OTel is the table [otel].
type OTel struct {
	Present     bool
	Endpoint    *url.URL // set if Present; http or https; its path does not end in a slash
	ServiceName string
	SampleRatio float64 // from 0 to 1
}

// Limits is the table [server.limits]. All are positive.
type Limits struct {
	MaxRequestBytes       int64
	MaxRequestHeaderBytes int
	MaxURLLength          int // bytes
}

// Timeouts is the table [server.timeouts].
type Timeouts struct {
	UpstreamTTFB          time.Duration // stream: true; 0: off
	UpstreamTTFBNonstream time.Duration // otherwise; 0: off
	ReadHeader            time.Duration
	ReadIdle              time.Duration // between bytes of a request body
	WriteStall            time.Duration // of a client that does not read its response; 0: off
	UpstreamIdle          time.Duration // between bytes of a response body; 0: off
}

// Pool is the table [server.pool]: how the accounts of every pool are used.
type Pool struct {
	Present bool // whether the file has the table, even if empty: only then do pools order by headroom (SEL-10)

	HardThreshold          float64   // a fraction
	Thresholds             Fractions // soft ones, for accounts that set none (SEL-20)
	MaxUtilization         Fractions // caps, for accounts that set none (CAP-1)
	BurnRateAvoidance      bool
	ReturnHome             ReturnHome
	CacheTTL               time.Duration // how long the provider caches a prompt after its last use (STR-6)
	UsageRefresh           time.Duration // between two polls of an account; 0: off, else at least a minute (QUO-20)
	StatePath              string        // absolute; empty: off
	RampInitialConcurrency int           // 0: off
}

// ReturnHome says when a session that had to leave its home returns to it (STR-6).
type ReturnHome string

// When sessions return home.
const (
	ReturnAlways   ReturnHome = "always"    // as soon as the home is usable
	ReturnWhenCold ReturnHome = "when_cold" // once their prompt cache has expired
)

// Fractions are limits on how much of a quota window may be used, from 0 to 1.
type Fractions struct {
	All     *float64           // for every window without one of its own; nil: not set
	Windows map[string]float64 // by the name of the window ([Window])
}

// Window returns the limit of one window, nil if it has none of its own.
func (f *Fractions) Window(name string) *float64 {
	if value, ok := f.Windows[name]; ok {
		return &value
	}
	return nil
}

func (f *Fractions) set(window string, value float64) {
	if f.Windows == nil {
		f.Windows = map[string]float64{}
	}
	f.Windows[window] = value
}

// Kind is the protocol that a provider speaks.
type Kind string

// The kinds.
const (
	Anthropic Kind = "anthropic" // Messages
	Responses Kind = "responses"
	Chat      Kind = "chat" // Chat completions
	Gemini    Kind = "gemini"
)

// Auth is how requests to a provider are authenticated.
type Auth string

// The ways to authenticate without accounts. Each family has one more, which makes a provider a pool of its accounts.
const (
	Passthrough Auth = "passthrough" // the client's own credentials are forwarded
	APIKey      Auth = "api_key"     // Provider.APIKey in Provider.APIKeyHeader
	None        Auth = "none"        // no credential at all
)

// KeyHeader is the header that carries an API key.
type KeyHeader string

// The headers.
const (
	Bearer      KeyHeader = "bearer"         // Authorization: Bearer KEY
	XAPIKey     KeyHeader = "x_api_key"      // x-api-key: KEY
	XGoogAPIKey KeyHeader = "x_goog_api_key" // x-goog-api-key: KEY
)

// Provider is one table [providers.<name>], or one of [[upstreams]] with the values of its preset.
type Provider struct {
	Name         string
	Preset       string // of an upstream; empty: none
	Kind         Kind
	BaseURL      *url.URL // http or https; its path does not end in a slash; no user info, query or fragment
	Auth         Auth
	Family       string // the name of the family of its accounts; empty: not a pool
	APIKeyEnv    string
	APIKey       secret.String // the value of that variable; set only if Auth is APIKey
	APIKeyHeader KeyHeader
	Headers      []Header  // that are added to each request, by name (FAM-4)
	Accepts      Accepts   // what the vendor accepts, as far as its preset says (FAM-3)
	Accounts     []Account // in the order of the file; empty in a pool means the whole account store (CFG-12, CFG-21)
}

// Header is a line of a header. The name is in canonical form.
type Header struct {
	Name  string
	Value secret.String
}

// Accepts is what a vendor accepts of its protocol. The zero value is cautious.
type Accepts struct {
	Efforts             []string // the levels of effort, lowest first; none: low, medium and high
	Sampling            bool     // temperature and top_p, with the kind responses
	OmitMaxTokens       bool     // it rejects a limit on the length of the response
	MaxOutputTokens     int      // that a response may have; 0: 32,000
	MaxCompletionTokens bool     // the limit of the kind chat is called max_completion_tokens
	ReasoningEffort     bool     // the kind chat has reasoning_effort
	ReturnsReasoning    bool     // the kind chat wants its reasoning back
	WebSearch           bool     // the vendor searches the web by itself
}

// Pool reports whether shunt sends requests to the provider with accounts of a pool.
func (p *Provider) Pool() bool { return p.Family != "" }

// Account returns the entry of that name and true, or the defaults and false for an account that is not listed, such as those
// of a pool of the whole store.
func (p *Provider) Account(name string) (Account, bool) {
	for _, a := range p.Accounts {
		if a.Name == name {
			return a, true
		}
	}
	return unlisted(name), false
}

// Account is one entry of [[providers.<name>.accounts]] or of the accounts of an upstream (CFG-21). Without Credentials and
// TokenEnv, it is the entry of its name in the account store, which need not exist (CFG-23).
type Account struct {
	Name             string
	Credentials      string // absolute path; empty if not set
	TokenEnv         string // name of a variable; empty if not set
	UUID             string // empty: unknown
	OrganizationUUID string // empty: unknown
	Priority         int    // lower first
	Disabled         bool
	Thresholds       Fractions // soft ones (SEL-20)
	MaxUtilization   Fractions // caps (CAP-1)
}

// defaultPriority is the priority of an account that sets none (CFG-12).
const defaultPriority = 100

func unlisted(name string) Account { return Account{Name: name, Priority: defaultPriority} }

// Log is the table [log].
type Log struct {
	Level    slog.Level
	Format   LogFormat
	Requests string // absolute path of the request log; empty: off
}

// LogFormat is how log lines are written.
type LogFormat string

// The formats.
const (
	FormatAuto LogFormat = "auto" // text on a terminal, else JSON
	FormatText LogFormat = "text"
	FormatJSON LogFormat = "json"
)

// Provider returns the provider of that name.
func (c *Config) Provider(name string) (*Provider, bool) {
	for i := range c.Providers {
		if c.Providers[i].Name == name {
			return &c.Providers[i], true
		}
	}
	return nil, false
}
