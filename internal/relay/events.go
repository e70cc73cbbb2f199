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

// events relays an uncompressed event stream. Two parties act on it under the lock: the goroutine that reads the upstream,
// and the timer that ends a hold and fills silences. Both stop when ended is set.
type events struct {
	mu       sync.Mutex
	out      *output
	options  Options
	head     []byte // held back so far
	held     bool   // the first event has not come
	begun    bool   // the client has the headers: the answer is its
	ended    bool
	last     time.Time // of the upstream's last byte or our last ping
	boundary wire.Boundary
	meter    dialect.StreamMeter
	timer    *time.Timer
}

func relayEvents(out *output, a Answer, o Options) Result {
	out.flushEach, out.eventStream = true, true
	s := &events{out: out, options: o, held: a.Status == http.StatusOK && (o.Hold || o.Model != ""), last: time.Now(), meter: o.Upstream.NewStreamMeter()}
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
	return s.run(a.Body)
}

const eventBufferSize = 8 << 10

var eventBufferPool = sync.Pool{New: func() any { return new([eventBufferSize]byte) }}

func (s *events) run(body io.Reader) Result {
	buf := eventBufferPool.Get().(*[eventBufferSize]byte)
	defer eventBufferPool.Put(buf)
	for {
		n, err := body.Read(buf[:])
		if goOn := s.accept(buf[:n], err); !goOn {
			return s.out.result
		}
	}
}

// accept takes what one read of the upstream gave and reports whether to read on.
func (s *events) accept(p []byte, readErr error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(p) > 0 {
		s.last = time.Now()
		s.boundary.Write(p)
		s.meter.Write(p)
	}
	s.out.final = readErr == io.EOF
	if !s.held {
		s.out.send(p)
	} else if len(p) > 0 {
		s.hold(p)
	}
	if s.out.result.Refusal != dialect.NoError {
		s.end()
		return false
	}
	if readErr == nil && s.out.result.ClientErr == nil {
		return true
	}
	s.finish(readErr)
	return false
}

// finish ends the response, of which nothing more comes: the upstream's bytes ended with readErr, or the client has gone.
func (s *events) finish(readErr error) {
	complete := s.meter.Complete()
	if readErr == errIdle && complete {
		readErr = io.EOF // nothing is missing but the end of the connection
	}
	idle := readErr == errIdle
	switch {
	case idle:
		s.giveUp()
	case s.held:
		s.release(s.head)
	}
	s.out.result.Idle = idle
	s.out.result.Broken = readErr != nil && readErr != io.EOF
	s.out.result.Cut = idle || readErr != nil && s.out.answer.Status == http.StatusOK && !complete
	s.end()
}

// giveUp sends an event, if one may be sent here, that says that the upstream has fallen silent. An incomplete event that is
// held is dropped, so that the client reads the error.
func (s *events) giveUp() {
	between := s.boundary.AtEnd()
	if s.held {
		between = true
		if !s.begun {
			s.begin()
		}
		s.pass(s.head)
	}
	if between {
		s.out.send(idleEvent(s.options.Client, s.options.Idle))
	}
}

// hold decides on the head so far: it is released, or refused, or held on to.
func (s *events) hold(p []byte) {
	head := p
	if len(s.head) > 0 {
		s.head = append(s.head, p...)
		head = s.head
	}
	first, found := s.options.Upstream.FirstEvent(head)
	if found && s.options.Hold && !s.begun && first.Failure != dialect.NoError {
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

// pass sends the pings and comments that a head without a first event begins with, and holds the rest.
func (s *events) pass(head []byte) {
	first, _ := s.options.Upstream.FirstEvent(head)
	blocks := head[:first.Start]
	var end wire.Boundary
	if end.Write(blocks); !end.AtEnd() {
		blocks = nil
	}
	s.out.send(blocks)
	s.head = append(s.head[:0], head[len(blocks):]...)
}

func (s *events) begin() {
	s.begun = true
	s.out.head()
}

// release sends the head that was held back.
func (s *events) release(head []byte) {
	s.held, s.head = false, nil
	if !s.begun {
		s.begin()
	}
	if s.options.Model == "" {
		s.out.send(head)
		return
	}
	segments := [][]byte{head}
	if first, found := s.options.Upstream.FirstEvent(head); found && first.Model != (wire.Span{}) {
		segments, _ = wire.Splice(head, wire.Edit{Span: first.Model, With: wire.Quote(s.options.Model)})
	}
	s.out.send(segments...)
}

// overdue begins the answer although its first event has not come. From here it is no refusal any more, but the model is
// still to be put back, so that an event that is not whole stays held.
func (s *events) overdue() {
	if s.options.Model == "" {
		s.release(s.head)
		return
	}
	s.begin()
	s.pass(s.head)
}

// tick ends a hold that lasted too long and fills a silence with a ping.
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
			s.out.send(s.options.Client.Ping())
		}
		s.last = time.Now()
	}
	s.timer.Reset(s.options.KeepAlive - time.Since(s.last))
}

func (s *events) end() {
	s.ended = true
	s.out.result.Usage = s.meter.Usage()
	if s.out.answer.Status == http.StatusOK {
		s.out.result.StreamError = s.meter.Failure()
	}
	if s.timer != nil {
		s.timer.Stop()
	}
}
