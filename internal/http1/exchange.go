package http1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Request is one request as it goes over the wire.
type Request struct {
	Head []byte   // request line and headers, with the empty line behind them
	Body [][]byte // as long, together, as the head says
	// Patience is how long the peer may take for each 256 KiB of the request, and from its end how long the answer may take
	// to begin. Zero is without end.
	Patience time.Duration
	// Fresh asks for a new connection.
	Fresh bool
	// Sent is called once, when Head and Body are not needed any more. That may be after Send has returned.
	Sent func()
}

const (
	// A request up to this size, such as the first of a coding session, is sent before anybody listens: the buffers between
	// take it, or a peer that answers early reads it or closes. While a larger one is sent, somebody has to listen.
	sentAtOnce = 128 << 10
	PieceSize  = 256 << 10   // bytes of a request that have to go within its patience
	lastWords  = time.Second // for what a peer has said before it closed the connection
)

// Response is an answer.
type Response struct {
	Status int           // three digits, but not 1xx
	Header http.Header   // as the peer sent it, but for the case of names
	Length int64         // of the body in bytes, -1 if that is not known
	Body   io.ReadCloser // may be closed at any time, also while it is read
}

// exchange is one request and its answer. Several parties act on it: the goroutine that called Send and reads the body, the
// one that sends a large request, whoever closes the body, and the end of the context, which only closes the connection.
type exchange struct {
	ctx    context.Context
	origin *Origin
	conn   *conn
	stop   func() bool // ends the watch over the context
	body   body
	reuse  bool // the answer allows it
	state  atomic.Uint32
	answer Response
	sender chan struct{} // closed when the request was sent or given up; nil: it was sent at once

	reused  bool // the connection had carried a request before
	interim bool // a 1xx has come

	mu       sync.Mutex
	patience time.Duration
	answered bool      // the answer has begun: from here it may take its time
	given    bool      // the rest of the request is not to be sent any more
	sendErr  error     // set when the sender ends
	sentAt   time.Time // when the whole request had been sent; zero: it has not
}

// SendError is a connection that failed before the head of a response was complete, with what decides whether the peer may
// be working on the request (FO-0a).
type SendError struct {
	Err      error
	Reused   bool          // the connection had carried another request before
	Received bool          // part of a response had come: a 1xx, or the beginning of a head
	Sent     bool          // the whole request had been sent
	After    time.Duration // from then to the failure
}

func (e *SendError) Error() string { return e.Err.Error() }

// Unwrap returns what the network reported.
func (e *SendError) Unwrap() error { return e.Err }

// The states of an exchange.
const (
	open   = iota
	whole  // the answer was read to its end
	broken // it was not
)

// Send sends a request and returns the head of its answer, whose body the caller reads to its end or closes. The end of ctx
// ends both. Errors wrap [ErrNoConnection], [ErrPatience], [ErrAnswer] or the context's own, or are a [SendError].
func (o *Origin) Send(ctx context.Context, r *Request) (*Response, error) {
	var c *conn
	if r.Fresh {
		o.Forget()
	} else {
		c = o.take()
	}
	if c == nil {
		var err error
		if c, err = o.connect(ctx); err != nil {
			r.Sent()
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return nil, err
		}
	}
	x := &exchange{ctx: ctx, origin: o, conn: c, reused: c.reused, patience: r.Patience}
	c.begin()
	x.stop = context.AfterFunc(ctx, c.close)
	if size(r) <= sentAtOnce {
		x.send(r)
	} else {
		x.sender = make(chan struct{})
		go func() {
			defer close(x.sender)
			x.send(r)
		}()
	}
	h, err := x.head()
	if err != nil {
		x.end(broken)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	x.answer = Response{Status: h.status, Header: h.header, Length: h.length, Body: x}
	x.body, x.reuse = newBody(x.conn.answers, &h), h.reuse
	if x.body.empty() {
		x.end(whole)
	}
	return &x.answer, nil
}

func size(r *Request) int {
	n := len(r.Head)
	for _, p := range r.Body {
		n += len(p)
	}
	return n
}

// send writes the request. Whether that works is asked when the answer is there, or is not.
func (x *exchange) send(r *Request) {
	defer r.Sent()
	err := x.renew()
	if err == nil && len(r.Body) == 0 {
		_, err = x.conn.Write(r.Head)
	} else if err == nil {
		err = x.sendParts(append(append(make(net.Buffers, 0, 8), r.Head), r.Body...))
	}
	if err == nil && x.sender != nil {
		x.renew()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sendErr = err
	if err == nil {
		x.sentAt = time.Now()
	}
	if err != nil && !x.answered && !errors.Is(err, os.ErrDeadlineExceeded) {
		x.conn.SetReadDeadline(time.Now().Add(lastWords))
	}
}

// sendParts writes large parts piece by piece, and uses them up. The peer has time for the first.
func (x *exchange) sendParts(parts net.Buffers) error {
	for {
		var piece net.Buffers
		piece, parts = cut(parts, PieceSize)
		if err := x.conn.send(piece); err != nil || len(parts) == 0 {
			return err
		}
		if err := x.renew(); err != nil {
			return err
		}
	}
}

// cut splits off the parts that make a piece of at most n bytes.
func cut(parts net.Buffers, n int) (piece, rest net.Buffers) {
	for i, p := range parts {
		if len(p) > n {
			piece = append(parts[:i:i], p[:n])
			parts[i] = p[n:]
			return piece, parts[i:]
		}
		n -= len(p)
	}
	return parts, nil
}

var errGiven = errors.New("the rest of the request was not sent")

// renew begins the peer's time anew.
func (x *exchange) renew() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.given:
		return errGiven
	case x.patience > 0 && !x.answered:
		return x.conn.SetDeadline(time.Now().Add(x.patience))
	}
	return nil
}

// head waits for the head of the answer. Those of 1xx before it are passed over.
func (x *exchange) head() (head, error) {
	x.conn.headBudget = maxHead
	for {
		h, err := readHead(x.conn.answers)
		switch {
		case err != nil:
			return head{}, x.why(err)
		case h.status == http.StatusSwitchingProtocols: // nothing asked for that
			return head{}, fmt.Errorf("%w: it has the status %d", ErrAnswer, h.status)
		case !isInterim(h.status):
			return h, x.begun()
		}
		x.interim = true
	}
}

func isInterim(status int) bool { return status >= http.StatusContinue && status < http.StatusOK }

// why is the reason why there is no answer.
func (x *exchange) why(err error) error {
	if errors.Is(err, ErrAnswer) {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if x.sendErr == nil || errors.Is(x.sendErr, os.ErrDeadlineExceeded) {
			return ErrPatience
		}
		err = fmt.Errorf("send the request: %w", x.sendErr)
	}
	failure := &SendError{Err: err, Reused: x.reused, Received: x.interim || x.conn.headBudget < maxHead}
	if !x.sentAt.IsZero() {
		failure.Sent, failure.After = true, time.Since(x.sentAt)
	}
	return failure
}

func (x *exchange) begun() error {
	x.conn.headBudget = math.MaxInt
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answered = true
	if x.patience == 0 && x.sendErr == nil {
		return nil
	}
	return x.conn.SetDeadline(time.Time{})
}

// Read reads the body of the answer.
func (x *exchange) Read(p []byte) (int, error) {
	switch x.state.Load() {
	case whole:
		return 0, io.EOF
	case broken:
		return 0, net.ErrClosed
	}
	n, err := x.body.Read(p)
	switch err {
	case nil:
	case io.EOF:
		x.end(whole)
	default:
		x.end(broken)
		if x.ctx.Err() != nil {
			err = x.ctx.Err()
		}
	}
	return n, err
}

// Close gives up what is left of the answer, and the connection with it.
func (x *exchange) Close() error {
	x.end(broken)
	return nil
}

// end gives the connection back if everything went as it should, or ends it.
func (x *exchange) end(how uint32) {
	if !x.state.CompareAndSwap(open, how) {
		return
	}
	alive := x.stop()
	if how == whole && alive && x.reuse && x.sent() && x.conn.answers.Buffered() == 0 {
		x.origin.keep(x.conn)
		return
	}
	x.conn.close()
}

// sent reports whether the whole request went out. What did not until now does not any more.
func (x *exchange) sent() bool {
	if x.sender != nil {
		x.give()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sendErr == nil
}

// give ends the sender.
func (x *exchange) give() {
	select {
	case <-x.sender:
		return
	default:
	}
	x.mu.Lock()
	x.given = true
	x.conn.SetWriteDeadline(time.Now())
	x.mu.Unlock()
	<-x.sender
	x.conn.SetWriteDeadline(time.Time{})
}
