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
const requestLogCondition = "request log loses lines"

// RequestLog appends records to a file as JSON lines, behind a bounded queue: a slow or full disk costs lines, which are
// counted and raised as a condition, and never holds up a request.
type RequestLog struct {
	path   string
	health *Health

	lines *queue

	lost     atomic.Int64
	file     atomic.Pointer[os.File] // the writer's
	reopened atomic.Pointer[os.File] // what it changes to before its next write
	done     chan error              // the writer's last word
}

// OpenRequestLog opens or creates the file (0600) and starts the goroutine that writes it; [RequestLog.Close] ends both.
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

// Write hands over the record's line and returns at once. After Close the line is lost.
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

// Lost is the number of lines that could not be written so far.
func (l *RequestLog) Lost() int64 { return l.lost.Load() }

func (l *RequestLog) lose(lines int, why string) {
	l.health.Set(requestLogCondition, fmt.Sprintf("%d lost: %s", l.lost.Add(int64(lines)), why))
}

// Reopen opens the path anew, after the file was moved away by log rotation. It does not wait for the disk: records that
// are still queued go to the new file. On an error the old file stays in use.
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
	if l.lines.isClosed() && l.reopened.CompareAndSwap(file, nil) { // the writer had ended before it could take it
		err = file.Close()
	}
	return err
}

// Close writes what is queued, as far as the disk takes it within two seconds, and closes the file. Closing again does
// nothing.
func (l *RequestLog) Close() error {
	if !l.lines.close() {
		return nil
	}
	select {
	case err := <-l.done:
		return err
	case <-time.After(closePatience):
	}
	if l.file.Load().SetWriteDeadline(time.Now()) == nil { // it is a pipe that nobody reads
		return <-l.done
	}
	return fmt.Errorf("request log: the disk does not take the last lines of %s", l.path)
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
			_ = file.Close() // each of its writes was checked
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
