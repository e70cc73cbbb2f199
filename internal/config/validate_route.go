package config

import (
	"cmp"
	"slices"
	"strconv"

	"shunt/internal/config/schema"
)

// validateModels checks [[models]] (CFG-30, CFG-32) and sorts the targets of each model in the order of the upstreams.
func (l *loader) validateModels() {
	for i := range l.config.Models {
		m, in := &l.config.Models[i], modelSpot(i)
		l.missing(in.Of("id"), m.ID, `write id = "...", the model's name for clients`)
		if !l.mapped(i) {
			continue
		}
		if at := in.Of("id"); unmarked(m.ID) != m.ID {
			l.Report(at, "ends in a long-context mark, which shunt removes from every model before it looks for it; write the id without the mark, and it serves both")
		}
		l.validateTargets(m, in.Of("upstream_model"))
	}
	l.validateModelIDs()
}

func (l *loader) validateTargets(m *Model, at schema.Spot) {
	if l.Failed(at) {
		return
	}
	switch {
	case len(m.Upstreams) == 0:
		l.Report(at, "is empty; write the name of an upstream and the model to request there, or remove it")
	case len(m.Upstreams) > 1 && !l.config.ordered && !l.Failed(schema.At("").Of("upstreams")):
		l.Report(at, "maps the model to several providers, which have no order; declare them as [[upstreams]]")
	}
	for _, t := range m.Upstreams {
		key := at.Table().Of(schema.Segment(t.Upstream))
		if message := l.unknownProvider(t.Upstream); message != "" {
			l.Fail(key, "is not a provider; "+message)
		}
	}
	order := func(t Target) int {
		return slices.IndexFunc(l.config.Providers, func(p Provider) bool { return p.Name == t.Upstream })
	}
	slices.SortStableFunc(m.Upstreams, func(a, b Target) int { return cmp.Compare(order(a), order(b)) })
}

// validateModelIDs checks that a mapped model has one entry.
func (l *loader) validateModelIDs() {
	first, anyMapped := map[string]int{}, map[string]bool{}
	for i, m := range l.config.Models {
		if _, dup := first[m.ID]; !dup {
			first[m.ID] = i
		}
		anyMapped[m.ID] = anyMapped[m.ID] || l.mapped(i)
	}
	for i, m := range l.config.Models {
		if at := first[m.ID]; m.ID != "" && at != i && anyMapped[m.ID] {
			l.Report(modelSpot(i).Of("id"), "is also the id of the model in line "+l.line(modelSpot(at))+
				"; a model with upstream_model has one entry")
		}
	}
}

// validateRoutes checks [[routes]] and [[route_prefixes]] (CFG-31, CFG-32, CFG-42).
func (l *loader) validateRoutes() {
	mapped := map[string]int{}
	for i, m := range l.config.Models {
		if _, dup := mapped[m.ID]; !dup && l.mapped(i) {
			mapped[m.ID] = i
		}
	}
	for i, r := range l.config.Routes {
		in := routeSpot(i)
		l.missing(in.Of("model"), r.Model, `write model = "...", its name for clients`)
		if at, ok := mapped[r.Model]; ok && r.Model != "" {
			l.Report(in.Of("model"), "is mapped by [[models]] in line "+l.line(modelSpot(at))+", which takes precedence over every route; remove one of the two")
		}
		l.validateRouteProvider(in.Of("provider"), r.Provider)
	}
	for i, p := range l.config.Prefixes {
		in := prefixSpot(i)
		l.missing(in.Of("prefix"), p.Prefix, `write prefix = "...", the beginning of the models' names`)
		l.validateRouteProvider(in.Of("provider"), p.Provider)
	}
}

func (l *loader) validateRouteProvider(at schema.Spot, name string) {
	if !l.missing(at, name, `write provider = "..."`) {
		l.checkReference(at, name)
	}
}

// missing reports a problem and returns true if a required key is not there.
func (l *loader) missing(at schema.Spot, value, remedy string) bool {
	if value != "" || l.Failed(at) {
		return false
	}
	l.Fail(at, "is missing; "+remedy)
	return true
}

// mapped reports whether a model has a map, even if empty or wrong.
func (l *loader) mapped(model int) bool { return l.Written(modelSpot(model).Of("upstream_model")) }

func (l *loader) line(s schema.Spot) string { return strconv.Itoa(l.Line(s)) }

func modelSpot(index int) schema.Spot  { return schema.At("").Of("models").Item(index) }
func routeSpot(index int) schema.Spot  { return schema.At("").Of("routes").Item(index) }
func prefixSpot(index int) schema.Spot { return schema.At("").Of("route_prefixes").Item(index) }
