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
	if end == l.cr && l.pos < len(l.src) && l.src[l.pos] == '\n' {
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
// A block without data is no event. Data may alias head. If there is none, Start is that of the block that has not ended.
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
			return Event{Start: ev.Start}, false
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
	name := ""
	members := openObject(data)
	for members.next() {
		if members.is("type") {
			name = members.decoded()
		}
	}
	return name
}
