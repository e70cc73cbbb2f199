package wire

import "bytes"

// Boundary tells whether a stream stands between two events, so that a ping may go there (WIRE-12). The zero value is a
// stream before its first byte.
type Boundary struct {
	tail [8]byte // the last bytes, right-aligned
	n    int     // how many of them there are
}

// Write takes the next bytes of the stream, in chunks of any size. It costs the same for any chunk.
func (b *Boundary) Write(p []byte) {
	p = p[max(0, len(p)-len(b.tail)):]
	copy(b.tail[:], b.tail[len(p):])
	copy(b.tail[len(b.tail)-len(p):], p)
	b.n = min(b.n+len(p), len(b.tail))
}

// AtEnd reports whether the bytes so far end an event: a blank line was the last thing in them, or there were none. After
// lines that end with CRLF, a CR alone is not yet a blank line: readers that know no lone CR would see the ping inside.
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
	before, ok := cutLineEnd(tail)
	if !ok || bytes.HasSuffix(tail, []byte("\r\n\r")) {
		return false
	}
	return len(before) == 0 || before[len(before)-1] == '\n' || before[len(before)-1] == '\r'
}

// cutLineEnd takes the line end off that p ends with.
func cutLineEnd(p []byte) ([]byte, bool) {
	for _, end := range []string{"\r\n", "\n", "\r"} {
		if before, ok := bytes.CutSuffix(p, []byte(end)); ok {
			return before, true
		}
	}
	return p, false
}
