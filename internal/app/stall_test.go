package app

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// [server.timeouts] write_stall_ms: a client that stops reading, also after a part of what was written, is disconnected after
// the timeout and at most a third more; one that reads a byte now and then stays.
func TestStalledWrite(t *testing.T) {
	const timeout = time.Minute
	for name, c := range map[string]struct {
		reads int           // bytes, one at a time
		every time.Duration // between two of them
	}{
		"reads nothing": {0, 0}, "reads a few": {5, time.Second}, "reads slowly": {20, 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				conn := &stallConn{Conn: ours, timeout: timeout}
				go func() {
					for range c.reads {
						time.Sleep(c.every)
						theirs.Read(make([]byte, 1))
					}
				}()
				began := time.Now()
				n, err := conn.Write(make([]byte, 1000))
				silent := time.Since(began) - time.Duration(c.reads)*c.every
				if n != c.reads || !errors.Is(err, os.ErrDeadlineExceeded) || silent < timeout || silent > timeout+timeout/3 {
					t.Errorf("%d bytes, %v, silent for %v", n, err, silent)
				}
				again := time.Now()
				if _, err := conn.Write([]byte("x")); err == nil || !time.Now().Equal(again) {
					t.Errorf("another write: %v after %v", err, time.Since(again))
				}
				theirs.Close()
			})
		})
	}
}
