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

// conn is one connection. It belongs to one exchange, or is idle.
type conn struct {
	net.Conn                 // what requests and responses go through
	raw        net.Conn      // what carries them beneath TLS; without TLS the same
	reader     *bufio.Reader // set while an exchange uses the connection
	headBudget int           // bytes that may be read until the head of a response is complete
	since      time.Time     // when it became idle
	reused     bool          // it has carried a request

	socket  syscall.RawConn // nil if there is none, as in tests
	isAlive func(fd uintptr) bool
	alive   bool // the result of isAlive
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
		it.socket, _ = s.SyscallConn() // the connection has just been opened
	}
	it.isAlive = it.probeSocket
	return it
}

// close closes the connection at once; it may be called at any time and more than once. TLS sends no closing alert, since that
// could block.
func (c *conn) close() { c.raw.Close() }

// readers are as large as those of client connections in net/http. A connection has one while it is in use.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}

func (c *conn) begin() {
	c.reused = true
	c.reader = readers.Get().(*bufio.Reader)
	c.reader.Reset(c)
}

// park prepares an unused connection for its time among the idle ones.
func (c *conn) park() {
	c.reader.Reset(nil)
	readers.Put(c.reader)
	c.reader = nil
	c.since = time.Now().Round(0) // by the wall clock, which continues while the machine sleeps
}

// Read implements [io.Reader] within the budget for the head of a response.
func (c *conn) Read(p []byte) (int, error) {
	if c.headBudget <= 0 {
		return 0, errHeadTooLong
	}
	n, err := c.Conn.Read(p[:min(len(p), c.headBudget)])
	c.headBudget -= n
	return n, err
}

// usable reports whether an idle connection may carry another request: it has not been idle for too long, and the peer has
// neither closed it nor sent anything unasked.
func (c *conn) usable() bool {
	if time.Since(c.since) >= idleTimeout {
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

// silent reports whether TLS has buffered nothing beyond the last response. What it has buffered is no longer in the socket:
// the end of the connection, or unasked bytes, which would be mistaken for the next response.
func (c *conn) silent() bool {
	if c.SetReadDeadline(time.Unix(1, 0)) != nil { // the read does not wait for the socket
		return false
	}
	_, err := c.Conn.Read(c.probe[:])
	return errors.Is(err, os.ErrDeadlineExceeded) && c.SetReadDeadline(time.Time{}) == nil
}

// probeSocket sets alive if there is nothing to read. It always returns true, so that the runtime does not wait for the socket.
func (c *conn) probeSocket(fd uintptr) bool {
	c.alive = nothingToRead(fd)
	return true
}

// writers collect what goes into one TLS record: otherwise each write would become a record of its own.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(io.Discard, maxRecord) }}

const maxRecord = 16 << 10 // bytes of content in a TLS record

// send writes the parts. It modifies the slice.
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
