package app

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// stallListener's connections fail once their client has read nothing for timeout (server.timeouts.write_stall_ms). It
// works on connections and not on responses because bytes also go out when no handler writes: at the end of a response.
type stallListener struct {
	net.Listener
	timeout time.Duration
}

func (l stallListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &stallConn{Conn: c, timeout: l.timeout}, nil
}

// stallConn divides the timeout into stallParts deadlines. Setting a deadline costs more than a small write, so each is set a
// little later than necessary, and kept until less than a part is left.
type stallConn struct {
	net.Conn
	timeout  time.Duration
	deadline atomic.Int64 // nanoseconds since 1970; zero: none
}

const (
	stallParts = 4  // deadlines in a row without a written byte until a write fails
	stallSlack = 16 // a deadline is 1/stallSlack of a part longer than the part
)

// Write fails, and closes the connection, only if no byte of p could be written for the timeout. A client that reads slowly
// stays connected.
func (c *stallConn) Write(p []byte) (written int, err error) {
	for silent := 0; ; {
		if err := c.renew(); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[written:])
		written += n
		switch {
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return written, err
		case n > 0:
			silent = 0
		default:
			silent++
		}
		if silent == stallParts {
			c.Conn.Close() // the next write of net/http must not wait again
			return written, err
		}
	}
}

func (c *stallConn) renew() error {
	now, part := time.Now(), c.timeout/stallParts
	if c.deadline.Load() >= now.Add(part).UnixNano() {
		return nil
	}
	deadline := now.Add(part + part/stallSlack)
	c.deadline.Store(deadline.UnixNano())
	return c.SetWriteDeadline(deadline)
}

// CloseWrite lets net/http end a response before it has read the whole request, so that the client reads it before a reset.
func (c *stallConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
