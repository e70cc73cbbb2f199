package config

import "strings"

// Model is one entry of [[models]]: a model that shunt lists and, if it has upstreams, where requests for it go.
type Model struct {
	ID          string
	DisplayName string   // empty: none
	Upstreams   []Target // in the order of Config.Providers; empty: the entry only lists the model, and routes decide
}

// Target is a model at an upstream.
type Target struct {
	Upstream string // names one of Config.Providers
	Model    string // its name there
}

// Route is one entry of [[routes]].
type Route struct {
	Model         string
	Provider      string // names one of Config.Providers
	UpstreamModel string // empty: the model unchanged
}

// Prefix is one entry of [[route_prefixes]]: where requests for models with this prefix go.
type Prefix struct {
	Prefix   string
	Provider string // names one of Config.Providers
}

// Route returns where requests go for a model, as the client names it (RTE-1): to its mapping, else to the first route for exactly
// this model, else to the first prefix that it begins with, else to the default provider. There is always a first target, which
// counts tokens (RTE-4). Several targets are a chain, to be tried in order (CHN-1). The caller must not change the result.
//
// Route first removes the client's long-context mark, so a target's model is empty if the client's was only that.
func (c *Config) Route(model string) []Target {
	targets, _ := c.RouteBy(model)
	return targets
}

// RouteBy is Route, and also returns the key of the configuration that decides: models, routes, route_prefixes or
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

// unmarked returns a model without the mark with which Claude Code requests a long context. No upstream knows the mark.
func unmarked(model string) string {
	for _, mark := range []string{"[1m]", "[1M]"} {
		if bare, ok := strings.CutSuffix(model, mark); ok {
			return bare
		}
	}
	return model
}
