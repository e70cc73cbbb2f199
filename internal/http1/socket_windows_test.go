package http1

// hasArrived reports whether the socket has bytes or has ended, and reads nothing.
func hasArrived(fd uintptr) bool { return !nothingToRead(fd) }
