package observe

import (
	"sync"
	"time"
)

const (
	queueLimit = 1 << 20               // bytes of lines that wait for a writer
	gatherFor  = 10 * time.Millisecond // in which lines gather for one write
)

// queue holds lines between those who have them and a writer that may be slow. Whoever adds one never waits for the writer.
type queue struct {
	mu     sync.Mutex
	lines  []byte
	spare  []byte // what take gave out last, until it gives out the next
	closed bool

	ready chan struct{} // holds a token while there are lines
	done  chan struct{} // is closed with the queue
}

func newQueue() *queue {
	return &queue{ready: make(chan struct{}, 1), done: make(chan struct{})}
}

// add reports whether there was room.
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

// take waits until lines have gathered, and returns them; they hold until the next call. There are none left after a close
// when it returns none.
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
	case <-q.ready: // of lines that came meanwhile
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

// close lets no more lines in; false if it was closed before.
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

// lineBuffers hold lines while they are made.
var lineBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 1<<10); return &b }}
