package relay

import (
	"net/http"
	"sync"
	"time"

	"shunt/internal/dialect"
)

// Client is the client of a streaming request, which may receive the head of its response and pings before an upstream has
// responded (FAM-8). It is safe for concurrent use; close ends its timer.
type Client struct {
	w         http.ResponseWriter
	flush     *http.ResponseController
	dialect   dialect.Inbound
	keepAlive time.Duration

	mu     sync.Mutex
	timer  *time.Timer
	due    time.Time // when it gets its head at the latest
	begun  bool      // it has its head
	lent   bool      // a relay writes to it
	closed bool
	last   time.Time // of the last bytes that it was sent
	err    error     // of writing to it
	sent   int64     // bytes of the body
	first  time.Time // when the first of them were sent
}

// NewClient returns the client behind w. KeepAlive is the silence after which it gets a ping; 0 is never.
func NewClient(w http.ResponseWriter, d dialect.Inbound, keepAlive time.Duration) *Client {
	return &Client{w: w, flush: http.NewResponseController(w), dialect: d, keepAlive: keepAlive}
}

// BeginAfter makes the client get its head after that time, unless a response begins before: at once, if it is 0. Only the first
// call counts.
func (c *Client) BeginAfter(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil || c.closed {
		return
	}
	c.due = time.Now().Add(d)
	c.timer = time.AfterFunc(max(d, time.Second), c.tick)
	if d == 0 {
		c.begin(nil)
		c.send(nil)
	}
	c.rearm()
}

// Begun reports whether the client has its head.
func (c *Client) Begun() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begun
}

// Fail ends the response with an error event. The client has its head.
func (c *Client) Fail(e *dialect.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.send(c.dialect.AppendErrorEvent(nil, e))
	c.end()
}

// Sent returns the bytes of the body that were sent, and when the first of them was; the zero time: none was.
func (c *Client) Sent() (n int64, first time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent, c.first
}

// Close ends the use of the writer. It may be called more than once.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
}

func (c *Client) end() {
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
}

// tick begins the response, or sends a ping during a silence.
func (c *Client) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed || c.lent:
		return
	case !c.begun:
		c.begin(nil)
		c.send(nil)
	case time.Since(c.last) >= c.keepAlive:
		c.send(c.dialect.Ping())
	}
	c.rearm()
}

// rearm sets the timer to what is due next: the head, or a ping after the current silence.
func (c *Client) rearm() {
	switch {
	case c.timer == nil || c.closed || c.lent:
	case !c.begun:
		c.timer.Reset(max(time.Until(c.due), 0))
	case c.keepAlive > 0:
		c.timer.Reset(max(time.Until(c.last.Add(c.keepAlive)), 0))
	default:
		c.timer.Stop()
	}
}

// begin sends the head.
func (c *Client) begin(commit func(http.Header)) {
	c.begun = true
	h := c.w.Header()
	if commit != nil {
		commit(h)
	}
	h.Set("Content-Type", "text/event-stream")
	h["X-Accel-Buffering"] = unbuffered
	delete(h, "Content-Length")
	c.w.WriteHeader(http.StatusOK)
}

// send writes bytes of the body.
func (c *Client) send(p []byte) {
	c.last = time.Now()
	if c.err != nil || c.closed {
		return
	}
	if len(p) > 0 {
		if c.first.IsZero() {
			c.first = c.last
		}
		var n int
		n, c.err = c.w.Write(p)
		c.sent += int64(n)
	}
	if c.err == nil {
		c.err = c.flush.Flush()
	}
}

// write writes whole events, after the head if the client does not have it yet. Commit, which may be nil, sets its headers; they
// are lost if the client has it. It returns the error of the first write that failed.
func (c *Client) write(p []byte, commit func(http.Header)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun {
		c.begin(commit)
	} else if commit != nil {
		commit(http.Header{})
	}
	c.send(p)
	c.rearm()
	return c.err
}

// Hold leaves the writer to the caller, and reports whether the client has its head. From now on it gets neither that nor a ping by
// itself.
func (c *Client) Hold() (begun bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lent = true
	return c.begun
}

// takeBack continues after a relay that has sent nothing.
func (c *Client) takeBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lent = false
	c.rearm()
}
