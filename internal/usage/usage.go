// Package usage asks the provider how much of each account's quota is used, which it otherwise tells only in its answers.
// So the scheduler knows where an account stands before anybody has used it through shunt, sees what other programs use,
// and learns that a rejection no longer holds (QUO-20 to QUO-25, FO-12).
//
// The package decides nothing about requests: what it learns it tells the scheduler, and that an ask failed, for whatever
// reason, it tells nobody but the log and, in the long run, the operator (QUO-24).
//
// A [Poller] is safe for concurrent use.
package usage

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"shunt/internal/account"
	"shunt/internal/clock"
	"shunt/internal/family"
	"shunt/internal/identity"
	"shunt/internal/observe"
	"shunt/internal/pool"
)

// Entry is an account of a pool that is to be asked about. Entries of several pools may be one identity.
type Entry struct {
	Provider string // the pool's name
	Family   *family.Family
	Base     *url.URL
	Account  *account.Account
	Pool     *pool.Pool // is told of what was learnt
}

// Options are what a Poller works with. All are required, bar the clock.
type Options struct {
	Clock    clock.Clock
	Log      *slog.Logger
	Health   *observe.Health
	Interval time.Duration // between two asks about one identity, whatever retry-after says: at least a minute (QUO-20, QUO-24)

	// Transport should keep no connections: on one that has died, net/http asks a second time.
	Transport http.RoundTripper
}

// Poller polls each identity of its accounts once in every interval, one after the other, evenly spread (QUO-24).
type Poller struct {
	clock    clock.Clock
	log      *slog.Logger
	health   *observe.Health
	interval time.Duration
	http     http.Client
	news     chan struct{} // the turns have changed

	mu       sync.Mutex // never held across I/O
	subjects map[identity.Key]*subject
	ring     []*subject // those that have a slot
	last     time.Time  // when the last poll of any began
}

// New returns a poller without accounts. It starts nothing; see [Poller.Run].
func New(o Options) *Poller {
	return &Poller{
		clock: o.Clock, log: o.Log, health: o.Health, interval: o.Interval, http: newClient(o.Transport),
		news: make(chan struct{}, 1), subjects: map[identity.Key]*subject{},
	}
}

// Follow replaces the accounts. A new identity is polled soon: at once, or if several are new, one after the other. One that
// stays keeps its turn, and one that goes and comes again is not polled twice in an interval, nor before the provider
// allows it: a reload is no reason for either (QUO-24).
func (p *Poller) Follow(entries []Entry) {
	now := p.clock.Now()
	defer p.wake()
	p.mu.Lock()
	defer p.mu.Unlock()
	before := map[identity.Key]bool{}
	for key, s := range p.subjects {
		before[key] = s.entries != nil
		s.entries = nil
	}
	var listed []*subject
	for _, e := range entries {
		key := e.Account.Key()
		s := p.subjects[key]
		if s == nil {
			s = &subject{key: key}
			p.subjects[key] = s
		}
		if s.entries == nil {
			listed = append(listed, s)
		}
		if s.entries = append(s.entries, e); !before[key] {
			s.good = now
		}
	}
	p.schedule(listed, now)
	for _, s := range p.subjects {
		if _, ok := s.eligible(); !ok {
			p.recovered(s)
		}
	}
}

// CredentialChanged has a new login of an identity tried at its usual time, however long the old one was refused.
func (p *Poller) CredentialChanged(key identity.Key) {
	now := p.clock.Now()
	defer p.wake()
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.subjects[key]; s != nil && s.refused {
		s.due, s.notBefore = later(s.asked.Add(p.interval), now), time.Time{}
	}
}

// Run polls until ctx ends, and returns when no poll is in flight any more.
func (p *Poller) Run(ctx context.Context) {
	var asking sync.WaitGroup
	defer asking.Wait()
	for ctx.Err() == nil {
		s, with, wait := p.next()
		if s != nil {
			asking.Go(func() { p.ask(ctx, s, with) })
			continue
		}
		select {
		case <-time.After(p.clock.Scale(wait) + 1): // of a fast clock, what is left may be less than a nanosecond
		case <-p.news:
		case <-ctx.Done():
		}
	}
}

// next returns the identity whose turn it is, with the account to poll with, and begins its poll. If there is none,
// wait is the time until the next turn, unless there is news.
func (p *Poller) next() (s *subject, with Entry, wait time.Duration) {
	now := p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range p.ring {
		if other.asking || s != nil && !other.due.Before(s.due) {
			continue
		}
		if entry, ok := other.eligible(); ok {
			s, with = other, entry
		}
	}
	if s == nil {
		return nil, with, p.interval
	}
	// Polls that are late, or outside of their slots, do not come at once either.
	gap := min(firstGap, p.interval/time.Duration(len(p.ring)))
	if at := later(s.due, p.last.Add(gap)); at.After(now) {
		return nil, with, at.Sub(now)
	}
	s.asking, s.asked, p.last = true, now, now
	s.due = slotFrom(s.slot, later(s.due.Add(p.interval), now), p.interval)
	return s, with, 0
}

// wake tells Run of news.
func (p *Poller) wake() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}
