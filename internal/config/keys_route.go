package config

import "shunt/internal/config/schema"

const modelDoc = "Models that `GET /v1/models` lists before all others and, where they have `upstream_model`, where their requests go. Such a mapping goes before " +
	"`[[routes]]` and `[[route_prefixes]]`, and those before `default_provider`. A model without it is only listed."

// modelTable is [[models]] (CFG-30).
var modelTable = schema.Table{
	Name: "models", Form: schema.Listed, Owner: modelOwner, Keys: modelKeys, Doc: modelDoc,
	Tables: []schema.Table{{
		Name: "upstream_model", Owner: schema.Part(func(m *Model) *Model { return m }), Any: &targetKey, Join: targetOwner, Doc: targetDoc,
	}},
}

func modelOwner(parent any, _ string) (any, bool) {
	c := parent.(*Config)
	c.Models = append(c.Models, Model{})
	return &c.Models[len(c.Models)-1], true
}

// modelName is how a client or an upstream calls a model.
var modelName = notBlank("the name of a model")

var modelKeys = []schema.Key{
	{
		Name:    "id",
		Binding: schema.Bind(modelName, func(m *Model) *string { return &m.ID }),
		Doc: "Required: the model as clients call it. Letter case counts. A `[1m]` or `[1M]` at the end of a requested model asks for a long context; it is " +
			"taken off before shunt looks for the model here or in a route.",
	},
	{
		Name:    "display_name",
		Binding: schema.Bind(schema.Pattern(`.*`, "a name to show, in one line"), func(m *Model) *string { return &m.DisplayName }),
		Doc:     "What clients may show instead of the id. Default: the id.",
	},
}

const targetDoc = "What each upstream or provider calls the model. With `[[upstreams]]` there may be several: they are tried in the order of the `[[upstreams]]`, the next " +
	"when one is out of quota or fails before it answers. With `[providers.<name>]` there is exactly one."

var targetKey = schema.Key{
	Name:    "<name>",
	Binding: schema.Bind(modelName, func(t *Target) *string { return &t.Model }),
	Doc:     "The name of an upstream or provider, and the model that it is asked for.",
}

func targetOwner(owner any, name string) any {
	m := owner.(*Model)
	m.Upstreams = append(m.Upstreams, Target{Upstream: name})
	return &m.Upstreams[len(m.Upstreams)-1]
}

const routeDoc = "Where requests for single models go."

func routeOwner(parent any, _ string) (any, bool) {
	c := parent.(*Config)
	c.Routes = append(c.Routes, Route{})
	return &c.Routes[len(c.Routes)-1], true
}

var routeKeys = []schema.Key{
	{
		Name:    "model",
		Binding: schema.Bind(modelName, func(r *Route) *string { return &r.Model }),
		Doc:     "Required: the model as clients call it.",
	},
	{
		Name:    "provider",
		Binding: schema.Bind(providerName, func(r *Route) *string { return &r.Provider }),
		Doc:     "Required: the provider or upstream that serves it.",
	},
	{
		Name:    "upstream_model",
		Binding: schema.Bind(modelName, func(r *Route) *string { return &r.UpstreamModel }),
		Doc:     "The model to ask for there. Answers show the client the name that it used. Default: the same.",
	},
}

const prefixDoc = "Where requests for all models go whose names begin alike. Of several that fit, the first counts."

func prefixOwner(parent any, _ string) (any, bool) {
	c := parent.(*Config)
	c.Prefixes = append(c.Prefixes, Prefix{})
	return &c.Prefixes[len(c.Prefixes)-1], true
}

var prefixKeys = []schema.Key{
	{
		Name:    "prefix",
		Binding: schema.Bind(notBlank("the beginning of models' names"), func(p *Prefix) *string { return &p.Prefix }),
		Doc:     "Required: how the models' names begin.",
	},
	{
		Name:    "provider",
		Binding: schema.Bind(providerName, func(p *Prefix) *string { return &p.Provider }),
		Doc:     "Required: the provider or upstream that serves them, under the names that the client uses.",
	},
}
