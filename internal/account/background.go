package account

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// renewBelow is how long before its expiry a token is renewed in the background (TOK-2).
	renewBelow = 10 * time.Minute

	// At most one background refresh begins in each turn. A hundred accounts that expire at once are renewed within the
	// five minutes before requests would have to wait.
	turn       = 2 * time.Second
	turnJitter = time.Second
)

// Run keeps the accounts up to date until ctx ends: it follows changes to the files by other programs (ACC-4), renews
// tokens before requests need it (TOK-2) and retries failed writes (TOK-7d). Refreshes that it began may outlive it;
// [Keeper.Close] waits for them.
func (k *Keeper) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		for {
			k.takeTurn(ctx)
			if k.clock.Sleep(ctx, turn+rand.N(turnJitter)) != nil {
				return
			}
		}
	})
	for ctx.Err() == nil {
		k.watch(ctx)
	}
}

// watch watches the documents in use until ctx ends or the list of them changes.
func (k *Keeper) watch(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	k.mu.Lock()
	for dir, names := range k.watched {
		store := k.stores[dir]
		running.Go(func() {
			_ = store.Watch(ctx, func(name string) { k.changed(ctx, dir, name) }, names...)
		})
	}
	k.mu.Unlock()
	select {
	case <-k.rewatch:
	case <-ctx.Done():
	}
}

// changed reads a document after its watch reported a change.
func (k *Keeper) changed(ctx context.Context, dir, name string) {
	for _, f := range k.families {
		k.mu.Lock()
		s, known := k.sources[place{f, dir, name}]
		k.mu.Unlock()
		_, entry := entryName(name)
		if known && s.refreshFromDisk(ctx) || !known && entry && dir == f.Dir {
			k.signal(k.changes)
		}
	}
}

// takeTurn does what is due: at most one refresh, and all reads and writes.
func (k *Keeper) takeTurn(ctx context.Context) {
	now := k.clock.Now()
	var next *source
	var earliest time.Duration
	for _, s := range k.allSources() {
		if s.store == nil {
			continue
		}
		c, problem := s.usable()
		if problem != nil {
			// A watch reports each change once; this catches a change that could not be read at that moment.
			if s.refreshFromDisk(ctx) {
				k.signal(k.changes)
			}
			continue
		}
		if s.writeDue(now) {
			k.spawn(func() { _ = s.save(k.ctx) })
		}
		// Tokens that live only minutes must not be refreshed in every turn.
		if !c.refreshable() || c.untilRejected() || now.Before(c.half) || s.inFlight() || s.backingOff(now) {
			continue
		}
		if left := c.Expires.Sub(now); left < renewBelow && (next == nil || left < earliest) {
			next, earliest = s, left
		}
	}
	if next != nil {
		c, _ := next.usable()
		_, _ = next.start(c.Access, scheduled) // a refresh reports its own failure
	}
}
