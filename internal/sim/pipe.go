package sim

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// PipeListener is an in-memory listener for testing/synctest: goroutines that wait on its connections count as idle, so the
// bubble's clock advances. Its connections are unbuffered: a write waits for its reader.
type PipeListener struct {
	address string
	conns   chan net.Conn
	closed  chan struct{}
	close   sync.Once

	mu    sync.Mutex
	dials int
	open  int
}

// Listen returns an in-memory listener. The address is only a name; it should look like host:port.
func Listen(address string) *PipeListener {
	return &PipeListener{address: address, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial connects to the listener. It ignores network and address, so that it fits http.Transport.DialContext. It returns an error
// once the listener is closed.
func (l *PipeListener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	l.mu.Lock()
	l.dials++
	name := pipeAddr(fmt.Sprintf("pipe:%d", l.dials))
	l.mu.Unlock()
	client, server := net.Pipe()
	select {
	case l.conns <- pipeConn{server, pipeAddr(l.address), name}:
		l.count(1)
		return &dialed{pipeConn{client, name, pipeAddr(l.address)}, l, sync.Once{}}, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Addr: pipeAddr(l.address), Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Dials returns the number of attempted connections.
func (l *PipeListener) Dials() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dials
}

// Open returns the number of connections that the dialing side has not closed.
func (l *PipeListener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

func (l *PipeListener) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open += n
}

// Accept waits for the next connection.
func (l *PipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close refuses further connections. Accepted connections stay open.
func (l *PipeListener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// Addr returns the address passed to [Listen].
func (l *PipeListener) Addr() net.Addr { return pipeAddr(l.address) }

type pipeConn struct {
	net.Conn
	local, remote pipeAddr
}

func (c pipeConn) LocalAddr() net.Addr  { return c.local }
func (c pipeConn) RemoteAddr() net.Addr { return c.remote }

// dialed is the dialing side of a connection.
type dialed struct {
	pipeConn
	listener *PipeListener
	once     sync.Once
}

func (c *dialed) Close() error {
	c.once.Do(func() { c.listener.count(-1) })
	return c.pipeConn.Close()
}

type pipeAddr string

func (pipeAddr) Network() string  { return "pipe" }
func (a pipeAddr) String() string { return string(a) }
