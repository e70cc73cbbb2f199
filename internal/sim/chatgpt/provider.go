// Package chatgpt implements a complete simulated ChatGPT provider for tests, the demo and the Codex CLI: accounts with quota
// windows that fill and reset, logins in a browser and by device code, access tokens that are JWTs, strictly rotating refresh
// tokens, streamed responses, and the failures that a gateway must survive.
//
// [Provider] is an http.Handler without goroutines of its own. It serves the paths of chatgpt.com and auth.openai.com, which do
// not overlap, on one origin. Its responses depend on its seed, its script and the request alone; only quota depends on the
// order in which requests arrive. It does not check that a client is genuine.
package chatgpt

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"shunt/internal/sim/engine"
)

// The endpoints of a [Provider]. Any other path returns 404.
const (
	ResponsesPath     = "/backend-api/codex/responses"
	ModelsPath        = "/backend-api/codex/models"
	UsagePath         = "/backend-api/wham/usage"
	AccountsCheckPath = "/backend-api/wham/accounts/check"

	AuthorizePath  = "/oauth/authorize"
	TokenPath      = "/oauth/token"
	DeviceCodePath = "/api/accounts/deviceauth/usercode"
	DevicePollPath = "/api/accounts/deviceauth/token"
	DevicePage     = "/codex/device"
)

// BasePath is the path of the base URL that a gateway or Codex is configured with.
const BasePath = "/backend-api"

// Config describes a provider. The zero value of every field except Clock is usable, but without Accounts nothing is served.
type Config struct {
	engine.Config
	Accounts []Account
	// TokenLifetime is the lifetime of an access token. Zero means ten days.
	TokenLifetime time.Duration
	// Models are listed by the models endpoint. Models whose names begin with gpt- are served even if they are not listed. Nil
	// means gpt-5.5 and gpt-5.5-mini.
	Models []string
	// RateLimitEvent begins every stream with an event codex.rate_limits.
	RateLimitEvent bool
}

// Account is a ChatGPT subscription of one user.
type Account struct {
	Name string // unique within its provider
	// ID and User are derived from the seed and the name if empty. Members of one workspace share an ID.
	ID, User string
	Plan     string // empty means plus

	// Primary is the window of 5 hours, Secondary that of 7 days.
	Primary, Secondary Window

	// Origin and Routing are what the accounts check reports about the workspace. Empty means NO_CONSTRAINT.
	Origin, Routing string
}

// Window describes an account's quota window at the start of the simulation.
type Window struct {
	// Size is the window's capacity in tokens, where a cached token counts a tenth. Zero means 2 million for the primary window
	// and 20 million for the secondary one.
	Size int64
	// Fill is the used fraction at the start.
	Fill float64
	// ResetIn is the time until the first reset. Zero means the window's length.
	ResetIn time.Duration
	// Off disables the window: it is not reported and never full.
	Off bool
}

// Provider is a simulated provider: the http.Handler of all its endpoints. It is safe for concurrent use. Methods that take an
// account's name panic if there is no such account.
type Provider struct {
	*engine.Base
	config Config

	mu       sync.Mutex // guards everything below; never held while waiting or writing
	accounts []*account
	access   map[string]grant
	refresh  map[string]*account // every refresh token ever issued, by its account
	codes    map[string]authorization
	devices  map[string]*device // by user code
	cache    engine.PromptCache
	issued   uint64
}

type account struct {
	Account
	windows      [2]engine.Window // primary, secondary
	accessToken  string           // the newest
	idToken      string
	refreshToken string // the only valid one; empty once revoked
	refreshes    int64
}

// New returns a provider. It panics if two accounts share a name.
func New(config Config) *Provider {
	if config.TokenLifetime == 0 {
		config.TokenLifetime = 10 * 24 * time.Hour
	}
	if config.Models == nil {
		config.Models = []string{"gpt-5.5", "gpt-5.5-mini"}
	}
	p := &Provider{
		Base: engine.New(config.Config), config: config, cache: engine.NewPromptCache(), access: map[string]grant{},
		refresh: map[string]*account{}, codes: map[string]authorization{}, devices: map[string]*device{},
	}
	for _, a := range config.Accounts {
		if p.find(a.Name) != nil {
			panic(fmt.Sprintf("chatgpt: two accounts are named %q", a.Name))
		}
		p.accounts = append(p.accounts, p.newAccount(a))
	}
	return p
}

func (p *Provider) newAccount(config Account) *account {
	r, now := engine.Rand(p.Seed, "account", config.Name), p.Now()
	if config.ID == "" {
		config.ID = engine.UUID(r)
	}
	if config.User == "" {
		config.User = "user-" + engine.Hex(r, 12)
	}
	if config.Plan == "" {
		config.Plan = "plus"
	}
	a := &account{Account: config}
	sizes := [2]int64{2_000_000, 20_000_000}
	for i, w := range []Window{config.Primary, config.Secondary} {
		if w.Size == 0 {
			w.Size = sizes[i]
		}
		a.windows[i] = engine.WindowAt(now, windowLengths[i], w.Size, w.Fill, w.ResetIn)
		a.windows[i].Off = w.Off
	}
	p.issue(a)
	return a
}

// find returns the account with the name, or nil.
func (p *Provider) find(name string) *account {
	for _, a := range p.accounts {
		if a.Name == name {
			return a
		}
	}
	return nil
}

func (p *Provider) account(name string) *account {
	a := p.find(name)
	if a == nil {
		panic(fmt.Sprintf("chatgpt: no account is named %q", name))
	}
	return a
}

// Accounts returns the names of the accounts, in the order of the configuration.
func (p *Provider) Accounts() []string {
	var names []string
	for _, a := range p.accounts {
		names = append(names, a.Name)
	}
	return names
}

// ID returns the account's id, which a client sends in chatgpt-account-id.
func (p *Provider) ID(account string) string { return p.account(account).ID }

// User returns the id of the account's user.
func (p *Provider) User(account string) string { return p.account(account).User }

// exchange is a request and its response.
type exchange struct {
	*engine.Exchange
	p *Provider
	a *account // of the credential; nil if unknown
}

type endpoint struct {
	method string
	serve  func(*exchange)
	open   bool // needs no access token
}

var endpoints = map[string]endpoint{
	ResponsesPath:     {method: http.MethodPost, serve: (*exchange).responses},
	ModelsPath:        {method: http.MethodGet, serve: (*exchange).models},
	UsagePath:         {method: http.MethodGet, serve: (*exchange).usage},
	AccountsCheckPath: {method: http.MethodGet, serve: (*exchange).accountsCheck},
	AuthorizePath:     {method: http.MethodGet, serve: (*exchange).authorize, open: true},
	TokenPath:         {method: http.MethodPost, serve: (*exchange).grantTokens, open: true},
	DeviceCodePath:    {method: http.MethodPost, serve: (*exchange).deviceCode, open: true},
	DevicePollPath:    {method: http.MethodPost, serve: (*exchange).devicePoll, open: true},
	DevicePage:        {method: http.MethodGet, serve: (*exchange).devicePage, open: true},
}

// ServeHTTP serves one request.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{Exchange: p.Begin(w, r), p: p}
	defer x.Finish()
	w.Header().Set("X-Request-Id", x.ID)
	w.Header().Set("Server", "cloudflare")
	e, known := endpoints[x.Path]
	switch {
	case !known:
		x.detail(http.StatusNotFound, "Not Found")
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		x.detail(http.StatusUpgradeRequired, "WebSockets are not available")
	case r.Method != e.method:
		w.Header().Set("Allow", e.method)
		x.detail(http.StatusMethodNotAllowed, "Method Not Allowed")
	case e.open:
		e.serve(x)
	default:
		x.serveAuthenticated(e)
	}
}

func (x *exchange) serveAuthenticated(e endpoint) {
	x.Inference = x.Path == ResponsesPath
	x.peek()
	rejection := x.authenticate()
	if x.a != nil {
		x.Account = x.a.Name
	}
	if rejection == "" {
		x.quotaHeaders()
	}
	if x.InjectFault(rejection == "") {
		return
	}
	if rejection != "" {
		x.unauthorized(rejection)
		return
	}
	e.serve(x)
}

// authenticate finds the account of the access token, even of an expired one, and returns the code of the rejection, or "".
func (x *exchange) authenticate() (rejection string) {
	scheme, token, _ := strings.Cut(x.R.Header.Get("Authorization"), " ")
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	g, known := x.p.access[token]
	if !strings.EqualFold(scheme, "bearer") || !known {
		return "invalid_token"
	}
	x.a = g.account
	switch ids := x.R.Header.Values("Chatgpt-Account-Id"); {
	case g.revoked:
		return "token_invalidated"
	case !x.p.Now().Before(g.expires):
		return "token_expired"
	case !slices.Equal(ids, []string{x.a.ID}):
		return "account_mismatch"
	}
	return ""
}

func (x *exchange) unauthorized(code string) {
	x.JSON(http.StatusUnauthorized, engine.Object{
		"error":  engine.Object{"message": "Could not authenticate: " + code, "type": nil, "code": code, "param": nil},
		"status": http.StatusUnauthorized,
	})
}

// detail sends an error in the form that most of the provider's own checks use.
func (x *exchange) detail(status int, text string) {
	x.JSON(status, engine.Object{"detail": text})
}

var _ http.Handler = (*Provider)(nil)
