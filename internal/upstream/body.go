package upstream

import (
	"errors"
	"io"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"shunt/internal/wire"
)

// Body is a client's request body in a pooled buffer, kept so that every attempt starts from the same bytes (FO-7). It is
// counted by references: [ReadBody] returns one, and each attempt holds its own until it is sent, which may be after its
// response has begun. The buffer is reused when the last is released.
type Body struct {
	data []byte
	refs atomic.Int32
}

// ErrTooLarge reports that a body is longer than its limit.
var ErrTooLarge = errors.New("request body too large")

const (
	minBuffer = 4 << 10
	presize   = 1 << 20 // most that a declared length reserves before bytes arrive
)

// bufferPools[i] holds buffers of 1<<i bytes.
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

// ReadBody reads r to its end. Declared is the announced length in bytes, -1 if unknown. It returns [ErrTooLarge] if the body
// is longer than limit bytes. The buffer grows as bytes arrive. The caller releases the body.
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
			return newBody(data), nil
		}
		if err != nil {
			freeBuffer(data)
			return nil, err
		}
	}
}

// newBody returns a body with one reference.
func newBody(data []byte) *Body {
	b := &Body{data: data}
	b.refs.Store(1)
	return b
}

// Bytes returns the body as the client sent it. It must not be modified, or used after Release.
func (b *Body) Bytes() []byte { return b.data }

// Release releases one reference.
func (b *Body) Release() {
	if b.refs.Add(-1) == 0 {
		freeBuffer(b.data)
		b.data = nil
	}
}

// payload is a client's request as one attempt sends it. It holds a reference to the body until it is sent, which may be after
// the response has begun.
type payload struct {
	target  string        // path and query
	timeout time.Duration // for the response to begin; 0 is no limit
	fresh   bool          // requires a new connection
	fields  []field
	head    []byte
	body    [][]byte
	length  int64
	source  *Body
}

var payloads = sync.Pool{New: func() any { return new(payload) }}

// newPayload returns a payload with the edits applied to a body, whose bytes it shares.
func newPayload(b *Body, edits []wire.Edit) *payload {
	b.refs.Add(1)
	p := payloads.Get().(*payload)
	p.source = b
	p.body, p.length = wire.Splice(b.data, edits...)
	return p
}

func (p *payload) release() {
	p.source.Release()
	clear(p.fields)
	p.fields, p.head, p.body, p.source = p.fields[:0], p.head[:0], nil, nil
	payloads.Put(p)
}
