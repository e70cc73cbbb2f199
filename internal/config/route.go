package config

import (
	"slices"
	"strings"
)

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

// ModelMap is [model_map.<name>]: the names of models at a provider.
type ModelMap struct {
	Provider string // names one of Config.Providers
	Names    []ModelName
}

// ModelName is the name of a model, or of all models that begin with what precedes a star, at a provider.
type ModelName struct{ Pattern, Model string }

// name returns a model's name at the provider. It reports false if the map lacks the model.
func (m *ModelMap) name(model string) (name string, ok bool) {
	longest := -1
	for _, n := range m.Names {
		prefix, isPrefix := strings.CutSuffix(n.Pattern, "*")
		switch {
		case n.Pattern == model:
			return n.Model, true
		case isPrefix && strings.HasPrefix(model, prefix) && len(prefix) > longest:
			name, longest = n.Model, len(prefix)
		}
	}
	return name, longest >= 0
}

// Route returns where requests go for a model, as the client names it (RTE-1): to its mapping, else to the first route for exactly
// this model, else to the first prefix that it begins with, else to the default providers, which are those of the server or of an
// endpoint. There is always a first target, which counts tokens (RTE-4). Several targets are a chain, to be tried in order (CHN-1).
// The caller must not change the result.
//
// Route first removes the client's long-context mark, so a target's model is empty if the client's was only that.
func (c *Config) Route(model string, defaults []string) []Target {
	targets, _ := c.RouteBy(model, defaults)
	return targets
}

// RouteBy is Route, and also returns the key of the configuration that decides: models, routes, route_prefixes or
// server.default_provider, which stands for all defaults.
func (c *Config) RouteBy(model string, defaults []string) (targets []Target, key string) {
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
	return c.defaultTargets(model, defaults), "server.default_provider"
}

// defaultTargets returns the default providers with a model's name at each. The first has every model; another one has those of
// its map or, if it has none, those of the first if that is of the same kind.
func (c *Config) defaultTargets(model string, defaults []string) []Target {
	targets := make([]Target, 0, len(defaults))
	first, _ := c.Provider(defaults[0])
	for i, provider := range defaults {
		name, mapped := c.modelAt(provider, model)
		if p, _ := c.Provider(provider); i > 0 && !mapped && (c.hasMap(provider) || p.Kind != first.Kind) {
			continue
		}
		targets = append(targets, Target{provider, name})
	}
	return targets
}

// modelAt returns the name of a model at a provider, and whether it comes from a map.
func (c *Config) modelAt(provider, model string) (name string, mapped bool) {
	for i := range c.ModelMaps {
		if m := &c.ModelMaps[i]; m.Provider == provider {
			if name, ok := m.name(model); ok {
				return name, true
			}
		}
	}
	return model, false
}

func (c *Config) hasMap(provider string) bool {
	return slices.ContainsFunc(c.ModelMaps, func(m ModelMap) bool { return m.Provider == provider })
}

// ModelNames returns the names of models that the configuration knows, in its order and without repeating any.
func (c *Config) ModelNames() (names []string) {
	add := func(name string) {
		if !strings.HasSuffix(name, "*") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i := range c.Models {
		add(c.Models[i].ID)
	}
	for i := range c.Routes {
		add(c.Routes[i].Model)
	}
	for i := range c.ModelMaps {
		for _, n := range c.ModelMaps[i].Names {
			add(n.Pattern)
		}
	}
	return names
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
