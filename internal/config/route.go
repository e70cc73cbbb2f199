package config

import "strings"

// Model is one entry of [[models]]: a model that clients are told of and, if it has upstreams, where its requests go.
type Model struct {
	ID          string
	DisplayName string   // empty: none
	Upstreams   []Target // in the order of Config.Providers; empty: the entry only lists the model, and routes decide
}

// Target is a model at an upstream.
type Target struct {
	Upstream string // names one of Config.Providers
	Model    string // as that upstream calls it
}

// Route is one entry of [[routes]].
type Route struct {
	Model         string
	Provider      string // names one of Config.Providers
	UpstreamModel string // empty: the model unchanged
}

// Prefix is one entry of [[route_prefixes]]: where models go whose names begin so.
type Prefix struct {
	Prefix   string
	Provider string // names one of Config.Providers
}

// Route says where requests for a model go, as the client names it (RTE-1): its mapping, else the first of the routes that is for
// exactly this model, else the first of the prefixes that it begins with, else the default provider. There is always a first
// target; it is the one that counts tokens (RTE-4). More than one is a chain, to be tried in order (CHN-1). The answer is the
// configuration's own and must not be written to.
//
// The long-context mark of the client's is taken off first, so a target's model is empty if the client's was nothing else.
func (c *Config) Route(model string) []Target {
	targets, _ := c.RouteBy(model)
	return targets
}

// RouteBy is Route, and names the key of the configuration that decides: models, routes, route_prefixes or
// server.default_provider.
func (c *Config) RouteBy(model string) (targets []Target, key string) {
	model = unmarked(model)
	for i := range c.Models {
		if m := &c.Models[i]; m.ID == model && len(m.Upstreams) > 0 {
			return m.Upstreams, "models"
		}
	}
	for _, r := range c.Routes {
		if r.Model != model {
			continue
		}
		if r.UpstreamModel != "" {
			model = r.UpstreamModel
		}
		return []Target{{r.Provider, model}}, "routes"
	}
	for _, p := range c.Prefixes {
		if strings.HasPrefix(model, p.Prefix) {
			return []Target{{p.Provider, model}}, "route_prefixes"
		}
	}
	return []Target{{c.Server.DefaultProvider, model}}, "server.default_provider"
}

// unmarked is a model without the mark by which Claude Code asks for a long context. No upstream knows it.
func unmarked(model string) string {
	for _, mark := range []string{"[1m]", "[1M]"} {
		if bare, ok := strings.CutSuffix(model, mark); ok {
			return bare
		}
	}
	return model
}
