package http1

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// maxHead bounds the head of a response together with the 1xx responses before it, in bytes, as net/http does.
const maxHead = 10 << 20

// conn is one connection. It belongs to one exchange, or to its origin's idle ones.
type conn struct {
	net.Conn            // what requests and answers go through
	raw        net.Conn // what carries that in the end: without TLS the same
	answers    *bufio.Reader
	headBudget int       // bytes that may come before the head of an answer is whole
	since      time.Time // when it became idle
	reused     bool      // it has carried a request

	socket  syscall.RawConn // nil where there is none, as in tests
	isAlive func(fd uintptr) bool
	alive   bool // what isAlive found
	probe   [1]byte
}

func newConn(c net.Conn) *conn {
	it := &conn{Conn: c, raw: c}
	for {
		secured, ok := it.raw.(*tls.Conn)
		if !ok {
			break
		}
		it.raw = secured.NetConn()
	}
	if s, ok := it.raw.(syscall.Conn); ok {
		it.socket, _ = s.SyscallConn() // of a connection that was opened right now
	}
	it.isAlive = it.look
	return it
}

// close ends the connection at once; it may be called at any time and more than once. What TLS would still say at the end
// is not said, since saying it can block.
func (c *conn) close() { c.raw.Close() }

// readers are as large as the reader of a client's connection in net/http: a connection has one while it is in use.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}

func (c *conn) begin() {
	c.reused = true
	c.answers = readers.Get().(*bufio.Reader)
	c.answers.Reset(c)
}

func (c *conn) rest() {
	c.answers.Reset(nil)
	readers.Put(c.answers)
	c.answers = nil
	c.since = time.Now().Round(0) // by the wall clock, which goes on while the machine sleeps
}

// Read makes conn the reader of answers.
func (c *conn) Read(p []byte) (int, error) {
	if c.headBudget <= 0 {
		return 0, errHeadTooLong
	}
	n, err := c.Conn.Read(p[:min(len(p), c.headBudget)])
	c.headBudget -= n
	return n, err
}

// usable reports whether an idle connection may carry another request: it was not idle for too long, the peer has not
// closed it and has said nothing out of turn.
func (c *conn) usable() bool {
	if time.Since(c.since) >= IdleTimeout {
		return false
	}
	if c.socket != nil {
		c.alive = false
		if c.socket.Read(c.isAlive) != nil || !c.alive {
			return false
		}
	}
	return c.Conn == c.raw || c.silent()
}

// silent reports whether TLS holds nothing that came with the last answer and that the socket has not any more: bytes out
// of turn, which would be taken for the next answer, or the end.
func (c *conn) silent() bool {
	if c.SetReadDeadline(time.Unix(1, 0)) != nil { // nobody waits for the socket
		return false
	}
	_, err := c.Conn.Read(c.probe[:])
	return errors.Is(err, os.ErrDeadlineExceeded) && c.SetReadDeadline(time.Time{}) == nil
}

// look is true at once, so that nobody waits for the socket.
func (c *conn) look(fd uintptr) bool {
	var b [1]byte
	n, err := syscall.Read(int(fd), b[:])
	c.alive = n < 0 && (err == syscall.EAGAIN || err == syscall.EINTR)
	return true
}

// writers gather what goes into TLS records: each write would make one of its own.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(io.Discard, maxRecord) }}

const maxRecord = 16 << 10 // bytes of content

// send writes the parts, which it uses up.
func (c *conn) send(parts net.Buffers) error {
	if c.Conn == c.raw {
		_, err := parts.WriteTo(c.raw)
		return err
	}
	w := writers.Get().(*bufio.Writer)
	w.Reset(c.Conn)
	defer func() {
		w.Reset(io.Discard)
		writers.Put(w)
	}()
	for _, p := range parts {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return w.Flush()
}
