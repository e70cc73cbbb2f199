package account

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// A token with less than this left is renewed in the background (TOK-2).
	renewBelow = 10 * time.Minute

	// At most one refresh begins in the background in each turn, so that a hundred accounts that all expire at once are
	// renewed within the five minutes before requests would have to wait.
	turn       = 2 * time.Second
	turnJitter = time.Second
)

// Run keeps the accounts up to date until ctx ends: it notices what other programs do to the files (ACC-4), renews
// tokens before requests need it (TOK-2) and repeats writes that failed (TOK-7d). Refreshes that it began may outlive
// it; [Keeper.Close] waits for them.
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

// watch watches the documents in use until ctx ends or others are in use.
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

// changed looks at a document of which a watch has told.
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

// takeTurn does what is due now: one refresh, and everything that only concerns the disk.
func (k *Keeper) takeTurn(ctx context.Context) {
	now := k.clock.Now()
	var next *source
	var left time.Duration
	for _, s := range k.allSources() {
		if s.store == nil {
			continue
		}
		c, problem := s.usable()
		if problem != nil {
			// A watch tells of each change once; this catches what it told of at a bad moment.
			if s.refreshFromDisk(ctx) {
				k.signal(k.changes)
			}
			continue
		}
		if s.writeDue(now) {
			k.spawn(func() { _ = s.save(k.ctx) })
		}
		// A provider whose tokens live for minutes only must not be asked for another in every turn.
		if !c.refreshable() || now.Before(c.half) || s.inFlight() || s.backingOff(now) {
			continue
		}
		if l := c.Expires.Sub(now); l < renewBelow && (next == nil || l < left) {
			next, left = s, l
		}
	}
	if next != nil {
		c, _ := next.usable()
		_, _ = next.start(c.Access, scheduled) // it reports its own failure
	}
}
