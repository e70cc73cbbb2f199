package anthropic

import (
	"bytes"
	"slices"
)

// Ping is the event that keeps a silent stream alive (WIRE-12), as the API itself sends it. It must not be changed.
var Ping = []byte("event: ping\ndata: {\"type\": \"ping\"}\n\n")

const byteOrderMark = "\xef\xbb\xbf"

// lines hops over the lines of a chunk of an event stream. A line ends with LF, CRLF or CR.
type lines struct {
	src    []byte
	pos    int
	lf, cr int // where the next of each is; stale once behind pos
}

func linesOf(src []byte) lines { return lines{src: src, lf: -1, cr: -1} }

// next returns a line without its end; ended is false for what is left after the last line end.
func (l *lines) next() (line []byte, ended bool) {
	if l.lf < l.pos {
		l.lf = l.find('\n')
	}
	if l.cr < l.pos {
		l.cr = l.find('\r')
	}
	end := min(l.lf, l.cr)
	line = l.src[l.pos:end]
	if end == len(l.src) {
		l.pos = end
		return line, false
	}
	l.pos = end + 1
	if end == l.cr && l.lf == end+1 {
		l.pos++
	}
	return line, true
}

func (l *lines) find(c byte) int {
	if n := bytes.IndexByte(l.src[l.pos:], c); n >= 0 {
		return l.pos + n
	}
	return len(l.src)
}

// fieldOf splits a line into its field name, empty for a comment, and its value.
func fieldOf(line []byte) (name, value []byte) {
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return line, nil
	}
	name, value = line[:colon], line[colon+1:]
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return name, value
}

// Event is one event of a stream.
type Event struct {
	Name       string // the event field; without one, the type that the data names
	Data       []byte // the data lines, joined by LF
	Start, End int    // its raw bytes in the head, the blank line that ends it included
	DataSpan   Span   // the raw bytes of the data if it stands on one line, else zero
}

// FirstEvent looks for the first complete event in the held head of a stream that is neither a ping nor a comment (FO-11).
// A block without data is no event. Data may alias head.
func FirstEvent(head []byte) (ev Event, found bool) {
	l := linesOf(head)
	if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		l.pos = len(byteOrderMark)
	}
	ev.Start = l.pos
	dataLines := 0
	for {
		start := l.pos
		line, ended := l.next()
		if !ended {
			return Event{}, false
		}
		if len(line) == 0 {
			ev.End = l.pos
			if ev.Name == "" {
				ev.Name = typeOf(ev.Data)
			}
			if dataLines > 0 && ev.Name != "ping" {
				return ev, true
			}
			ev, dataLines = Event{Start: l.pos}, 0
			continue
		}
		switch name, value := fieldOf(line); string(name) {
		case "event":
			ev.Name = string(value)
		case "data":
			if dataLines++; dataLines == 1 {
				end := start + len(line)
				ev.DataSpan = Span{end - len(value), end}
				ev.Data = slices.Clip(value)
			} else {
				ev.Data, ev.DataSpan = append(append(ev.Data, '\n'), value...), Span{}
			}
		}
	}
}

// typeOf is the type that an event's data names, empty if it names none.
func typeOf(data []byte) string {
	members := openObject(data)
	for members.next() {
		if members.is("type") {
			return members.decoded()
		}
	}
	return ""
}

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
		if bytes.Equal(tail, []byte(byteOrderMark)) {
			return true
		}
		tail = bytes.TrimPrefix(tail, []byte(byteOrderMark))
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
