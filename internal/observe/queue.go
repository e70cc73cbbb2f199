package observe

import (
	"sync"
	"time"
)

const (
	queueLimit = 1 << 20               // bytes of waiting lines
	gatherFor  = 10 * time.Millisecond // how long lines are collected for one write
)

// queue holds lines for a writer that may be slow. Adding a line never waits for the writer.
type queue struct {
	mu     sync.Mutex
	lines  []byte
	spare  []byte // what take returned last, for its next call
	closed bool

	ready chan struct{} // holds a token while there are lines
	done  chan struct{} // closed with the queue
}

func newQueue() *queue {
	return &queue{ready: make(chan struct{}, 1), done: make(chan struct{})}
}

// add reports whether the queue was open and had room for the line.
func (q *queue) add(line []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.lines)+len(line) > queueLimit {
		return false
	}
	q.lines = append(q.lines, line...)
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return true
}

// take waits for lines and returns them. They are valid until the next call. It returns none only when the queue is closed and
// empty.
func (q *queue) take() []byte {
	select {
	case <-q.ready:
		select {
		case <-time.After(gatherFor):
		case <-q.done:
		}
	case <-q.done:
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-q.ready: // of lines that were added meanwhile
	default:
	}
	q.lines, q.spare = q.spare[:0], q.lines
	return q.spare
}

func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.lines) == 0
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// close makes the queue refuse further lines. It returns false if it was closed before.
func (q *queue) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.closed = true
	close(q.done)
	return true
}

// lineBuffers are buffers to format lines in.
var lineBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 1<<10); return &b }}
