//go:build unix

package http1

import "syscall"

// nothingToRead reports whether reading from the socket would have to wait: it has no bytes and has not ended.
func nothingToRead(fd uintptr) bool {
	var b [1]byte
	n, err := syscall.Read(int(fd), b[:])
	return n < 0 && (err == syscall.EAGAIN || err == syscall.EINTR)
}
