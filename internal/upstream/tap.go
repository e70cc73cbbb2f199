package upstream

import (
	"bytes"
	"io"

	"shunt/internal/pool"
	"shunt/internal/quota"
)

// tapLimit is how much of a stream is searched for events about quota, in bytes: such an event comes before the response.
const tapLimit = 64 << 10

// tap reads the quota that an event at the beginning of a stream reports (GPT-6).
type tap struct {
	read    func(data []byte) (quota.Signal, bool)
	observe func(quota.Signal)
	line    []byte // that has not ended
	left    int    // bytes to search
}

// tap returns a tap for the response to an attempt, or nil if no event of the family reports quota.
func (x *exchange) tap(a *attempt) io.Writer {
	if x.family.QuotaEvent == nil || x.counting {
		return nil
	}
	return &tap{read: x.family.QuotaEvent, left: tapLimit, observe: func(s quota.Signal) {
		x.scheduler.Observe(a.Key, pool.Outcome{Sent: a.sent, Scope: x.scope, Signal: s})
	}}
}

// Write implements [io.Writer].
func (t *tap) Write(p []byte) (int, error) {
	written := len(p)
	p = p[:min(len(p), t.left)]
	t.left -= len(p)
	for {
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			break
		}
		t.accept(append(t.line, p[:end]...))
		t.line, p = t.line[:0], p[end+1:]
	}
	if t.line = append(t.line, p...); t.left == 0 {
		t.line = nil
	}
	return written, nil
}

func (t *tap) accept(line []byte) {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return
	}
	if signal, ok := t.read(data); ok {
		t.observe(signal)
	}
}
