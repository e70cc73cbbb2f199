package relay

import (
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"shunt/internal/dialect"
)

// errIdle is the error of reading a body that was closed because nothing arrived.
var errIdle = errors.New("the upstream sent nothing for too long")

// idleBody is an upstream's body that is closed once a read of it has waited for limit (WIRE-12b). Only time spent in reads
// counts: while the client reads nothing, the body is not read either.
type idleBody struct {
	body  io.ReadCloser
	limit time.Duration

	mu      sync.Mutex
	timer   *time.Timer
	since   time.Time // when the current read began; zero: there is none
	expired bool
	stopped bool
}

func limitIdle(body io.ReadCloser, limit time.Duration) *idleBody {
	b := &idleBody{body: body, limit: limit}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer = time.AfterFunc(limit, b.check)
	return b
}

// Read implements [io.Reader].
func (b *idleBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	b.since = time.Now()
	b.mu.Unlock()
	n, err := b.body.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.since = time.Time{}
	if err != nil && err != io.EOF && b.expired {
		err = errIdle
	}
	return n, err
}

// Close implements [io.Closer].
func (b *idleBody) Close() error { return b.body.Close() }

// check runs when a read may have waited too long. One timer serves all reads, so that no read has to set one.
func (b *idleBody) check() {
	if b.overdue() {
		b.body.Close()
	}
}

func (b *idleBody) overdue() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return false
	}
	left := b.limit
	if !b.since.IsZero() {
		left -= time.Since(b.since)
	}
	if left > 0 {
		b.timer.Reset(left)
		return false
	}
	b.expired = true
	return true
}

func (b *idleBody) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
	b.timer.Stop()
}

// idleEvent returns the event that ends a stream whose upstream sent nothing for so long.
func idleEvent(client dialect.Inbound, d time.Duration) []byte {
	return client.AppendErrorEvent(nil, idleError(d))
}

func idleError(d time.Duration) *dialect.Error {
	seconds := strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
	return &dialect.Error{
		Kind:    dialect.ServerError,
		Message: "the upstream sent nothing for " + seconds + " seconds: the response is incomplete, and the request can be sent again",
	}
}
