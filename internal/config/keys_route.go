package config

import "shunt/internal/config/schema"

const modelDoc = "Models that `GET /v1/models` lists before all others. With `upstream_model`, an entry also decides where requests for the model go; it takes precedence over " +
	"`[[routes]]`, `[[route_prefixes]]` and `default_provider`, in this order. Without it, the model is only listed."

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

// modelName is the name of a model at a client or an upstream.
var modelName = notBlank("the name of a model")

var modelKeys = []schema.Key{
	{
		Name:    "id",
		Binding: schema.Bind(modelName, func(m *Model) *string { return &m.ID }),
		Doc: "Required: the model's name for clients, in which case matters. A `[1m]` or `[1M]` at the end of a requested model requests a long context; shunt " +
			"removes it before it looks for the model here or in a route.",
	},
	{
		Name:    "display_name",
		Binding: schema.Bind(schema.Pattern(`.*`, "a name to show, in one line"), func(m *Model) *string { return &m.DisplayName }),
		Doc:     "The name that clients may show instead of the id. Default: the id.",
	},
}

const targetDoc = "The model's name at each upstream or provider. With `[[upstreams]]` there may be several: shunt tries them in the order of the `[[upstreams]]`, and goes to the next " +
	"when one is out of quota or fails before it responds. With `[providers.<name>]` there is exactly one."

var targetKey = schema.Key{
	Name:    "<name>",
	Binding: schema.Bind(modelName, func(t *Target) *string { return &t.Model }),
	Doc:     "The name of an upstream or provider, and the model to request there.",
}

func targetOwner(owner any, name string) any {
	m := owner.(*Model)
	m.Upstreams = append(m.Upstreams, Target{Upstream: name})
	return &m.Upstreams[len(m.Upstreams)-1]
}

const routeDoc = "Where requests for individual models go."

func routeOwner(parent any, _ string) (any, bool) {
	c := parent.(*Config)
	c.Routes = append(c.Routes, Route{})
	return &c.Routes[len(c.Routes)-1], true
}

var routeKeys = []schema.Key{
	{
		Name:    "model",
		Binding: schema.Bind(modelName, func(r *Route) *string { return &r.Model }),
		Doc:     "Required: the model's name for clients.",
	},
	{
		Name:    "provider",
		Binding: schema.Bind(providerName, func(r *Route) *string { return &r.Provider }),
		Doc:     "Required: the provider or upstream that serves it.",
	},
	{
		Name:    "upstream_model",
		Binding: schema.Bind(modelName, func(r *Route) *string { return &r.UpstreamModel }),
		Doc:     "The model to request there. Responses show the client the name that it used. Default: the same name.",
	},
}

const modelMapDoc = "The names of models at one provider or upstream, for requests that no `[[models]]` and no route sends elsewhere. A name " +
	"that ends in `*` stands for all that begin with what precedes it; a longer one takes precedence, and an exact one over all.\n\n" +
	"Of several `default_provider`s, the first gets a model that its map lacks unchanged. A later one is skipped for such a model, unless it " +
	"has no map and the same `kind` as the first."

// modelMapTable is [model_map.<name>].
var modelMapTable = schema.Table{
	Name: "model_map", Form: schema.Named, Owner: modelMapOwner, Names: providerName, Any: &modelMapKey, Join: modelMapJoin, Doc: modelMapDoc,
}

var modelMapKey = schema.Key{
	Name:    "<model>",
	Binding: schema.Bind(modelName, func(n *ModelName) *string { return &n.Model }),
	Doc:     "The model's name for clients, or `\"prefix*\"`, and the model to request there.",
}

func modelMapOwner(parent any, name string) (any, bool) {
	c := parent.(*Config)
	c.ModelMaps = append(c.ModelMaps, ModelMap{Provider: name})
	return &c.ModelMaps[len(c.ModelMaps)-1], false
}

func modelMapJoin(owner any, name string) any {
	m := owner.(*ModelMap)
	m.Names = append(m.Names, ModelName{Pattern: name})
	return &m.Names[len(m.Names)-1]
}

const prefixDoc = "Where requests for models with a common prefix go. The first prefix that matches counts."

func prefixOwner(parent any, _ string) (any, bool) {
	c := parent.(*Config)
	c.Prefixes = append(c.Prefixes, Prefix{})
	return &c.Prefixes[len(c.Prefixes)-1], true
}

var prefixKeys = []schema.Key{
	{
		Name:    "prefix",
		Binding: schema.Bind(notBlank("a prefix of model names"), func(p *Prefix) *string { return &p.Prefix }),
		Doc:     "Required: the prefix of the models' names.",
	},
	{
		Name:    "provider",
		Binding: schema.Bind(providerName, func(p *Prefix) *string { return &p.Provider }),
		Doc:     "Required: the provider or upstream that serves them, under the names that clients use.",
	},
}
