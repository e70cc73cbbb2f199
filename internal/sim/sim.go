// Package sim implements a complete simulated Claude provider and the simulated coding sessions that use it, for tests and for the
// demo (CLI-3). The provider has accounts with quota windows that fill and reset, logins over an authorize page, OAuth tokens
// that expire and rotate, streamed and plain responses, content codings, and every failure that the gateway must survive.
//
// [Provider] is the server, an http.Handler without goroutines of its own; [Start] and [Serve] put it on a listener.
// [Session] is a coding session. A Provider's responses depend on its seed and the request alone, so they are the same in every
// run, in whatever order requests arrive; only quota depends on that order. A Provider reads time for decisions from one
// clock.Clock and works in a testing/synctest bubble (see [PipeListener]).
//
// The other simulated providers are in the packages below this one; what they share with it is in engine, render and script.
//
// The provider does not check that a client is genuine, has no prices, and does not write sensible prose: the text of a response
// has a checksum and names its request (see [Response.Verify]).
package sim

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"shunt/internal/clock"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim/engine"
	"shunt/internal/sim/script"
)

// The endpoints of a [Provider]. Any other path returns 404.
const (
	MessagesPath    = "/v1/messages"
	CountTokensPath = "/v1/messages/count_tokens"
	ModelsPath      = "/v1/models"
	AuthorizePath   = "/cai/oauth/authorize"
	TokenPath       = "/v1/oauth/token"
	UsagePath       = "/api/oauth/usage"
)

// Config describes a provider. The zero value of every field is usable, but without Accounts nothing is served.
type Config struct {
	Clock    clock.Clock
	Seed     uint64
	Accounts []Account

	// TokenLifetime is the lifetime of an access token. Zero means eight hours.
	TokenLifetime time.Duration
	// Output is the length of a response's text in tokens, limited by the request's max_tokens. Zero means 40 to 120.
	Output Range
	// Pace spreads responses over time and writes.
	Pace Pace
	// Models are listed by the models endpoint. Models whose names begin with claude- are served even if they are not listed.
	// Nil means one of each current family.
	Models []string
	// Encodings are the content codings that the provider offers (gzip, br, zstd), preferred first; it uses the first that the
	// client accepts. None means identity.
	Encodings []string
	// Record is the number of most recent requests to keep. Zero means 1024.
	Record int
	// RecordBodies keeps the bodies of recorded requests, not only their hashes.
	RecordBodies bool
}

// Range, Pace and Outcome are those of every simulated provider.
type (
	Range   = engine.Range
	Pace    = engine.Pace
	Outcome = engine.Outcome
)

// Provider is a simulated provider: the http.Handler of all its endpoints. It is safe for concurrent use and starts no
// goroutines. Methods that take an account's name panic if there is no such account.
type Provider struct {
	config Config

	mu           sync.Mutex // guards everything below; never held while waiting or writing
	accounts     []*account
	access       map[string]grant
	codes        map[string]authorization // by code
	globalFaults []Fault
	script       script.Queue
	cache        engine.PromptCache
	log          recorder
	issued       uint64
}

// New returns a provider. It panics if two accounts share a name.
func New(config Config) *Provider {
	if config.TokenLifetime == 0 {
		config.TokenLifetime = 8 * time.Hour
	}
	if config.Output == (Range{}) {
		config.Output = Range{Min: 40, Max: 120}
	}
	if config.Models == nil {
		config.Models = []string{"claude-sonnet-4-5", "claude-opus-4-5", "claude-haiku-4-5", "claude-fable-5"}
	}
	if config.Pace.DeltaTokens == 0 {
		config.Pace.DeltaTokens = 4
	}
	if config.Record == 0 {
		config.Record = 1024
	}
	p := &Provider{config: config, access: map[string]grant{}, codes: map[string]authorization{}, cache: engine.NewPromptCache(), log: newRecorder(config.Record)}
	now := config.Clock.Now()
	for _, a := range config.Accounts {
		for _, other := range p.accounts {
			if other.Name == a.Name {
				panic(fmt.Sprintf("sim: two accounts are named %q", a.Name))
			}
		}
		p.accounts = append(p.accounts, p.newAccount(a, now))
	}
	return p
}

// Accounts returns the names of the accounts, in the order of the configuration.
func (p *Provider) Accounts() []string {
	names := make([]string, len(p.accounts))
	for i, a := range p.accounts {
		names[i] = a.Name
	}
	return names
}

// UUID returns the account's UUID.
func (p *Provider) UUID(account string) string { return p.account(account).UUID }

// Organization returns the UUID of the account's organization.
func (p *Provider) Organization(account string) string { return p.account(account).Organization }

// Script queues responses to the next requests for messages, whichever account they use. Requests that a fault or the provider
// itself refuses take none.
func (p *Provider) Script(steps ...script.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script.Add(steps...)
}

// Limits returns the account's windows as its next response would report them.
func (p *Provider) Limits(account string) messages.RateLimit {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(account)
	a.expire(p.config.Clock.Now())
	return a.limits()
}

// Fill sets the used fraction of a window.
func (p *Provider) Fill(account string, w messages.Window, fraction float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(account)
	a.expire(p.config.Clock.Now())
	a.windows[w].Used = fraction * float64(a.windows[w].Size)
}

func (p *Provider) account(name string) *account {
	for _, a := range p.accounts {
		if a.Name == name {
			return a
		}
	}
	panic(fmt.Sprintf("sim: no account is named %q", name))
}

// object is a JSON object to be encoded.
type object = engine.Object

var _ http.Handler = (*Provider)(nil)
