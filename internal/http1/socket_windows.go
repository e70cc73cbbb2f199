package http1

import (
	"syscall"
	"unsafe"
)

// wsaPoll is a poll of sockets that can return at once. A read could not, since Go keeps sockets in blocking mode on
// Windows.
var wsaPoll = syscall.NewLazyDLL("ws2_32.dll").NewProc("WSAPoll")

// nothingToRead reports whether reading from the socket would have to wait: it has no bytes and has not ended.
func nothingToRead(fd uintptr) bool {
	const readable = 0x0300 // POLLIN
	socket := struct {
		fd              uintptr
		events, revents int16
	}{fd: fd, events: readable}
	events, _, _ := wsaPoll.Call(uintptr(unsafe.Pointer(&socket)), 1, 0)
	return events == 0
}
