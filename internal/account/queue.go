package account

import (
	"context"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"shunt/internal/clock"
	"shunt/internal/identity"
	"shunt/internal/secret"
)

// gate is a set of locks, one per label.
type gate struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when the label is released
}

// enter waits until all labels are free, and holds them until leave is called.
func (g *gate) enter(ctx context.Context, labels ...string) (leave func(), err error) {
	for {
		taken := g.take(labels)
		if taken == nil {
			return func() { g.free(labels) }, nil
		}
		select {
		case <-taken:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (g *gate) take(labels []string) (taken <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, label := range labels {
		if held, ok := g.held[label]; ok {
			return held
		}
	}
	held := make(chan struct{})
	for _, label := range labels {
		g.held[label] = held
	}
	return nil
}

func (g *gate) free(labels []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(labels) > 0 {
		close(g.held[labels[0]])
	}
	for _, label := range labels {
		delete(g.held, label)
	}
}

// pace spaces events by a distance.
type pace struct {
	clock    clock.Clock
	distance time.Duration

	mu   sync.Mutex
	next time.Time
}

// wait returns when it is the caller's turn. How long earlier callers take afterwards does not matter.
func (p *pace) wait(ctx context.Context) error {
	p.mu.Lock()
	now := p.clock.Now()
	turn := p.next
	if turn.Before(now) {
		turn = now
	}
	p.next = turn.Add(p.distance)
	p.mu.Unlock()
	if p.clock.Sleep(ctx, turn.Sub(now)) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// successors remembers which credential each refresh token was exchanged for in this process. Every token in it is spent.
type successors struct {
	cache *lru.Cache[secret.String, credential]
}

func newSuccessors() successors {
	cache, err := lru.New[secret.String, credential](1024)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return successors{cache}
}

func (s successors) add(spent, by credential) {
	if spent.Refresh != by.Refresh {
		s.cache.Add(spent.Refresh, by)
	}
}

// latest follows the rotation from a credential to the newest one, and reports whether c is spent.
func (s successors) latest(c credential) (latest credential, spent bool) {
	for !c.Refresh.IsZero() {
		next, ok := s.cache.Get(c.Refresh)
		if !ok {
			break
		}
		c, spent = next, true
	}
	return c, spent
}

// unprovenFor is how long a 401 causes no refresh of an identity whose last refresh after a 401 did not help (TOK-9).
const unprovenFor = 10 * time.Minute

// unproven remembers the identities that were refreshed after a 401 and have had no success since (TOK-9). Its lock is
// acquired after a source's.
type unproven struct {
	clock clock.Clock

	mu    sync.Mutex
	since map[identity.Key]time.Time
}

func (u *unproven) add(keys []identity.Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, key := range keys {
		u.since[key] = u.clock.Now()
	}
}

// clear forgets identities, after a success or with a new credential.
func (u *unproven) clear(keys []identity.Key) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, key := range keys {
		delete(u.since, key)
	}
}

// has reports whether any of the identities is unproven.
func (u *unproven) has(keys []identity.Key) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(keys, func(key identity.Key) bool {
		since, ok := u.since[key]
		return ok && u.clock.Now().Before(since.Add(unprovenFor))
	})
}
