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

// gate lets one holder at a time through for each label.
type gate struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when the label is free
}

// enter waits until none of the labels is held, and holds them all until leave is called.
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

// pace keeps a distance between events, however many come at once.
type pace struct {
	clock    clock.Clock
	distance time.Duration

	mu   sync.Mutex
	next time.Time
}

// wait returns when it is the caller's turn. It depends on how many came before, not on how long they take.
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

// successors remembers what this process exchanged refresh tokens for. A token in it is certainly spent.
type successors struct {
	cache *lru.Cache[secret.String, credential]
}

func newSuccessors() successors {
	cache, err := lru.New[secret.String, credential](1024)
	if err != nil {
		panic(err) // only a size that is not positive
	}
	return successors{cache}
}

func (s successors) add(spent, by credential) {
	if spent.Refresh != by.Refresh {
		s.cache.Add(spent.Refresh, by)
	}
}

// of follows the rotation from a credential to its present end. It reports whether there was a step.
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

// unprovenFor is how long a 401 causes no other refresh of an identity whose last one has not helped (TOK-9).
const unprovenFor = 10 * time.Minute

// unproven remembers the identities that had a refresh after a 401 and no success since (TOK-9). Its lock is taken after a
// source's.
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

// clear forgets identities: a request succeeded, or they have a new credential.
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
