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

// Request is one request, as the bytes to send.
type Request struct {
	Head []byte   // request line and headers, with the empty line after them
	Body [][]byte // together as long as the head says
	// Timeout is how long the peer may take to accept each [PieceSize] of the request and then, once the request is sent, to
	// begin the response. 0 is no limit.
	Timeout time.Duration
	// Fresh requires a new connection, and closes the idle ones.
	Fresh bool
	// Sent is called once, when Head and Body are no longer needed, which may be after Send has returned.
	Sent func()
}

// PieceSize is how many bytes of a request, at most, the peer has to accept within its timeout.
const PieceSize = 256 << 10

const (
	// A request up to this size, such as the first of a coding session, is sent before the response is read: the buffers in
	// between hold it, and a peer that responds early either reads it or closes the connection. A larger request is sent by a
	// goroutine of its own while the response is awaited.
	maxInlineSend = 128 << 10
	// lateResponseWait is how long to wait for a response that the peer sent before it stopped reading the request.
	lateResponseWait = time.Second
)

// Response is a response.
type Response struct {
	Status int           // three digits, but not 1xx
	Header http.Header   // as the peer sent it, with canonical names
	Length int64         // of the body in bytes; -1 if unknown
	Body   io.ReadCloser // may be closed at any time, even during a Read
}

// exchange is one request and its response. It is used by the goroutine that called Send and reads the body, by the one that
// sends a large request, by those that close the body, and by the end of the context, which only closes the connection.
type exchange struct {
	ctx      context.Context
	origin   *Origin
	conn     *conn
	stop     func() bool // stops watching the context
	body     body
	reuse    bool // the response allows another request on the connection
	state    atomic.Uint32
	response Response
	sender   chan struct{} // closed when the request has been sent or aborted; nil: it was sent inline

	reused  bool // the connection had carried a request before
	interim bool // a 1xx has been received

	mu            sync.Mutex
	timeout       time.Duration
	responseBegun bool      // from here on nothing times out
	sendAborted   bool      // the rest of the request must not be sent
	sendErr       error     // set when the send ends
	sentAt        time.Time // when the whole request had been sent; zero if it has not
}

// SendError is a connection that failed before the head of a response was complete, with what decides whether the peer may
// be working on the request (FO-0a).
type SendError struct {
	Err      error
	Reused   bool          // the connection had carried another request before
	Received bool          // part of a response had been received: a 1xx, or the beginning of a head
	Sent     bool          // the whole request had been sent
	After    time.Duration // time from then to the failure
}

func (e *SendError) Error() string { return e.Err.Error() }

// Unwrap returns what the network reported.
func (e *SendError) Unwrap() error { return e.Err }

// The states of an exchange.
const (
	open     = iota
	complete // the response was read to its end
	aborted  // it was not
)

// Send sends a request and returns the response, whose body the caller reads to its end or closes. When ctx ends, so does the
// exchange. Errors wrap [ErrNoConnection], [ErrTimeout], [ErrMalformed] or the context's own, or are a [SendError].
func (o *Origin) Send(ctx context.Context, r *Request) (*Response, error) {
	var c *conn
	if r.Fresh {
		o.CloseIdle()
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
	x := &exchange{ctx: ctx, origin: o, conn: c, reused: c.reused, timeout: r.Timeout}
	c.begin()
	x.stop = context.AfterFunc(ctx, c.close)
	if size(r) <= maxInlineSend {
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
		x.end(aborted)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	x.response = Response{Status: h.status, Header: h.header, Length: h.length, Body: x}
	x.body, x.reuse = newBody(x.conn.reader, &h), h.reuse
	if x.body.empty() {
		x.end(complete)
	}
	return &x.response, nil
}

func size(r *Request) int {
	n := len(r.Head)
	for _, p := range r.Body {
		n += len(p)
	}
	return n
}

// send writes the request. Its error matters only once there is a response, or none.
func (x *exchange) send(r *Request) {
	defer r.Sent()
	err := x.extendDeadline()
	if err == nil && len(r.Body) == 0 {
		_, err = x.conn.Write(r.Head)
	} else if err == nil {
		err = x.sendParts(append(append(make(net.Buffers, 0, 8), r.Head), r.Body...))
	}
	if err == nil && x.sender != nil {
		x.extendDeadline()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sendErr = err
	if err == nil {
		x.sentAt = time.Now()
	}
	if err != nil && !x.responseBegun && !errors.Is(err, os.ErrDeadlineExceeded) {
		x.conn.SetReadDeadline(time.Now().Add(lateResponseWait))
	}
}

// sendParts writes large parts piece by piece. The deadline for the first piece is already set. It modifies the slice.
func (x *exchange) sendParts(parts net.Buffers) error {
	for {
		var piece net.Buffers
		piece, parts = splitPiece(parts, PieceSize)
		if err := x.conn.send(piece); err != nil || len(parts) == 0 {
			return err
		}
		if err := x.extendDeadline(); err != nil {
			return err
		}
	}
}

// splitPiece splits off a piece of at most n bytes.
func splitPiece(parts net.Buffers, n int) (piece, rest net.Buffers) {
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

var errSendAborted = errors.New("the rest of the request was not sent")

// extendDeadline starts the timeout again.
func (x *exchange) extendDeadline() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.sendAborted:
		return errSendAborted
	case x.timeout > 0 && !x.responseBegun:
		return x.conn.SetDeadline(time.Now().Add(x.timeout))
	}
	return nil
}

// head reads the head of the response, and skips 1xx responses before it.
func (x *exchange) head() (head, error) {
	x.conn.headBudget = maxHead
	for {
		h, err := readHead(x.conn.reader)
		switch {
		case err != nil:
			return head{}, x.headError(err)
		case h.status == http.StatusSwitchingProtocols: // no request asks for that
			return head{}, fmt.Errorf("%w: it has the status %d", ErrMalformed, h.status)
		case !isInterim(h.status):
			return h, x.begin()
		}
		x.interim = true
	}
}

func isInterim(status int) bool { return status >= http.StatusContinue && status < http.StatusOK }

// headError returns the error of [Origin.Send] for one that came before the head of the response was complete.
func (x *exchange) headError(err error) error {
	if errors.Is(err, ErrMalformed) {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		if x.sendErr == nil || errors.Is(x.sendErr, os.ErrDeadlineExceeded) {
			return ErrTimeout
		}
		err = fmt.Errorf("send the request: %w", x.sendErr)
	}
	failure := &SendError{Err: err, Reused: x.reused, Received: x.interim || x.conn.headBudget < maxHead}
	if !x.sentAt.IsZero() {
		failure.Sent, failure.After = true, time.Since(x.sentAt)
	}
	return failure
}

// begin lifts the limits of time and size, which hold until the head of the response is complete.
func (x *exchange) begin() error {
	x.conn.headBudget = math.MaxInt
	x.mu.Lock()
	defer x.mu.Unlock()
	x.responseBegun = true
	if x.timeout == 0 && x.sendErr == nil {
		return nil
	}
	return x.conn.SetDeadline(time.Time{})
}

// Read reads the body of the response.
func (x *exchange) Read(p []byte) (int, error) {
	switch x.state.Load() {
	case complete:
		return 0, io.EOF
	case aborted:
		return 0, net.ErrClosed
	}
	n, err := x.body.Read(p)
	switch err {
	case nil:
	case io.EOF:
		x.end(complete)
	default:
		x.end(aborted)
		if x.ctx.Err() != nil {
			err = x.ctx.Err()
		}
	}
	return n, err
}

// Close abandons the rest of the response, and closes the connection unless the response has ended.
func (x *exchange) Close() error {
	x.end(aborted)
	return nil
}

// end returns the connection to its origin if it can carry another request, and closes it otherwise.
func (x *exchange) end(how uint32) {
	if !x.state.CompareAndSwap(open, how) {
		return
	}
	inTime := x.stop()
	if how == complete && inTime && x.reuse && x.finishSend() && x.conn.reader.Buffered() == 0 {
		x.origin.put(x.conn)
		return
	}
	x.conn.close()
}

// finishSend reports whether the whole request was sent. It aborts a send that is still going on.
func (x *exchange) finishSend() bool {
	if x.sender != nil {
		x.abortSend()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sendErr == nil
}

// abortSend ends the sender, and waits for it.
func (x *exchange) abortSend() {
	select {
	case <-x.sender:
		return
	default:
	}
	x.mu.Lock()
	x.sendAborted = true
	x.conn.SetWriteDeadline(time.Now())
	x.mu.Unlock()
	<-x.sender
	x.conn.SetWriteDeadline(time.Time{})
}
