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

// EventReader assembles the events of a stream from chunks of any size. Between two events it holds at most [spareBytes]; within
// one, its data up to the limit. The zero value, with a limit, is a stream before its first byte.
type EventReader struct {
	Limit int // bytes of the data of one event; what is longer is truncated

	begun   bool // the first line, which may begin with a byte order mark, has been read
	afterCR bool // the last chunk ended with CR: an LF that follows belongs to it
	part    []byte
	name    []byte
	data    []byte
	hasData bool
}

// spareBytes is the most memory that an [EventReader] keeps for its next event.
const spareBytes = 32 << 10

// Write accepts the next bytes, and calls yield for each event that they complete. Name and data are valid during the call.
// Blocks without data are not events.
func (r *EventReader) Write(p []byte, yield func(name, data []byte)) {
	if len(p) == 0 {
		return
	}
	endsCR := p[len(p)-1] == '\r'
	if r.afterCR && p[0] == '\n' {
		p = p[1:]
	}
	r.afterCR = endsCR
	l := LinesOf(p)
	for {
		line, ended := l.Next()
		if !ended {
			r.part = r.hold(r.part, line)
			return
		}
		if len(r.part) > 0 {
			r.part = r.hold(r.part, line)
			line = r.part
		}
		r.line(line, yield)
		r.part = shrunk(r.part)
	}
}

func (r *EventReader) line(line []byte, yield func(name, data []byte)) {
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte(ByteOrderMark))
	}
	if len(line) == 0 {
		if r.hasData {
			yield(r.name, r.data)
		}
		r.name, r.data, r.hasData = r.name[:0], shrunk(r.data), false
		return
	}
	switch name, value := Field(line); string(name) {
	case "event":
		r.name = append(r.name[:0], value...)
	case "data":
		if r.hasData {
			r.data = r.hold(r.data, []byte{'\n'})
		}
		r.data, r.hasData = r.hold(r.data, value), true
	}
}

func (r *EventReader) hold(dst, p []byte) []byte {
	return append(dst, p[:min(len(p), max(r.Limit-len(dst), 0))]...)
}

// shrunk returns b empty, or nothing if it has become large.
func shrunk(b []byte) []byte {
	if cap(b) > spareBytes {
		return nil
	}
	return b[:0]
}
