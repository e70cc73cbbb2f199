package wire

import "bytes"

// Boundary detects whether a stream is between two events, where a ping may be inserted (WIRE-12). The zero value is a stream
// before its first byte.
type Boundary struct {
	tail [8]byte // the last bytes, right-aligned
	n    int     // number of bytes in tail
}

// Write accepts the next bytes of the stream, in chunks of any size. Its cost does not depend on the size.
func (b *Boundary) Write(p []byte) {
	p = p[max(0, len(p)-len(b.tail)):]
	copy(b.tail[:], b.tail[len(p):])
	copy(b.tail[len(b.tail)-len(p):], p)
	b.n = min(b.n+len(p), len(b.tail))
}

// AtEnd reports whether the bytes so far end with a blank line, or there were none. After a line that ends with CRLF, a CR alone
// is not a blank line yet: readers that do not accept a lone CR would see the ping inside the event.
func (b *Boundary) AtEnd() bool {
	tail := b.tail[len(b.tail)-b.n:]
	if b.n < len(b.tail) { // then the tail is the whole stream
		if bytes.Equal(tail, []byte(ByteOrderMark)) {
			return true
		}
		tail = bytes.TrimPrefix(tail, []byte(ByteOrderMark))
		if len(tail) == 0 {
			return true
		}
	}
	before, ok := trimLineEnd(tail)
	if !ok || bytes.HasSuffix(tail, []byte("\r\n\r")) {
		return false
	}
	return len(before) == 0 || before[len(before)-1] == '\n' || before[len(before)-1] == '\r'
}

// trimLineEnd removes a line end from the end of p.
func trimLineEnd(p []byte) ([]byte, bool) {
	for _, end := range []string{"\r\n", "\n", "\r"} {
		if before, ok := bytes.CutSuffix(p, []byte(end)); ok {
			return before, true
		}
	}
	return p, false
}
