package relay

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// events relays an uncompressed event stream. Two goroutines use it under the lock: the one that reads the upstream, and the
// timer's, which ends a hold and sends pings. Both stop when ended is set.
type events struct {
	mu       sync.Mutex
	out      *output
	options  Options
	head     []byte // held back so far
	held     bool   // the first event has not arrived
	begun    bool   // the client has the headers
	ended    bool
	last     time.Time // of the upstream's last byte or shunt's last ping
	boundary wire.Boundary
	rename   *renamer // nil: the model is the client's
	meter    dialect.StreamMeter
	timer    *time.Timer
}

func relayEvents(out *output, r Response, o Options) Result {
	out.flushEach, out.eventStream = true, true
	s := &events{out: out, options: o, held: r.Status == http.StatusOK && (o.Hold || o.Model != ""), last: time.Now(), meter: o.Dialect.NewStreamMeter()}
	if o.Model != "" {
		s.rename = newRenamer(o.Dialect, o.Model)
	}
	pause := o.KeepAlive
	if s.held {
		pause = holdLimit
		if o.KeepAlive > 0 {
			pause = min(o.KeepAlive, holdLimit)
		}
	} else {
		s.begin()
		out.send()
	}
	if pause > 0 {
		s.mu.Lock()
		s.timer = time.AfterFunc(pause, s.tick)
		s.mu.Unlock()
	}
	return s.run(r.Body)
}

const eventBufferSize = 8 << 10

var eventBufferPool = sync.Pool{New: func() any { return new([eventBufferSize]byte) }}

func (s *events) run(body io.Reader) Result {
	buf := eventBufferPool.Get().(*[eventBufferSize]byte)
	defer eventBufferPool.Put(buf)
	for {
		n, err := body.Read(buf[:])
		if more := s.accept(buf[:n], err); !more {
			return s.out.result
		}
	}
}

// accept handles what one read of the upstream returned, and reports whether to read on.
func (s *events) accept(p []byte, readErr error) (more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(p) > 0 {
		s.last = time.Now()
		s.boundary.Write(p)
		s.meter.Write(p)
		if s.options.Tap != nil {
			_, _ = s.options.Tap.Write(p)
		}
	}
	s.out.final = readErr == io.EOF
	if !s.held {
		s.send(p)
	} else if len(p) > 0 {
		s.hold(p)
	}
	if s.out.result.Refusal != nil {
		s.end()
		if s.options.Client != nil {
			s.options.Client.takeBack()
		}
		return false
	}
	if readErr == nil && s.out.result.ClientErr == nil {
		return true
	}
	s.finish(readErr)
	return false
}

// finish ends the response: the upstream's bytes ended with readErr, or the client has left.
func (s *events) finish(readErr error) {
	complete := s.meter.Complete()
	if readErr == errIdle && complete {
		readErr = io.EOF // only the end of the connection is missing
	}
	idle := readErr == errIdle
	switch {
	case idle:
		s.endIdle()
	case s.held:
		s.release(s.head)
	}
	if s.rename != nil {
		s.out.send(s.rename.flush())
	}
	s.out.result.Idle = idle
	s.out.result.Aborted = readErr != nil && readErr != io.EOF
	s.out.result.Truncated = idle || readErr != nil && s.out.response.Status == http.StatusOK && !complete
	s.end()
}

// endIdle sends an event, if one may be sent here, which says that the upstream has fallen silent. It drops an incomplete
// event that is held, so that the client reads the error.
func (s *events) endIdle() {
	between := s.boundary.AtEnd()
	if s.held {
		between = true
		if !s.begun {
			s.begin()
		}
		s.pass(s.head)
	}
	if between {
		s.out.send(idleEvent(s.options.Dialect, s.options.Idle))
	}
}

// hold decides what to do with the head so far: release it, refuse the response, or keep holding.
func (s *events) hold(p []byte) {
	head := p
	if len(s.head) > 0 {
		s.head = append(s.head, p...)
		head = s.head
	}
	first, found := s.options.Dialect.FirstEvent(head)
	if found && s.options.Hold && !s.begun && first.Failure != nil {
		s.out.result.Refusal, s.out.result.Head = first.Failure, bytes.Clone(head)
		return
	}
	switch {
	case found || len(head) >= HeadLimit:
		s.release(head)
	case s.begun:
		s.pass(head)
	case len(s.head) == 0:
		s.head = bytes.Clone(p)
	}
}

// pass sends the pings and comments at the beginning of a head that has no first event yet, and holds the rest.
func (s *events) pass(head []byte) {
	first, _ := s.options.Dialect.FirstEvent(head)
	blocks := head[:first.Start]
	var end wire.Boundary
	if end.Write(blocks); !end.AtEnd() {
		blocks = nil
	}
	s.send(blocks)
	s.head = append(s.head[:0], head[len(blocks):]...)
}

func (s *events) begin() {
	s.begun = true
	s.out.head()
}

// release sends the head.
func (s *events) release(head []byte) {
	s.held, s.head = false, nil
	if !s.begun {
		s.begin()
	}
	s.send(head)
}

// send sends bytes of the upstream's, with the model restored.
func (s *events) send(p []byte) {
	if s.rename == nil {
		s.out.send(p)
		return
	}
	s.out.send(s.rename.rename(p)...)
	if s.rename.plain {
		s.rename = nil
	}
}

// overdue begins the response although its first event has not arrived. From now on it cannot be a refusal, but the model has
// yet to be restored, so an incomplete event stays held.
func (s *events) overdue() {
	if s.options.Model == "" {
		s.release(s.head)
		return
	}
	s.begin()
	s.pass(s.head)
}

// tick ends a hold that has lasted too long, and sends a ping during a silence.
func (s *events) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if !s.begun {
		s.overdue()
	}
	if s.options.KeepAlive == 0 {
		return
	}
	if time.Since(s.last) >= s.options.KeepAlive {
		if (s.held || s.boundary.AtEnd()) && !s.meter.Complete() {
			s.out.send(s.options.Dialect.Ping())
		}
		s.last = time.Now()
	}
	s.timer.Reset(s.options.KeepAlive - time.Since(s.last))
}

func (s *events) end() {
	s.ended = true
	s.out.result.Usage = s.meter.Usage()
	if s.out.response.Status == http.StatusOK {
		s.out.result.StreamError = s.meter.Failure()
	}
	if s.timer != nil {
		s.timer.Stop()
	}
}
