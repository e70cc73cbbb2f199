package observe

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// NewLogger returns the process's logger (OBS-1). Format is "text" or "json"; any other value means text on a terminal and
// JSON otherwise. Both write durations as text ("1.5s"), so that the unit is clear.
func NewLogger(w io.Writer, level slog.Leveler, format string, tty bool) *slog.Logger {
	if format == "text" || format != "json" && tty {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	}
	w = &lockedWriter{w: w}
	return slog.New(&jsonHandler{w, slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Value.Kind() == slog.KindDuration {
				a.Value = slog.StringValue(a.Value.Duration().String())
			}
			return a
		},
	})})
}

// jsonHandler formats records of requests itself.
type jsonHandler struct {
	w io.Writer
	slog.Handler
}

// write writes a record as the request log does, after the members that slog puts first.
func (h *jsonHandler) write(r *Record) {
	buf := lineBuffers.Get().(*[]byte)
	defer lineBuffers.Put(buf)
	line := time.Now().AppendFormat(append((*buf)[:0], `{"time":"`...), time.RFC3339Nano)
	line = append(line, `","level":"INFO","msg":"`+requestMessage+`"`...)
	*buf = append(r.appendMembers(line), '}', '\n')
	_, _ = h.w.Write(*buf) // as slog.Logger does
}

// lockedWriter is a writer that several goroutines can use.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// closeTimeout is how long a close waits until the last lines of a log are written.
const closeTimeout = 2 * time.Second

// Output writes the lines of a log in a goroutine of its own, so that a slow reader, such as a suspended terminal, never
// delays a request. Lines that do not fit into its queue or cannot be written are lost and counted.
type Output struct {
	out    lineWriter
	lines  *queue
	lost   atomic.Int64
	report func(w io.Writer, lost int64)
	done   chan struct{}
}

// NewOutput starts an output to w, which [Output.Close] stops. Report writes a line with the number of lost lines; it is called
// when lines can be written again.
func NewOutput(w io.Writer, report func(w io.Writer, lost int64)) *Output {
	o := &Output{out: lineWriter{w: w}, lines: newQueue(), report: report, done: make(chan struct{})}
	go o.run()
	return o
}

func (o *Output) run() {
	defer close(o.done)
	for {
		batch := o.lines.take()
		o.reportLost()
		if len(batch) == 0 {
			return
		}
		lost, _ := o.out.write(batch)
		o.lost.Add(int64(lost))
	}
}

// reportLost bypasses the queue, which may be full.
func (o *Output) reportLost() {
	lost := o.lost.Swap(0)
	if lost == 0 {
		return
	}
	var line bytes.Buffer
	o.report(&line, lost)
	if _, err := o.out.write(line.Bytes()); err != nil {
		o.lost.Add(lost)
	}
}

// Write queues a line. It never fails.
func (o *Output) Write(line []byte) (int, error) {
	if !o.lines.add(line) {
		o.lost.Add(1)
	}
	return len(line), nil
}

// Close writes the queued lines, for at most two seconds.
func (o *Output) Close() {
	if o.lines.close() {
		select {
		case <-o.done:
		case <-time.After(closeTimeout):
		}
	}
}
