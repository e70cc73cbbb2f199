package config

import (
	"log/slog"
	"math"
	"net/netip"
	"time"

	"shunt/internal/config/schema"
)

// builtin is the configuration without a file (CFG-11). It is decoded before the file, like a file.
const builtin = `
[providers.anthropic]
base_url = "https://api.anthropic.com"
`

// newSchema describes the whole file.
func newSchema(fs families) *schema.Schema {
	return &schema.Schema{Prefix: "SHUNT_", Root: schema.Table{Tables: []schema.Table{
		{Name: "server", Owner: schema.Part(func(c *Config) *Server { return &c.Server }), Keys: serverKeys, Tables: []schema.Table{
			{
				Name: "limits", Owner: schema.Part(func(s *Server) *Limits { return &s.Limits }), Keys: limitKeys,
				Doc: "How large a request may be.",
			},
			{Name: "timeouts", Owner: schema.Part(func(s *Server) *Timeouts { return &s.Timeouts }), Keys: timeoutKeys},
			{Name: "pool", Owner: schema.Part(func(s *Server) *Pool { return &s.Pool }), Keys: poolKeys(fs), Doc: poolDoc, Presence: func(owner any) *bool { return &owner.(*Pool).Present }},
			{Name: "access_control", Owner: schema.Part(func(s *Server) *Access { return &s.Access }), Keys: accessKeys, Doc: accessDoc},
			{
				Name: "auth", Owner: schema.Part(func(s *Server) *Clients { return &s.Clients }), Keys: clientKeys, Doc: clientsDoc,
				Presence: func(owner any) *bool { return &owner.(*Clients).Present },
			},
			adminTable,
			{
				Name: "openai_endpoint", Owner: schema.Part(func(s *Server) *OpenAIEndpoint { return &s.OpenAIEndpoint }), Keys: openAIKeys, Doc: openAIDoc,
				Presence: func(owner any) *bool { return &owner.(*OpenAIEndpoint).Present },
			},
			switchTable("usage", func(s *Server) *bool { return &s.Usage }, usageDoc),
			switchTable("oauth_usage", func(s *Server) *bool { return &s.OAuthUsage }, oauthUsageDoc),
			{
				Name: "metrics", Owner: schema.Part(func(s *Server) *Metrics { return &s.Metrics }), Keys: metricsKeys, Doc: metricsDoc,
				Presence: func(owner any) *bool { return &owner.(*Metrics).Present }, Restart: true,
			},
		}},
		{Name: "providers", Form: schema.Named, Owner: providerOwner, Names: providerName, Elements: providers(false), Keys: providerKeys(fs), Doc: providerDoc, Tables: []schema.Table{
			{Name: "accounts", Form: schema.Listed, Owner: accountOwner, Keys: accountKeys(fs), Doc: accountDoc(fs)},
			headerTable,
		}},
		upstreamTable(fs),
		modelTable,
		{Name: "routes", Form: schema.Listed, Owner: routeOwner, Keys: routeKeys, Doc: routeDoc},
		{Name: "route_prefixes", Form: schema.Listed, Owner: prefixOwner, Keys: prefixKeys, Doc: prefixDoc},
		modelMapTable,
		{Name: "log", Owner: schema.Part(func(c *Config) *Log { return &c.Log }), Keys: logKeys},
		{
			Name: "otel", Owner: schema.Part(func(c *Config) *OTel { return &c.OTel }), Keys: otelKeys, Doc: otelDoc,
			Presence: func(owner any) *bool { return &owner.(*OTel).Present }, Restart: true,
		},
	}}}
}

var serverKeys = []schema.Key{
	{
		Name: "bind", Default: `"127.0.0.1:3001"`, Restart: true,
		Binding: schema.Bind(address, func(s *Server) *netip.AddrPort { return &s.Bind }),
		Doc:     "The address and port to listen on.",
	},
	{
		Name: "default_provider", Default: `"anthropic"`,
		Binding: schema.Bind(providerNames, func(s *Server) *[]string { return &s.DefaultProviders }),
		Doc: "The provider for every model that no route sends elsewhere. With a list, such as `[\"claude\", \"chatgpt\"]`, shunt tries the providers " +
			"in that order, and goes to the next when one is out of quota or fails before it responds; `[model_map.<name>]` gives the models' names there.",
	},
	{
		Name: "sse_keepalive_seconds", Default: `15`,
		Binding: schema.Bind(seconds(), func(s *Server) *time.Duration { return &s.SSEKeepalive }),
		Doc:     "How long a stream may be silent before shunt inserts a ping. 0 turns pings off.",
	},
	{
		Name: "commit_after_seconds", Default: `20`,
		Binding: schema.Bind(seconds(), func(s *Server) *time.Duration { return &s.CommitAfter }),
		Doc: "After this time, a client whose streamed request is translated gets the head of its response and pings, while shunt goes on trying accounts " +
			"and providers. Until then it gets nothing before the first piece of content, so that an error keeps its status. 0 sends the head as soon as " +
			"the request is sent, and for every pool's streams.",
	},
	{
		Name: "max_concurrent_requests", Default: `1024`, Restart: true,
		Binding: schema.Bind(schema.Whole[int](0, math.MaxInt32, ""), func(s *Server) *int { return &s.MaxConcurrentRequests }),
		Doc: "How many inference requests may be in flight, each until its response has ended. Further requests get 503 with `retry-after: 1`. " +
			"0 means no limit. With `[server.auth]`, a request without a token counts only until it is refused, and such requests take at most a tenth of the places.",
	},
	{
		Name: "transport", Default: `"http1"`, Restart: true,
		Binding: schema.Bind(schema.Choice(TransportHTTP1, TransportNetHTTP), func(s *Server) *Transport { return &s.Transport }),
		Doc: "What sends requests to providers: `http1` is shunt's own implementation, which costs least; `net/http` is the Go standard " +
			"library's, which opens a connection for each request. Switch to it if something between shunt and a provider does not work with `http1`.",
	},
	{
		Name: "allowed_hosts", Default: `[]`,
		Binding: schema.Bind(hostNames, func(s *Server) *[]string { return &s.AllowedHosts }),
		Doc: "Host names, besides those of the loopback interface, that requests may use while `bind` is a loopback address, such as the name that " +
			"a local reverse proxy forwards. Requests for other names are refused, so that web pages cannot reach shunt by DNS rebinding.",
	},
	{
		Name: "shutdown_timeout_seconds", Default: `30`,
		Binding: schema.Bind(seconds(), func(s *Server) *time.Duration { return &s.ShutdownTimeout }),
		Doc:     "How long open streams have to finish after SIGTERM or SIGINT.",
	},
}

var limitKeys = []schema.Key{
	{
		Name: "max_request_bytes", Default: `33554432`,
		Binding: schema.Bind(schema.Whole[int64](1, 1<<40, "(bytes)"), func(l *Limits) *int64 { return &l.MaxRequestBytes }),
		Doc:     "The largest request body. A request with a larger one gets 413.",
	},
	{
		Name: "max_request_header_bytes", Default: `65536`, Restart: true,
		Binding: schema.Bind(schema.Whole[int](1, math.MaxInt32, "(bytes)"), func(l *Limits) *int { return &l.MaxRequestHeaderBytes }),
		Doc:     "The largest set of request headers. A request with a larger one gets 431.",
	},
	{
		Name: "max_url_length", Default: `8192`, Restart: true,
		Binding: schema.Bind(schema.Whole[int](1, math.MaxInt32, "(bytes)"), func(l *Limits) *int { return &l.MaxURLLength }),
		Doc:     "The longest path and query. A request with a longer one gets 414.",
	},
}

var timeoutKeys = []schema.Key{
	{
		Name: "upstream_ttfb_ms", Default: `120000`,
		Binding: schema.Bind(milliseconds(0), func(t *Timeouts) *time.Duration { return &t.UpstreamTTFB }),
		Doc:     "How long the provider may take to send the headers of a streamed response. 0 turns the timeout off.",
	},
	{
		Name: "upstream_ttfb_nonstream_ms", Default: `600000`,
		Binding: schema.Bind(milliseconds(0), func(t *Timeouts) *time.Duration { return &t.UpstreamTTFBNonstream }),
		Doc: "The same for a response that is not streamed. Its headers arrive only when the whole response is complete, so this is much longer. " +
			"0 turns the timeout off.",
	},
	{
		Name: "upstream_idle_ms", Default: `300000`,
		Binding: schema.Bind(milliseconds(0), func(t *Timeouts) *time.Duration { return &t.UpstreamIdle }),
		Doc: "How long the provider may send nothing once its response has begun, streamed or not; shunt's own pings do not count. After that, " +
			"shunt aborts the response, a stream with an `error` event, so that the client can send the request again. 0 turns the timeout off.",
	},
	{
		Name: "read_header_ms", Default: `10000`, Restart: true,
		Binding: schema.Bind(milliseconds(1), func(t *Timeouts) *time.Duration { return &t.ReadHeader }),
		Doc:     "How long a client may take to send the headers of a request.",
	},
	{
		Name: "read_idle_ms", Default: `60000`,
		Binding: schema.Bind(milliseconds(1), func(t *Timeouts) *time.Duration { return &t.ReadIdle }),
		Doc: "How long a client may pause between bytes of a request body. After 30 seconds it must also have sent at least 1 kB per " +
			"second on average. A slower client gets 408.",
	},
	{
		Name: "write_stall_ms", Default: `300000`, Restart: true,
		Binding: schema.Bind(milliseconds(0), func(t *Timeouts) *time.Duration { return &t.WriteStall }),
		Doc:     "How long a client may read nothing of a response that is being sent to it before it is disconnected. 0 turns the timeout off.",
	},
}

var logKeys = []schema.Key{
	{
		Name: "level", Default: `"info"`,
		Binding: schema.Bind(logLevel, func(l *Log) *slog.Level { return &l.Level }),
		Doc:     "The lowest level that is logged.",
	},
	{
		Name: "format", Default: `"auto"`, Restart: true,
		Binding: schema.Bind(schema.Choice(FormatAuto, FormatText, FormatJSON), func(l *Log) *LogFormat { return &l.Format }),
		Doc:     "`auto` is text on a terminal and JSON elsewhere.",
	},
	{
		Name:    "requests",
		Binding: schema.Bind(schema.Path, func(l *Log) *string { return &l.Requests }),
		Doc:     "A file to which shunt appends a record of each request as a line of JSON. Off if not set.",
	},
}
