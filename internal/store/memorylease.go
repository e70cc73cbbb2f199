package store

import (
	"context"
	"fmt"
	"time"
)

// memoryLease is a lease in a [Memory] store, whose lock guards its fields. It expires like the lease of a database, so
// that tests see the same loss.
type memoryLease struct {
	store   *Memory
	name    string
	expires time.Time
	timer   *time.Timer
	done    chan struct{}
}

// Lease implements [Store].
func (m *Memory) Lease(ctx context.Context, name string) (Lease, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	for ctx.Err() == nil {
		lease, held := m.tryLease(name)
		if held == nil {
			return lease, nil
		}
		select {
		case <-held.done:
		case <-ctx.Done():
		}
	}
	return nil, fmt.Errorf("lease %s: %w", name, ctx.Err())
}

// tryLease returns a new lease, or the one that another holder has.
func (m *Memory) tryLease(name string) (lease, held *memoryLease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if held := m.leases[name]; held != nil {
		return nil, held
	}
	if m.leases == nil {
		m.leases = map[string]*memoryLease{}
	}
	l := &memoryLease{store: m, name: name, expires: time.Now().Add(LeaseTime), done: make(chan struct{})}
	l.timer = time.AfterFunc(LeaseTime, l.expire)
	m.leases[name] = l
	return l, nil
}

// Renew implements [Lease].
func (l *memoryLease) Renew(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	now := time.Now()
	if l.store.leases[l.name] != l || !now.Before(l.expires) {
		return fmt.Errorf("lease %s: %w", l.name, ErrLeaseEnded)
	}
	l.expires = now.Add(LeaseTime)
	l.timer.Reset(LeaseTime)
	return nil
}

// Expires implements [Lease].
func (l *memoryLease) Expires() time.Time {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	return l.expires
}

// Done implements [Lease].
func (l *memoryLease) Done() <-chan struct{} { return l.done }

// Release implements [Lease].
func (l *memoryLease) Release() {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	l.end()
}

// expire ends the lease unless it was renewed while the timer fired.
func (l *memoryLease) expire() {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if !time.Now().Before(l.expires) {
		l.end()
	}
}

// end makes room for the next holder. The caller holds the store's lock.
func (l *memoryLease) end() {
	if l.store.leases[l.name] == l {
		l.timer.Stop()
		delete(l.store.leases, l.name)
		close(l.done)
	}
}
