// Package usage polls the provider for how much of each account's quota is used, which responses to requests report as
// well. So the scheduler knows the quota of an account before shunt has used it, sees what other programs use, and ends the
// cooldown of an account that can serve again (QUO-20 to QUO-25, FO-12).
//
// The package decides nothing about requests: it passes reports to the scheduler. A failed poll changes nothing there. It is
// logged, and becomes a health condition if it lasts (QUO-24).
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

// Entry is an account of a pool whose usage is polled. Entries of several pools may be one identity.
type Entry struct {
	Provider string // the pool's name
	Family   *family.Family
	Base     *url.URL
	Account  *account.Account
	Pool     *pool.Pool // receives the reports
}

// Options configure a [Poller]. All are required, except for the clock.
type Options struct {
	Clock    clock.Clock
	Log      *slog.Logger
	Health   *observe.Health
	Interval time.Duration // between two polls of one identity, whatever retry-after says: at least a minute (QUO-20, QUO-24)

	// Transport should keep no connections: on one that has died, net/http sends the request again.
	Transport http.RoundTripper
}

// Poller polls each identity of its accounts once in every interval, one after the other, evenly spread (QUO-24).
type Poller struct {
	clock    clock.Clock
	log      *slog.Logger
	health   *observe.Health
	interval time.Duration
	http     http.Client
	changed  chan struct{} // has a value when the times of polls have changed

	mu        sync.Mutex // never held across I/O
	targets   map[identity.Key]*target
	scheduled []*target // those that have a slot
	lastPoll  time.Time // when the last poll of any target began
}

// New returns a poller without accounts. It starts nothing; see [Poller.Run].
func New(o Options) *Poller {
	return &Poller{
		clock: o.Clock, log: o.Log, health: o.Health, interval: o.Interval, http: newClient(o.Transport),
		changed: make(chan struct{}, 1), targets: map[identity.Key]*target{},
	}
}

// Follow replaces the accounts. A new identity is polled at once; several new ones, one shortly after the other. One that
// stays keeps its slot. One that was removed and returns is not polled twice in an interval, nor before the provider's
// retry-after: reloads cause no extra polls (QUO-24).
func (p *Poller) Follow(entries []Entry) {
	now := p.clock.Now()
	defer p.wake()
	p.mu.Lock()
	defer p.mu.Unlock()
	before := map[identity.Key]bool{}
	for key, t := range p.targets {
		before[key] = t.entries != nil
		t.entries = nil
	}
	var listed []*target
	for _, e := range entries {
		key := e.Account.Key()
		t := p.targets[key]
		if t == nil {
			t = &target{key: key}
			p.targets[key] = t
		}
		if t.entries == nil {
			listed = append(listed, t)
		}
		if t.entries = append(t.entries, e); !before[key] {
			t.succeeded = now
		}
	}
	p.schedule(listed, now)
	for _, t := range p.targets {
		if _, ok := t.eligible(); !ok {
			p.clearCondition(t)
		}
	}
}

// CredentialChanged polls an identity with its new login at its usual time, even if the old login was rejected for long.
func (p *Poller) CredentialChanged(key identity.Key) {
	now := p.clock.Now()
	defer p.wake()
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.targets[key]; t != nil && t.rejected {
		t.due, t.notBefore = later(t.polled.Add(p.interval), now), time.Time{}
	}
}

// Run polls until ctx ends. It returns when no poll is in flight.
func (p *Poller) Run(ctx context.Context) {
	var polls sync.WaitGroup
	defer polls.Wait()
	for ctx.Err() == nil {
		t, with, wait := p.next()
		if t != nil {
			polls.Go(func() { p.poll(ctx, t, with) })
			continue
		}
		select {
		case <-time.After(p.clock.Scale(wait) + 1): // on a fast clock, the rest of a wait may be less than a nanosecond
		case <-p.changed:
		case <-ctx.Done():
		}
	}
}

// next returns the target that is due, with the account to poll with, and marks its poll as begun. If none is due, t is nil
// and wait is the time until the next one is, unless p.changed has a value before.
func (p *Poller) next() (t *target, with Entry, wait time.Duration) {
	now := p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range p.scheduled {
		if other.polling || t != nil && !other.due.Before(t.due) {
			continue
		}
		if entry, ok := other.eligible(); ok {
			t, with = other, entry
		}
	}
	if t == nil {
		return nil, with, p.interval
	}
	// Polls that are late or outside their slots keep a distance, too.
	gap := min(firstGap, p.interval/time.Duration(len(p.scheduled)))
	if at := later(t.due, p.lastPoll.Add(gap)); at.After(now) {
		return nil, with, at.Sub(now)
	}
	t.polling, t.polled, p.lastPoll = true, now, now
	t.due = slotFrom(t.slot, later(t.due.Add(p.interval), now), p.interval)
	return t, with, 0
}

// wake makes Run look at the targets again.
func (p *Poller) wake() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}
