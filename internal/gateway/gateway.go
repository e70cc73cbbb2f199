// Package gateway is the data plane's [http.Handler]: it admits a request, reads and routes it, lets an upstream serve it, and
// records what happened. It does not choose accounts and opens no connections.
//
// A [Gateway] is safe for concurrent use. [Gateway.Swap] may be called at any time; a request keeps the [State] with which it
// began (CFG-50).
package gateway

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"shunt/internal/config"
	"shunt/internal/dialect"
	"shunt/internal/hosts"
	"shunt/internal/observe"
	"shunt/internal/upstream"
	"shunt/internal/wire"
)

// State is the part of a gateway that a reload replaces.
type State struct {
	Config    *config.Config
	Upstreams map[string]upstream.Upstream // by provider name
}

// Options are the part of a gateway that never changes. It also keeps the restart-only keys of the first configuration (CFG-51).
type Options struct {
	Version string
	Log     *slog.Logger
	Record  func(*observe.Record) // called once for every inference request, when it has ended
	Admin   http.Handler          // for /admin and everything below it, with its own access rules; nil: off

	Usage        *UsageEndpoint // nil: GET /usage is off
	ClientUsages []ClientUsage
	ClientLists  []ClientList
	Fixed        []FixedEndpoint

	// Dialects are what clients speak. Responses to requests of no dialect are in the first one.
	Dialects []dialect.Inbound

	Metrics http.Handler // serves GET /metrics, with its own access rules; nil: off
}

// Gateway serves the endpoints of the data plane.
type Gateway struct {
	Options
	state     atomic.Pointer[snapshot]
	fixed     *config.Server
	proxies   hosts.Proxies
	endpoints map[string]endpoint // by path
	inFlight  atomic.Int64
	unrouted  atomic.Int64 // of those in flight; see slot
}

// New returns a gateway with a state.
func New(o Options, s *State) *Gateway {
	g := &Gateway{Options: o, fixed: &s.Config.Server, proxies: s.Config.Server.Access.Proxies(), endpoints: maps.Clone(endpoints)}
	for _, d := range o.Dialects {
		for _, e := range d.Endpoints() {
			g.endpoints[e.Path] = g.inference(d, e)
		}
	}
	if o.Usage != nil {
		g.endpoints["/usage"] = endpoint{methods: read, serve: (*Gateway).showUsage}
	}
	g.addClientEndpoints()
	if o.Metrics != nil {
		g.endpoints["/metrics"] = endpoint{methods: read, serve: (*Gateway).metrics}
	}
	g.Swap(s)
	return g
}

// Swap replaces the state. Requests that have begun keep theirs.
func (g *Gateway) Swap(s *State) { g.state.Store(g.snapshot(s)) }

// InFlight returns the number of inference requests in flight.
func (g *Gateway) InFlight() int64 { return g.inFlight.Load() }

// Wait returns when no inference request is in flight and each is recorded, or with the context's error. No new one may
// arrive.
func (g *Gateway) Wait(ctx context.Context) error {
	ticker := time.NewTicker(waitInterval)
	defer ticker.Stop()
	for g.inFlight.Load() > 0 {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("requests are still in flight: %w", ctx.Err())
		}
	}
	return nil
}

const waitInterval = 5 * time.Millisecond

// endpoint serves one path, which must match exactly as it was sent (WIRE-4).
type endpoint struct {
	methods []string
	serve   func(*Gateway, http.ResponseWriter, *http.Request, *snapshot)
	dialect dialect.Inbound // of its errors; nil: the first
	zstd    bool            // bodies may be compressed with it
}

var read = []string{http.MethodGet, http.MethodHead}

var endpoints = map[string]endpoint{
	"/":          {methods: read, serve: (*Gateway).root},
	"/health":    {methods: read, serve: (*Gateway).health},
	"/healthz":   {methods: read, serve: (*Gateway).health},
	"/livez":     {methods: read, serve: (*Gateway).health},
	"/v1/models": {methods: read, serve: (*Gateway).models},
	"/routes":    {methods: read, serve: (*Gateway).routes},
}

var write = []string{http.MethodPost}

// inference returns an endpoint of a dialect.
func (*Gateway) inference(d dialect.Inbound, e dialect.Endpoint) endpoint {
	serve := func(g *Gateway, w http.ResponseWriter, r *http.Request, s *snapshot) { g.infer(w, r, s, d, e) }
	return endpoint{methods: write, serve: serve, dialect: d, zstd: e.Zstd}
}

func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := g.state.Load()
	if f := g.admit(r, s); f != nil {
		g.refuse(w, r, f)
		return
	}
	path := r.URL.EscapedPath()
	if g.Admin != nil && (path == "/admin" || strings.HasPrefix(path, "/admin/")) {
		g.Admin.ServeHTTP(w, r)
		return
	}
	if !s.Config.Server.Clients.Present && hosts.CrossOrigin(r) {
		g.refuse(w, r, fail(http.StatusForbidden, dialect.Permission, "this gateway does not serve web pages of other origins: use a client that is not a web page, or have its operator set up [server.auth]"))
		return
	}
	e, ok := g.endpoints[path]
	if !ok {
		g.refuse(w, r, fail(http.StatusNotFound, dialect.NotFound, "this gateway has no such endpoint: check the base URL (GET / lists the endpoints)"))
		return
	}
	for _, method := range e.methods {
		if r.Method == method {
			e.serve(g, w, r, s)
			return
		}
	}
	if e.dialect != nil && r.Header["Upgrade"] != nil {
		// The one response after which clients were seen to continue over HTTP without a word (GPT-10).
		g.refuse(w, r, fail(http.StatusUpgradeRequired, dialect.InvalidRequest, "this endpoint accepts POST over HTTP only, not a WebSocket"))
		return
	}
	allowed := strings.Join(e.methods, ", ")
	w.Header().Set("Allow", allowed)
	g.refuse(w, r, fail(http.StatusMethodNotAllowed, dialect.InvalidRequest, "this endpoint accepts "+allowed+" only"))
}

func (g *Gateway) root(w http.ResponseWriter, _ *http.Request, s *snapshot) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	line := "shunt " + g.Version + ": "
	for _, d := range g.Dialects {
		if _, served := s.defaults(d); !served {
			continue
		}
		for _, e := range d.Endpoints() {
			line += "POST " + e.Path + ", "
		}
	}
	line += "GET /v1/models, GET /routes, GET /health"
	for _, path := range g.statusPaths() {
		if _, there := g.endpoints[path]; there {
			line += ", GET " + path
		}
	}
	w.Write([]byte(line + "\n"))
}

func (g *Gateway) metrics(w http.ResponseWriter, r *http.Request, _ *snapshot) {
	g.Metrics.ServeHTTP(w, r)
}

// isHealth reports whether a path is for load balancers and probes, which are admitted from any address.
func isHealth(path string) bool { return path == "/health" || path == "/healthz" || path == "/livez" }

func (g *Gateway) health(w http.ResponseWriter, _ *http.Request, _ *snapshot) {
	w.Header().Set("Content-Type", "application/json")
	w.Write([]byte(`{"status":"ok","version":` + string(wire.Quote(g.Version)) + "}\n"))
}

// fail returns the failure of a request that would fail again, so that the client shows it instead of retrying.
func fail(status int, kind dialect.ErrorKind, message string) *upstream.Failure {
	return &upstream.Failure{Status: status, Kind: kind, Message: message, Final: true}
}

// refuse responds to a request that no upstream gets.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, f *upstream.Failure) {
	id := newRequestID()
	level := slog.LevelDebug
	switch f.Status {
	case http.StatusForbidden, http.StatusServiceUnavailable: // which an operator may want to change
		level = slog.LevelWarn
	}
	g.Log.Log(r.Context(), level, "refused", "request_id", id, "method", r.Method, "host", clip(r.Host),
		"status", f.Status, "error", f.Message)
	leaveUnread(w, r)
	writeFailure(w, g.dialectOf(r), f, id)
}

// dialectOf returns the dialect of the errors for a request.
func (g *Gateway) dialectOf(r *http.Request) dialect.Inbound {
	return cmp.Or(g.endpoints[r.URL.EscapedPath()].dialect, g.Dialects[0])
}

// clip bounds what an unauthenticated client can write into the log, in bytes.
func clip(s string) string { return s[:min(len(s), 200)] }

// writeFailure writes a failure in a client's dialect (ERR-1). No other function does.
func writeFailure(w http.ResponseWriter, d dialect.Inbound, f *upstream.Failure, requestID string) (sent int64) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if f.Final {
		h.Set("X-Should-Retry", "false")
	}
	if wait := d.RetryAfter(f.Kind, f.RetryAfter); wait > 0 {
		h.Set("Retry-After", formatSeconds(wait))
	}
	e := f.AsError()
	w.WriteHeader(d.Status(e))
	n, _ := w.Write(d.AppendError(nil, e, requestID))
	return int64(n)
}

func newRequestID() string {
	id := make([]byte, 16, 16+len("req_")+32)
	binary.NativeEndian.PutUint64(id, rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	return string(hex.AppendEncode(append(id, "req_"...), id)[16:])
}

func sinceMillis(t time.Time) observe.Millis { return observe.Millis(time.Since(t)) }
