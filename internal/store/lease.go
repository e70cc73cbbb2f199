package store

import (
	"context"
	"errors"
	"time"
)

// LeaseTime is how long a lease lasts unless it is renewed (REP-5).
const LeaseTime = time.Minute

// ErrLeaseEnded reports that a lease was released or lost, or has expired.
var ErrLeaseEnded = errors.New("the lease has ended")

// Lease is the exclusive right to do some work, among all processes that share the store. It is advisory: the store does
// not check it when documents are read or written. It ends when the holder releases it, when it expires because the
// holder has not renewed it, or when the store loses it. A holder that dies loses it at the latest when it expires.
// All methods may be called concurrently.
type Lease interface {
	// Renew extends the lease: it now expires LeaseTime from now. If the lease has ended, Renew returns an error that
	// is [ErrLeaseEnded]. After any other error the lease expires when it would have expired anyway.
	Renew(ctx context.Context) error

	// Expires returns the time at which the lease ends unless it is renewed. The zero time means that it lasts until it
	// is released or the process dies.
	Expires() time.Time

	// Done returns a channel that is closed when the lease ends, for whatever reason. Work under the lease must then
	// stop.
	Done() <-chan struct{}

	// Release ends the lease. Releasing a lease that has ended does nothing, even if another holder has it now.
	Release()
}
