// Package admin is the web surface for operators: a JSON API, and one page that shows the pool live. It shows and changes
// state that other packages own. Its own state is what a browser needs: sessions, pending logins, and the recent requests and
// utilization for the page.
//
// Admin credentials do not open inference routes, and client tokens do not open the admin surface (ADM-1). No response ever
// contains a token. [Admin] is safe for concurrent use; [Admin.Run] does its background work until its context ends.
package admin

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"

	"shunt/internal/account"
	"shunt/internal/clock"
	"shunt/internal/config"
	"shunt/internal/hosts"
	"shunt/internal/observe"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

// Options configure an [Admin].
type Options struct {
	Version   string
	Log       *slog.Logger
	Clock     clock.Clock
	Settings  *config.Admin // of the first configuration
	Loopback  bool          // shunt listens on a loopback address
	Proxies   hosts.Proxies // that are trusted to report the client
	Providers func() []Provider
	Health    *observe.Health
	Families  []Family

	// Refresh makes the running pools use the current contents of the account stores. When it returns without an error, new
	// requests are served from them. Its only error is that of the context.
	Refresh func(context.Context) error
}

// Provider describes a provider of the running configuration.
type Provider struct {
	Name     string
	Auth     config.Auth
	Planned  bool                           // [server.pool] is present, so headroom is meaningful
	Pool     *pool.Pool                     // nil if it is not a pool; then the fields below are unset
	Family   string                         // the name of the accounts' family
	Accounts []*account.Account             // of the pool
	ScopeOf  func(model string) quota.Scope // the scope of requests for a model
	Uses     func(name string) bool         // whether the pool uses the store's entry of that name: enabled, and not an alias
}

// Admin is the web surface, an [http.Handler] for the paths under /admin.
type Admin struct {
	Options
	mux      *http.ServeMux
	keys     keys
	sessions sessions
	attempts *attempts
	logins   pending
	devices  devices
	recent   recent
	history  history
	live     live
}

// New returns an Admin without sessions.
func New(o Options) *Admin {
	a := &Admin{Options: o, keys: keysOf(o.Settings), attempts: newAttempts(o.Clock, o.Log)}
	a.sessions.clock, a.sessions.ttl = o.Clock, o.Settings.SessionTTL
	a.logins.clock, a.logins.ttl = o.Clock, o.Settings.PendingTTL
	a.devices.open()
	a.mux = a.routes()
	return a
}

// Run samples utilization and updates open pages until ctx ends. Then it closes their event streams and ends the logins that wait.
func (a *Admin) Run(ctx context.Context) {
	defer a.devices.close()
	a.live.run(ctx, a)
}

// Note adds a request that has ended to the recent requests.
func (a *Admin) Note(r *observe.Record) { a.recent.add(r) }

func (a *Admin) routes() *http.ServeMux {
	mux := http.NewServeMux()
	page := func(pattern string, h http.HandlerFunc) { mux.HandleFunc(pattern, h) }
	page("GET /admin", a.page)
	page("GET /admin/login", a.loginForm)
	page("POST /admin/login", a.login)
	page("GET /admin/assets/{name}", a.asset)
	mux.HandleFunc("GET /admin/live", a.reads(a.stream))

	mux.HandleFunc("GET /admin/api/pool", a.reads(a.showPool))
	mux.HandleFunc("PATCH /admin/api/pool/{provider}/accounts/{ref}", a.writes(a.pause))
	mux.HandleFunc("DELETE /admin/api/pool/{provider}/accounts/{ref}/cooldown", a.writes(a.clearCooldown))
	mux.HandleFunc("GET /admin/api/pool/{provider}/explain", a.reads(a.explain))
	mux.HandleFunc("GET /admin/api/accounts", a.reads(a.listAccounts))
	a.provisionRoutes(mux)
	mux.HandleFunc("POST /admin/api/logout", a.writes(a.logout))
	return mux
}

func (a *Admin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if r.URL.EscapedPath() != r.URL.Path || strings.Contains(r.URL.Path, "//") || strings.Contains(r.URL.Path, "/.") {
		refuse(w, http.StatusNotFound, "no such page")
		return
	}
	if _, pattern := a.mux.Handler(r); pattern == "" {
		a.unmatched(w, r)
		return
	}
	a.mux.ServeHTTP(w, r)
}

// unmatched refuses a request that no route matches: with 405 if another method would match, else with 404.
func (a *Admin) unmatched(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		try := r.Clone(r.Context())
		try.Method = method
		if _, pattern := a.mux.Handler(try); pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if allowed == nil {
		refuse(w, http.StatusNotFound, "no such page")
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	refuse(w, http.StatusMethodNotAllowed, "this endpoint accepts "+strings.Join(allowed, ", ")+" only")
}

// protect sets the security headers of every response (ADM-2).
func protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers do not send the origin of a form
	h.Set("Cache-Control", "no-store")
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(encoded(v), '\n'))
}

func encoded(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // the types of this package have a JSON form
	}
	return body
}
