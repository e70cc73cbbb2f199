//go:build unix

package http1

import "syscall"

// hasArrived reports whether the socket has bytes or has ended, and reads nothing.
func hasArrived(fd uintptr) bool {
	_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
	return err != syscall.EAGAIN
}
