package upstream

import (
	"errors"
	"io"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"shunt/internal/anthropic"
)

// Body is a client's request body in a pooled buffer, kept so that every attempt starts from the same bytes (FO-7). It
// is born with one reference; net/http may still read an attempt's body after RoundTrip has returned, so each attempt
// holds a reference of its own until its reader is closed, and the buffer is reused only after the last.
type Body struct {
	data []byte
	refs atomic.Int32
}

// ErrTooLarge says that a body is longer than its limit.
var ErrTooLarge = errors.New("request body too large")

const (
	minBuffer = 4 << 10
	presize   = 1 << 20 // what a declared length may reserve before a byte has come
)

// bufferPools hold buffers of 1<<i bytes.
var bufferPools [32]sync.Pool

func newBuffer(size int) []byte {
	class := bits.Len(uint(max(size, minBuffer) - 1))
	if class < len(bufferPools) {
		if p, ok := bufferPools[class].Get().(*[]byte); ok {
			return (*p)[:0]
		}
	}
	return make([]byte, 0, 1<<class)
}

func freeBuffer(b []byte) {
	if class := bits.Len(uint(cap(b) - 1)); class < len(bufferPools) && cap(b) == 1<<class {
		b = b[:0]
		bufferPools[class].Put(&b)
	}
}

// ReadBody reads r to its end. Declared is the announced length in bytes, -1 when unknown; a body of more than limit
// bytes is ErrTooLarge. The buffer grows as bytes arrive. The caller releases the body.
func ReadBody(r io.Reader, declared, limit int64) (*Body, error) {
	if declared > limit {
		return nil, ErrTooLarge
	}
	data := newBuffer(int(min(max(declared, 0)+1, presize)))
	for {
		if len(data) == cap(data) {
			grown := append(newBuffer(2*cap(data)), data...)
			freeBuffer(data)
			data = grown
		}
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if int64(len(data)) > limit {
			err = ErrTooLarge
		}
		if err == io.EOF {
			b := &Body{data: data}
			b.refs.Store(1)
			return b, nil
		}
		if err != nil {
			freeBuffer(data)
			return nil, err
		}
	}
}

// Bytes is the body as the client sent it; it must not be changed or kept beyond Release.
func (b *Body) Bytes() []byte { return b.data }

// Release gives up one reference.
func (b *Body) Release() {
	if b.refs.Add(-1) == 0 {
		freeBuffer(b.data)
		b.data = nil
	}
}

// reader sends a body with edits applied, once.
type reader struct {
	mu       sync.Mutex // net/http may close while it reads
	body     *Body
	segments [][]byte
	patience time.Duration
	timer    *time.Timer
}

// open returns a reader over the edited body and its length in bytes.
func (b *Body) open(edits []anthropic.Edit) (*reader, int64) {
	b.refs.Add(1)
	segments, length := anthropic.Splice(b.data, edits...)
	return &reader{body: b, segments: segments}, length
}

// limit has expire called when, after reading has begun, neither another read nor [reader.answered] comes within patience:
// a peer that stops taking the request is as slow as one that does not answer it.
func (r *reader) limit(patience time.Duration, expire func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.patience = patience
	r.timer = time.AfterFunc(patience, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.timer != nil {
			expire()
		}
	})
	r.timer.Stop()
}

// answered ends the limit: once it has returned, nothing expires any more.
func (r *reader) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}

func (r *reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.body == nil {
		return 0, errors.New("read of a closed request body")
	}
	if r.timer != nil {
		r.timer.Reset(r.patience)
	}
	n := 0
	for len(r.segments) > 0 && n < len(p) {
		m := copy(p[n:], r.segments[0])
		n += m
		if r.segments[0] = r.segments[0][m:]; len(r.segments[0]) == 0 {
			r.segments = r.segments[1:]
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.body != nil {
		r.body.Release()
		r.body, r.segments = nil, nil
	}
	return nil
}
