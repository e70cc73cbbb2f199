// Package sim is a complete simulated provider and the simulated coding sessions that use it. Tests put shunt in front
// of it, the demo (CLI-3) runs on it, and it is whole: accounts with quota windows that fill and reset, logins
// over an authorize page, OAuth tokens that expire and rotate, streamed and plain answers, content codings, and every failure the gateway must survive.
//
// [Provider] is the server, an http.Handler without goroutines of its own; [Start] and [Serve] put it on a listener.
// [Coder] is one coding session. What a Provider answers depends on its seed and the request alone, so that answers are
// the same in every run however requests interleave; only quota depends on the order in which requests arrive. All
// deciding time is read from one clock.Clock, so a Provider works in a testing/synctest bubble (see [PipeListener]).
//
// It does not check that a client is a genuine one, knows no prices, and does not write sensible prose: the text of an
// answer is a proof that the answer is complete and belongs to its request (see [Answer.Verify]).
package sim

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"

	"shunt/internal/clock"
	"shunt/internal/dialect/messages"
)

// The endpoints of a [Provider]; any other path is 404.
const (
	MessagesPath    = "/v1/messages"
	CountTokensPath = "/v1/messages/count_tokens"
	ModelsPath      = "/v1/models"
	AuthorizePath   = "/cai/oauth/authorize"
	TokenPath       = "/v1/oauth/token"
	UsagePath       = "/api/oauth/usage"
)

// Config describes a provider. The zero value of every field is usable; only Accounts are needed to be served.
type Config struct {
	Clock    clock.Clock
	Seed     uint64
	Accounts []Account

	// TokenLifetime is how long an access token is accepted after it was issued. Zero means eight hours.
	TokenLifetime time.Duration
	// Output is the length of an answer's text in tokens, bounded by the request's max_tokens. Zero means 40 to 120.
	Output Range
	// Pace is how answers are spread over time and writes.
	Pace Pace
	// Models are what the list of models shows. Models whose names begin with claude- are served without being listed.
	// None means one each of the present families.
	Models []string
	// Encodings are the content codings the provider is willing to use (gzip, br, zstd), best first; the first that the
	// client accepts is used. None means identity.
	Encodings []string
	// Record is how many received requests are kept, the newest ones. Zero means 1024.
	Record int
	// RecordBodies keeps the bodies of the recorded requests too, not only their hash.
	RecordBodies bool
}

// Range is an inclusive range of whole numbers.
type Range struct{ Min, Max int }

func (r Range) pick(rng *rand.Rand) int {
	if r.Max <= r.Min {
		return r.Min
	}
	return r.Min + rng.IntN(r.Max-r.Min+1)
}

// Pace spreads an answer over time, in durations of the provider's clock, and over writes.
type Pace struct {
	// FirstByte passes between a request and the headers of its answer.
	FirstByte time.Duration
	// Delta passes before each delta of a stream; DeltaTokens are what one delta carries (zero means 4).
	Delta       time.Duration
	DeltaTokens int
	// Chunk is the size in bytes of the writes of a stream, wherever events end. Zero writes event by event.
	Chunk int
}

// Provider is a simulated provider: the http.Handler of all its endpoints. It is safe for concurrent use and starts no
// goroutine. Methods that name an account panic when there is none of that name.
type Provider struct {
	config Config

	mu       sync.Mutex // guards everything below; never held while waiting or writing
	accounts []*account
	access   map[string]grant
	allowed  map[string]permission // by code
	anywhere []Fault
	cache    *lru.LRU[conversation, cached]
	log      recorder
	minted   uint64
}

// New makes a provider. It panics when two accounts share a name.
func New(config Config) *Provider {
	if config.TokenLifetime == 0 {
		config.TokenLifetime = 8 * time.Hour
	}
	if config.Output == (Range{}) {
		config.Output = Range{40, 120}
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
	cache, err := lru.NewLRU[conversation, cached](maxConversations, nil)
	if err != nil {
		panic(err)
	}
	p := &Provider{config: config, access: map[string]grant{}, allowed: map[string]permission{}, cache: cache, log: newRecorder(config.Record)}
	now := config.Clock.Now()
	for _, a := range config.Accounts {
		for _, other := range p.accounts {
			if other.Name == a.Name {
				panic(fmt.Sprintf("sim: two accounts are called %q", a.Name))
			}
		}
		p.accounts = append(p.accounts, p.newAccount(a, now))
	}
	return p
}

// Accounts are the names of the accounts, in the order of the configuration.
func (p *Provider) Accounts() []string {
	names := make([]string, len(p.accounts))
	for i, a := range p.accounts {
		names[i] = a.Name
	}
	return names
}

// UUID is the account's UUID.
func (p *Provider) UUID(account string) string { return p.account(account).UUID }

// Organization is the UUID of the account's organization.
func (p *Provider) Organization(account string) string { return p.account(account).Organization }

// Limits are the account's windows as its next answer would report them.
func (p *Provider) Limits(account string) messages.RateLimit {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(account)
	a.expire(p.config.Clock.Now())
	return a.limits()
}

// Fill sets how much of a window is used, as a fraction of its size.
func (p *Provider) Fill(account string, w messages.Window, fraction float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(account)
	a.expire(p.config.Clock.Now())
	a.windows[w].used = fraction * float64(a.windows[w].size)
}

func (p *Provider) account(name string) *account {
	for _, a := range p.accounts {
		if a.Name == name {
			return a
		}
	}
	panic(fmt.Sprintf("sim: no account is called %q", name))
}

// rng is a source of randomness that is the same for the same seed and purpose, whatever happened before.
func rng(seed uint64, purpose ...string) *rand.Rand {
	h := fnv.New64a()
	for _, p := range purpose {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

func randomHex(rng *rand.Rand, bytes int) string {
	b := make([]byte, bytes)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return hex.EncodeToString(b)
}

func randomUUID(rng *rand.Rand) string {
	h := randomHex(rng, 16)
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

// object is JSON in the making.
type object = map[string]any

// mustJSON encodes what this package makes itself, which always can be.
func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sim: encode %T: %v", v, err))
	}
	return data
}

var _ http.Handler = (*Provider)(nil)
