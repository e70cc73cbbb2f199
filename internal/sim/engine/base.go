// Package engine is what every simulated provider is made of: requests that are read, recorded, paced, failed on purpose and
// responded to in a content coding, quota windows that fill and reset, and random values that depend on a seed alone. It knows
// no dialect and no vendor.
//
// A [Base] is safe for concurrent use and starts no goroutines. It reads time from one clock.Clock, so that it works in a
// testing/synctest bubble.
package engine

import (
	"slices"
	"sync"
	"time"

	"shunt/internal/clock"
	"shunt/internal/sim/script"
)

// Config describes what all providers have in common. The zero value of every field except Clock is usable.
type Config struct {
	Clock clock.Clock
	Seed  uint64
	// Output is the length of a default response's text in tokens. Zero means 40 to 120.
	Output Range
	// Pace spreads responses over time and writes.
	Pace Pace
	// Encodings are the content codings that the provider offers (gzip, br, zstd), preferred first; it uses the first that the
	// client accepts. None means identity.
	Encodings []string
	// Record is the number of most recent requests to keep, with their bodies. Zero means 1024.
	Record int
}

// Base is the part of a provider that does not depend on its dialect. Embed it for the methods that tests use.
type Base struct {
	Config

	mu     sync.Mutex // guards everything below; never held while waiting or writing
	queue  script.Queue
	faults map[string][]Fault // by account; "" = any
	log    []Request
	next   int64 // Seq of the next request
}

// New returns a base.
func New(config Config) *Base {
	if config.Output == (Range{}) {
		config.Output = Range{40, 120}
	}
	if config.Pace.DeltaTokens == 0 {
		config.Pace.DeltaTokens = 4
	}
	if config.Record == 0 {
		config.Record = 1024
	}
	return &Base{Config: config, faults: map[string][]Fault{}, log: make([]Request, config.Record)}
}

// Script queues responses to the next requests for inference, whichever account they use. Requests that a fault or the provider
// itself refuses take none.
func (b *Base) Script(steps ...script.Step) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue.Add(steps...)
}

// Unplayed returns the number of queued responses that no request has taken.
func (b *Base) Unplayed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.Len()
}

// Play returns the response to the prompt: the next of the script, or the default.
func (b *Base) Play(p script.Prompt) script.Step {
	b.mu.Lock()
	s, ok := b.queue.Next()
	b.mu.Unlock()
	if !ok {
		r := Rand(b.Seed, "response", p.Digest)
		s = script.Default(p, b.Output.Pick(r), r)
	}
	return s.For(p)
}

// Inject adds a fault to the account, or to requests of any account if account is empty. If several faults match a request,
// the oldest applies, and faults for any account come first. Faults limited with [Fault.Times] therefore follow each other.
func (b *Base) Inject(account string, f Fault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults[account] = append(b.faults[account], f)
}

// Clear removes the faults of the account, or those for any account if account is empty.
func (b *Base) Clear(account string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.faults, account)
}

// take returns the fault of the account that hits the request and counts the hit.
func (b *Base) take(account string, x *Exchange) (Fault, bool) {
	list := b.faults[account]
	for i, f := range list {
		if !f.hits(x) {
			continue
		}
		switch f.times {
		case 0:
		case 1:
			b.faults[account] = slices.Delete(list, i, i+1)
		default:
			list[i].times--
		}
		return f, true
	}
	return Fault{}, false
}

// Requests returns the recorded requests in the order of their arrival, including those still running.
func (b *Base) Requests() []Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Request
	for seq := max(0, b.next-int64(len(b.log))); seq < b.next; seq++ {
		list = append(list, b.log[seq%int64(len(b.log))])
	}
	return list
}

// RequestsTo returns the recorded requests whose path, without the query, is path.
func (b *Base) RequestsTo(path string) []Request {
	return slices.DeleteFunc(b.Requests(), func(r Request) bool { return r.Path != path })
}

// Now returns the time of the provider's clock.
func (b *Base) Now() time.Time { return b.Clock.Now() }
