package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"shunt/internal/dialect"
)

const listTimeout = 2 * time.Second // for the provider's list of models

// models lists the configured models and then, without repeating any, those that the default provider lists now. If that list
// does not arrive in time, the configured models are the whole list.
func (g *Gateway) models(w http.ResponseWriter, r *http.Request, s *snapshot) {
	if f := s.authenticate(r.Header); f != nil {
		g.refuse(w, r, f)
		return
	}
	if g.clientList(w, r) {
		return
	}
	seen := map[string]bool{}
	var list []dialect.Model
	add := func(id, name string) {
		if id != "" && !seen[id] {
			seen[id] = true
			list = append(list, dialect.Model{ID: id, DisplayName: cmp.Or(name, id)})
		}
	}
	for _, m := range s.Config.Models {
		add(m.ID, m.DisplayName)
	}
	d := s.listDialect(r.Header)
	defaults, _ := s.defaults(d)
	if live, ok := s.Upstreams[defaults[0]]; ok {
		ctx, cancel := context.WithTimeout(r.Context(), listTimeout)
		defer cancel()
		current, err := live.Models(ctx, d, s.stripGatewayTokens(r).Header)
		if err != nil {
			g.Log.Debug("the provider's list of models is left out", "error", err)
		}
		for _, m := range current {
			add(m.ID, m.DisplayName)
		}
	}
	writeBody(w, d.AppendModels(nil, list))
}

// listDialect returns the dialect of a list of models: of those that are served, that of a client which shows its own, else the
// last.
func (s *snapshot) listDialect(h http.Header) dialect.Inbound {
	last := s.dialects[0]
	for _, d := range s.dialects {
		if d.ListsModelsFor(h) {
			return d
		}
		if _, served := s.defaults(d); served {
			last = d
		}
	}
	return last
}

type routeEntry struct {
	Model         string `json:"model,omitempty"`
	Prefix        string `json:"prefix,omitempty"`
	Provider      string `json:"provider"`
	UpstreamModel string `json:"upstream_model,omitempty"`
}

// routes lists the routes of the configuration in the order in which they apply (RTE-1).
func (g *Gateway) routes(w http.ResponseWriter, r *http.Request, s *snapshot) {
	if f := s.authenticate(r.Header); f != nil {
		g.refuse(w, r, f)
		return
	}
	entries := []routeEntry{}
	for _, m := range s.Config.Models {
		for _, t := range m.Upstreams {
			entries = append(entries, routeEntry{Model: m.ID, Provider: t.Upstream, UpstreamModel: t.Model})
		}
	}
	for _, route := range s.Config.Routes {
		entries = append(entries, routeEntry{Model: route.Model, Provider: route.Provider, UpstreamModel: route.UpstreamModel})
	}
	for _, p := range s.Config.Prefixes {
		entries = append(entries, routeEntry{Prefix: p.Prefix, Provider: p.Provider})
	}
	writeJSON(w, struct {
		Data []routeEntry `json:"data"`
	}{entries})
}

func writeJSON(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // the types of this package always encode
	}
	writeBody(w, body)
}

func writeBody(w http.ResponseWriter, body []byte) {
	body = append(body, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // for HEAD too (WIRE-14)
	w.Write(body)
}
