package observe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// requestLogCondition is set while lines are being lost.
const requestLogCondition = "request log is losing lines"

// RequestLog appends records to a file as JSON lines, through a bounded queue: a slow or full disk never delays a request. It
// loses lines instead, which are counted and reported as a condition.
type RequestLog struct {
	path   string
	health *Health

	lines *queue

	lost     atomic.Int64
	file     atomic.Pointer[os.File] // the writer's current file
	reopened atomic.Pointer[os.File] // the writer switches to it before its next write
	done     chan error              // receives the writer's result
}

// OpenRequestLog opens or creates the file (0600) and starts the goroutine that writes to it; [RequestLog.Close] stops it.
func OpenRequestLog(path string, health *Health) (*RequestLog, error) {
	file, err := openLog(path)
	if err != nil {
		return nil, err
	}
	l := &RequestLog{path: path, health: health, lines: newQueue(), done: make(chan error, 1)}
	l.file.Store(file)
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

// Write queues the record's line and returns immediately. After Close the line is lost.
func (l *RequestLog) Write(r *Record) {
	line := lineBuffers.Get().(*[]byte)
	defer lineBuffers.Put(line)
	*line = r.appendLine((*line)[:0])
	switch {
	case l.lines.add(*line):
	case l.lines.isClosed():
		l.lose(1, "the log is closed")
	default:
		l.lose(1, "the disk is too slow")
	}
}

// Lost returns the number of lines that could not be written so far.
func (l *RequestLog) Lost() int64 { return l.lost.Load() }

func (l *RequestLog) lose(lines int, why string) {
	l.health.Set(requestLogCondition, fmt.Sprintf("%d lost: %s", l.lost.Add(int64(lines)), why))
}

// Reopen opens the path again after log rotation moved the file away. It does not wait for the disk: queued records go to
// the new file. If it fails, the old file stays in use.
func (l *RequestLog) Reopen() error {
	if l.lines.isClosed() {
		return fmt.Errorf("reopen request log: %w", os.ErrClosed)
	}
	file, err := openLog(l.path)
	if err != nil {
		return err
	}
	if unused := l.reopened.Swap(file); unused != nil {
		err = unused.Close()
	}
	if l.lines.isClosed() && l.reopened.CompareAndSwap(file, nil) { // the writer ended before it could use it
		err = file.Close()
	}
	return err
}

// Close writes the queued records, for at most two seconds, and closes the file. Closing it again does nothing.
func (l *RequestLog) Close() error {
	if !l.lines.close() {
		return nil
	}
	select {
	case err := <-l.done:
		return err
	case <-time.After(closeTimeout):
	}
	if l.file.Load().SetWriteDeadline(time.Now()) == nil { // a pipe without a reader
		return <-l.done
	}
	return fmt.Errorf("close request log: the disk is too slow for the last lines of %s", l.path)
}

// run writes batches until the queue is closed and empty.
func (l *RequestLog) run(file *os.File) error {
	out := lineWriter{w: file}
	lostBefore := int64(0)
	for {
		batch := l.lines.take()
		if len(batch) == 0 {
			break
		}
		if next := l.reopened.Swap(nil); next != nil {
			_ = file.Close() // every write was checked
			file, out = next, lineWriter{w: next}
			l.file.Store(file)
		}
		if lost, err := out.write(batch); err != nil {
			l.lose(lost, err.Error())
		}
		if lost := l.Lost(); lost != lostBefore {
			lostBefore = lost
		} else if l.lines.empty() {
			l.health.Clear(requestLogCondition)
		}
	}
	err := file.Close()
	if next := l.reopened.Swap(nil); next != nil {
		err = errors.Join(err, next.Close())
	}
	return err
}

// lineWriter keeps lines intact: after a write that ended in the middle of a line, the next one starts on a new line.
type lineWriter struct {
	w    io.Writer
	torn bool
}

// write returns the number of lines that were not written completely, and the error.
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
