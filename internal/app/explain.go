package app

import (
	"shunt/internal/config"
	"shunt/internal/upstream"
)

// Step is an upstream to which a request for a model may go.
type Step struct {
	Upstream *config.Provider
	Model    string // to request there
	Client   bool   // it receives the client's own credential (CHN-4), not only one of the operator's
}

// Explain returns where requests for a model go, in order, and the key of the configuration that decides; see
// [config.Config.RouteBy].
func Explain(cfg *config.Config, model string) (steps []Step, key string) {
	targets, key := cfg.RouteBy(model, cfg.Server.DefaultProviders)
	links := make([]upstream.Link, len(targets))
	known, unused := families(Registry()), newTransport(cfg, nil)
	for i, t := range targets {
		p, _ := cfg.Provider(t.Upstream) // a valid configuration has it
		if links[i].Upstream = new(upstream.Pool); !p.Pool() {
			links[i].Upstream = newSingle(p, known.responsesOf(p), upstream.RequestOptions{}, unused)
		}
		steps = append(steps, Step{Upstream: p, Model: t.Model})
	}
	for i := range steps {
		steps[i].Client = upstream.TakesClient(links, i)
	}
	return steps, key
}
