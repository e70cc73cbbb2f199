package wire

import (
	"bytes"
	"slices"
)

// Event is one event of a stream.
type Event struct {
	Name       string // the event field; empty if there is none
	Data       []byte // the data lines, joined by LF; it may alias the stream
	HasData    bool
	Start, End int  // its raw bytes in the stream, including the blank line that ends it
	DataSpan   Span // the raw bytes of the data if it is on one line, else zero
}

// NextEvent reads the block of a stream that starts at pos: an event, or comments. It reports false if the block has not ended;
// then only Start is set.
func NextEvent(stream []byte, pos int) (e Event, found bool) {
	l := LinesOf(stream)
	if l.Pos = pos; pos == 0 && bytes.HasPrefix(stream, []byte(ByteOrderMark)) {
		l.Pos = len(ByteOrderMark)
	}
	e.Start = l.Pos
	for {
		start := l.Pos
		line, ended := l.Next()
		if !ended {
			return Event{Start: e.Start}, false
		}
		if len(line) == 0 {
			e.End = l.Pos
			return e, true
		}
		switch name, value := Field(line); string(name) {
		case "event":
			e.Name = string(value)
		case "data":
			if !e.HasData {
				end := start + len(line)
				e.DataSpan = Span{Start: end - len(value), End: end}
				e.Data, e.HasData = slices.Clip(value), true
			} else {
				e.Data, e.DataSpan = append(append(e.Data, '\n'), value...), Span{}
			}
		}
	}
}
