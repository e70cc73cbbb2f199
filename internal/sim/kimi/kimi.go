// Package kimi implements a simulated Kimi provider for tests: the Messages API below /coding, device-code logins, access
// tokens that live for fifteen minutes and refresh tokens that rotate. It reports no quota; an account at its limit gets a 429
// with retry-after.
//
// [Provider] is an http.Handler without goroutines of its own, and safe for concurrent use. It serves the paths of the API and
// of the login, which do not overlap, on one origin. Its responses depend on its seed, its script and the request alone.
package kimi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"shunt/internal/sim/engine"
	"shunt/internal/sim/render"
)

// The endpoints of a [Provider]. Any other path returns 404.
const (
	MessagesPath    = "/coding/v1/messages"
	CountTokensPath = "/coding/v1/messages/count_tokens"
	ModelsPath      = "/coding/v1/models"

	DeviceAuthorizationPath = "/api/oauth/device_authorization"
	TokenPath               = "/api/oauth/token"
	DevicePage              = "/device"
)

// BasePath is the path of the base URL that a gateway is configured with.
const BasePath = "/coding"

// Config describes a provider. The zero value of every field except Clock is usable, but without Accounts nothing is served.
type Config struct {
	engine.Config
	Accounts []Account
	// TokenLifetime is the lifetime of an access token. Zero means fifteen minutes.
	TokenLifetime time.Duration
	// Models are served and listed. Nil means kimi-k2 and kimi-for-coding.
	Models []string
}

// Account is a Kimi subscription. Its quota is one window of five hours, which it does not report.
type Account struct {
	Name string // unique within its provider
	// Size is the window's capacity in tokens. Zero means 2 million.
	Size int64
	// Fill is the used fraction at the start.
	Fill float64
}

// Provider is a simulated provider: the http.Handler of all its endpoints. Methods that take an account's name panic if there
// is no such account.
type Provider struct {
	*engine.Base
	config Config

	mu       sync.Mutex // guards everything below; never held while waiting or writing
	accounts []*account
	access   map[string]grant
	devices  map[string]*device // by device code
	issued   uint64
}

type account struct {
	Account
	window       engine.Window
	accessToken  string
	refreshToken string
	device       string // the id that the newest login has
	refreshes    int64
}

type grant struct {
	account *account
	device  string
	expires time.Time
}

// New returns a provider. It panics if two accounts share a name.
func New(config Config) *Provider {
	if config.TokenLifetime == 0 {
		config.TokenLifetime = 15 * time.Minute
	}
	if config.Models == nil {
		config.Models = []string{"kimi-k2", "kimi-for-coding"}
	}
	p := &Provider{Base: engine.New(config.Config), config: config, access: map[string]grant{}, devices: map[string]*device{}}
	for _, a := range config.Accounts {
		if p.find(a.Name) != nil {
			panic(fmt.Sprintf("kimi: two accounts are named %q", a.Name))
		}
		if a.Size == 0 {
			a.Size = 2_000_000
		}
		account := &account{
			Account: a, window: engine.WindowAt(p.Now(), 5*time.Hour, a.Size, a.Fill, 0),
			device: engine.Hex(engine.Rand(p.Seed, "device", a.Name), 16),
		}
		p.accounts = append(p.accounts, account)
		p.issue(account)
	}
	return p
}

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
		panic(fmt.Sprintf("kimi: no account is named %q", name))
	}
	return a
}

// Fill sets the used fraction of the account's window.
func (p *Provider) Fill(account string, fraction float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(account)
	a.window.Expire(p.Now())
	a.window.Used = fraction * float64(a.window.Size)
}

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
	MessagesPath:            {method: http.MethodPost, serve: (*exchange).messages},
	CountTokensPath:         {method: http.MethodPost, serve: (*exchange).countTokens},
	ModelsPath:              {method: http.MethodGet, serve: (*exchange).models},
	DeviceAuthorizationPath: {method: http.MethodPost, serve: (*exchange).deviceAuthorization, open: true},
	TokenPath:               {method: http.MethodPost, serve: (*exchange).grantTokens, open: true},
	DevicePage:              {method: http.MethodGet, serve: (*exchange).devicePage, open: true},
}

// ServeHTTP serves one request.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{Exchange: p.Begin(w, r), p: p}
	defer x.Finish()
	w.Header().Set("X-Request-Id", x.ID)
	e, known := endpoints[x.Path]
	switch {
	case !known:
		x.refuse(http.StatusNotFound, "not_found_error", "Not Found")
	case r.Method != e.method:
		w.Header().Set("Allow", e.method)
		x.refuse(http.StatusMethodNotAllowed, "invalid_request_error", "Method Not Allowed")
	case e.open:
		e.serve(x)
	default:
		x.serveAuthenticated(e)
	}
}

func (x *exchange) serveAuthenticated(e endpoint) {
	x.Inference = x.Path == MessagesPath || x.Path == CountTokensPath
	var m struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
	}
	_ = json.Unmarshal(x.Body, &m) // messages reports what is malformed
	x.Model, x.Stream = m.Model, m.Stream
	rejection := x.authenticate()
	switch {
	case x.InjectFault(rejection == ""):
	case rejection != "":
		x.refuse(http.StatusUnauthorized, "authentication_error", rejection)
	default:
		e.serve(x)
	}
}

// requiredHeaders are the headers that describe a client.
var requiredHeaders = []string{"X-Msh-Platform", "X-Msh-Version", "X-Msh-Device-Id"}

// authenticate finds the account of the access token, even of an expired one, and returns why the request is rejected, or "".
func (x *exchange) authenticate() (rejection string) {
	scheme, token, _ := strings.Cut(x.R.Header.Get("Authorization"), " ")
	x.p.mu.Lock()
	g, known := x.p.access[token]
	x.p.mu.Unlock()
	if !strings.EqualFold(scheme, "bearer") || !known {
		return "Invalid access token"
	}
	x.a, x.Account = g.account, g.account.Name
	for _, name := range requiredHeaders {
		if x.R.Header.Get(name) == "" {
			return "Missing header " + name
		}
	}
	switch {
	case !x.p.Now().Before(g.expires):
		return "The access token has expired"
	case x.R.Header.Get("X-Msh-Device-Id") != g.device:
		return "The access token belongs to another device"
	}
	return ""
}

func (x *exchange) refuse(status int, kind, message string) {
	x.JSON(status, render.Messages{}.Refusal(status, kind, message))
}
