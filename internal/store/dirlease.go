package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

const (
	lockSuffix = ".lock"
	lockPoll   = 20 * time.Millisecond // how often a held lock is tried again
)

// dirLease is a lock of the operating system, which releases it when the process dies. It never expires: as long as its
// process lives, even if that hangs, nobody else gets it.
type dirLease struct {
	release func()
	done    chan struct{}
}

// Lease implements [Store].
func (d *Dir) Lease(ctx context.Context, name string) (Lease, error) {
	if err := firstError(ctx.Err(), checkName(name)); err != nil {
		return nil, err
	}
	// An error means a disk that cannot be written; then the document itself may still serve as the lock file.
	_ = d.create()
	target, err := resolve(filepath.Join(d.path, name))
	if err != nil {
		return nil, err
	}
	lock := flock.New(target + lockSuffix)
	_, err = lock.TryLockContext(ctx, lockPoll)
	if err != nil && ctx.Err() == nil && readableWhileLocked {
		lock = flock.New(target, flock.SetFlag(os.O_RDONLY))
		if _, second := lock.TryLockContext(ctx, lockPoll); second == nil || ctx.Err() != nil {
			err = second
		}
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", target, err)
	}
	done := make(chan struct{})
	return &dirLease{done: done, release: sync.OnceFunc(func() {
		close(done)
		_ = lock.Unlock()
	})}, nil
}

// Renew implements [Lease].
func (l *dirLease) Renew(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-l.done:
		return ErrLeaseEnded
	default:
		return nil
	}
}

// Expires implements [Lease]. It returns the zero time.
func (*dirLease) Expires() time.Time { return time.Time{} }

// Done implements [Lease].
func (l *dirLease) Done() <-chan struct{} { return l.done }

// Release implements [Lease].
func (l *dirLease) Release() { l.release() }

// lockDirectory keeps writers of one directory apart for the duration of a write. It reports whether it has a lock: a file
// system may not support locks, and the write goes on all the same.
func lockDirectory(ctx context.Context, path string) (unlock func(), locked bool, err error) {
	lock := directoryLock(path)
	locked, err = lock.TryLockContext(ctx, lockPoll)
	if ctx.Err() != nil && !locked {
		return nil, false, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = lock.Unlock() }, locked, nil
}
