package observe

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// NewLogger builds the process's logger (OBS-1). Format is "text" or "json"; anything else means text on a terminal and
// JSON otherwise. Durations print as text ("1.5s") in both, so that no reader has to guess a unit.
func NewLogger(w io.Writer, level slog.Leveler, format string, tty bool) *slog.Logger {
	if format == "text" || format != "json" && tty {
		return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	}
	w = &shared{w: w}
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

// jsonHandler writes records of requests by itself.
type jsonHandler struct {
	w io.Writer
	slog.Handler
}

// write writes a record as the request log does, behind the members that slog puts first.
func (h *jsonHandler) write(r *Record) {
	buf := lineBuffers.Get().(*[]byte)
	defer lineBuffers.Put(buf)
	line := time.Now().AppendFormat(append((*buf)[:0], `{"time":"`...), time.RFC3339Nano)
	line = append(line, `","level":"INFO","msg":"`+requestMessage+`"`...)
	*buf = append(r.appendMembers(line), '}', '\n')
	_, _ = h.w.Write(*buf) // as slog.Logger does
}

// shared is a writer for several at once.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// closePatience is how long a close waits for whoever takes the last lines of a log.
const closePatience = 2 * time.Second

// Output writes the lines of a log from a goroutine of its own, so that a reader who takes none, such as a terminal that is
// halted, never holds up a request. Lines that find no room, or cannot be written, are lost and counted.
type Output struct {
	out    lineWriter
	lines  *queue
	lost   atomic.Int64
	report func(w io.Writer, lost int64)
	done   chan struct{}
}

// NewOutput starts an output to w, which [Output.Close] ends. Report writes a line that says how many lines are lost; it is
// called when lines can be written again.
func NewOutput(w io.Writer, report func(w io.Writer, lost int64)) *Output {
	o := &Output{out: lineWriter{w: w}, lines: newQueue(), report: report, done: make(chan struct{})}
	go o.run()
	return o
}

func (o *Output) run() {
	defer close(o.done)
	for {
		batch := o.lines.take()
		o.tellLost()
		if len(batch) == 0 {
			return
		}
		lost, _ := o.out.write(batch)
		o.lost.Add(int64(lost))
	}
}

// tellLost goes around the queue, in which there may be no room for it either.
func (o *Output) tellLost() {
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

// Write takes a line. It never fails.
func (o *Output) Write(line []byte) (int, error) {
	if !o.lines.add(line) {
		o.lost.Add(1)
	}
	return len(line), nil
}

// Close writes what waits, as far as somebody takes it within two seconds.
func (o *Output) Close() {
	if o.lines.close() {
		select {
		case <-o.done:
		case <-time.After(closePatience):
		}
	}
}
