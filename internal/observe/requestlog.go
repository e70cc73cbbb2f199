package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

const (
	queueLength = 1024     // records between the requests and the disk
	batchSize   = 64 << 10 // bytes that are collected for one write, while records wait
)

// requestLogCondition is set while lines are being lost.
const requestLogCondition = "request log loses lines"

// RequestLog appends records to a file as JSON lines, behind a bounded queue: a slow or full disk costs lines, which are
// counted and raised as a condition, and never holds up a request.
type RequestLog struct {
	path   string
	health *Health

	mu     sync.RWMutex // guards closed against senders on queue
	closed bool
	queue  chan Record

	lost     atomic.Int64
	reopened atomic.Pointer[os.File] // what the writer changes to before its next write
	done     chan error              // the writer's last word
}

// OpenRequestLog opens or creates the file (0600) and starts the goroutine that writes it; [RequestLog.Close] ends both.
func OpenRequestLog(path string, health *Health) (*RequestLog, error) {
	file, err := openLog(path)
	if err != nil {
		return nil, err
	}
	l := &RequestLog{path: path, health: health, queue: make(chan Record, queueLength), done: make(chan error, 1)}
	go func() { l.done <- l.run(file) }()
	return l, nil
}

func openLog(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open request log: %w", err)
	}
	return file, nil
}

// Write hands over a copy of the record and returns at once. What r points to must not change afterwards. After Close the
// line is lost.
func (l *RequestLog) Write(r *Record) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.closed {
		select {
		case l.queue <- *r:
			return
		default:
		}
	}
	l.lose(1, "the disk is too slow")
}

// Lost is the number of lines that could not be written so far.
func (l *RequestLog) Lost() int64 { return l.lost.Load() }

func (l *RequestLog) lose(lines int, why string) {
	l.health.Set(requestLogCondition, fmt.Sprintf("%d lost: %s", l.lost.Add(int64(lines)), why))
}

// Reopen opens the path anew, after the file was moved away by log rotation. It does not wait for the disk: records that
// are still queued go to the new file. On an error the old file stays in use.
func (l *RequestLog) Reopen() error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return fmt.Errorf("reopen request log: %w", os.ErrClosed)
	}
	file, err := openLog(l.path)
	if err != nil {
		return err
	}
	if unused := l.reopened.Swap(file); unused != nil {
		return unused.Close()
	}
	return nil
}

// Close writes what is queued, closes the file and waits for both. Closing again does nothing.
func (l *RequestLog) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	close(l.queue)
	l.mu.Unlock()
	return <-l.done
}

// run writes batches until the queue is closed and empty.
func (l *RequestLog) run(file *os.File) error {
	var batch bytes.Buffer
	out := lineWriter{w: file}
	lostBefore := int64(0)
	for first := range l.queue {
		l.collect(&batch, first)
		if next := l.reopened.Swap(nil); next != nil {
			_ = file.Close() // each of its writes was checked
			file, out = next, lineWriter{w: next}
		}
		if lost, err := out.write(batch.Bytes()); err != nil {
			l.lose(lost, err.Error())
		}
		if lost := l.Lost(); lost != lostBefore {
			lostBefore = lost
		} else if len(l.queue) == 0 {
			l.health.Clear(requestLogCondition)
		}
	}
	err := file.Close()
	if next := l.reopened.Swap(nil); next != nil {
		err = errors.Join(err, next.Close())
	}
	return err
}

// collect fills the batch with first and what waits behind it.
func (l *RequestLog) collect(batch *bytes.Buffer, first Record) {
	batch.Reset()
	lines := json.NewEncoder(batch)
	for r, more := first, true; more; {
		r.Model = clip(r.Model)
		if err := lines.Encode(r); err != nil {
			l.lose(1, err.Error())
		}
		if batch.Len() >= batchSize {
			return
		}
		select {
		case r, more = <-l.queue:
		default:
			return
		}
	}
}

// lineWriter keeps lines whole: after a write that ended inside one, the next begins on a line of its own.
type lineWriter struct {
	w    io.Writer
	torn bool
}

// write returns, with its error, how many lines of the batch are not wholly there.
func (l *lineWriter) write(batch []byte) (lost int, err error) {
	if l.torn {
		if _, err := l.w.Write([]byte{'\n'}); err != nil {
			return bytes.Count(batch, []byte{'\n'}), err
		}
		l.torn = false
	}
	n, err := l.w.Write(batch)
	if err == nil {
		return 0, nil
	}
	l.torn = n > 0 && batch[n-1] != '\n'
	return bytes.Count(batch[n:], []byte{'\n'}), err
}
