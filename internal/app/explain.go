package app

import (
	"shunt/internal/config"
	"shunt/internal/upstream"
)

// Step is an upstream that a request for a model may go to.
type Step struct {
	Upstream *config.Provider
	Model    string // asked of it
	Client   bool   // the client's own credential goes there (CHN-4); else only what the upstream has itself
}

// Explain says where requests for a model go, in order, and the key of the configuration that decides; see
// [config.Config.RouteBy].
func Explain(cfg *config.Config, model string) (steps []Step, key string) {
	targets, key := cfg.RouteBy(model)
	links := make([]upstream.Link, len(targets))
	unused := upstream.NewTransport(nil)
	for i, t := range targets {
		p, _ := cfg.Provider(t.Upstream) // a valid configuration has it
		if links[i].Upstream = new(upstream.Pool); !p.Pool() {
			links[i].Upstream = upstream.NewSingle(p.Name, p.BaseURL, credential(p), responsesOf(p), unused)
		}
		steps = append(steps, Step{Upstream: p, Model: t.Model})
	}
	for i := range steps {
		steps[i].Client = upstream.TakesClient(links, i)
	}
	return steps, key
}
