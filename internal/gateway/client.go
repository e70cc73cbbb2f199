package gateway

import (
	"context"
	"net/http"
	"time"

	"shunt/internal/dialect"
)

// FixedEndpoint is what a provider's own program requests besides inference and shunt answers by itself (GPT-10). It is open to
// every client: the response contains nothing that the request does not.
type FixedEndpoint struct {
	Method  string
	Paths   []string
	Respond func(dst []byte, h http.Header) []byte // appends the body, which is JSON
}

// ClientList is a provider's list of models in the form of its own program, which no other endpoint has (GPT-10).
type ClientList struct {
	Query string   // the parameter of a URL whose presence asks for this form
	Paths []string // besides that of the general list
	// Fetch returns the list as the provider sends it.
	Fetch func(ctx context.Context, query string) ([]byte, error)
}

// clientListTimeout is how long a program waits for its list before it uses its own (GPT-10).
const clientListTimeout = 3 * time.Second

func (g *Gateway) addClientEndpoints() {
	for i := range g.ClientUsages {
		u := &g.ClientUsages[i]
		for _, path := range u.Paths {
			g.endpoints[path] = endpoint{methods: read, serve: u.serve}
		}
	}
	for i := range g.ClientLists {
		for _, path := range g.ClientLists[i].Paths {
			g.endpoints[path] = endpoint{methods: read, serve: (*Gateway).models}
		}
	}
	for i := range g.Fixed {
		f := &g.Fixed[i]
		for _, path := range f.Paths {
			g.endpoints[path] = endpoint{methods: []string{f.Method}, serve: f.serve}
		}
	}
}

func (f *FixedEndpoint) serve(_ *Gateway, w http.ResponseWriter, r *http.Request, _ *snapshot) {
	leaveUnread(w, r)
	writeBody(w, f.Respond(nil, r.Header))
}

// clientList serves a list of models in the form that the request asks for, if it asks for one of a program's own.
func (g *Gateway) clientList(w http.ResponseWriter, r *http.Request) (served bool) {
	query := r.URL.Query()
	for i := range g.ClientLists {
		list := &g.ClientLists[i]
		if !query.Has(list.Query) {
			continue
		}
		ctx, cancel := context.WithTimeout(r.Context(), clientListTimeout)
		defer cancel()
		body, err := list.Fetch(ctx, r.URL.RawQuery)
		if err != nil {
			g.Log.Debug("a program's list of models is left out", "error", err)
			g.refuse(w, r, fail(http.StatusNotFound, dialect.NotFound, "no account of this gateway has a list of models for this program"))
			return true
		}
		writeBody(w, body)
		return true
	}
	return false
}

// statusPaths returns the paths at which the gateway reports on itself and its accounts, as far as it does.
func (g *Gateway) statusPaths() (paths []string) {
	for _, u := range append([]string{"/usage"}, g.usagePaths()...) {
		if _, there := g.endpoints[u]; there {
			paths = append(paths, u)
		}
	}
	if g.Metrics != nil {
		paths = append(paths, "/metrics")
	}
	return paths
}

func (g *Gateway) usagePaths() (paths []string) {
	for i := range g.ClientUsages {
		paths = append(paths, g.ClientUsages[i].Paths[0])
	}
	return paths
}
