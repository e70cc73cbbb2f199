package wire

import (
	"bytes"
	"errors"
)

// MaxEvent is the maximum size, in bytes, of the data of an event that [Events] reads (DIA-2).
const MaxEvent = 16 << 20

// maxIdle is the capacity, in bytes, of a buffer that outlives its event.
const maxIdle = 32 << 10

// ErrEventTooLong is the error of a stream with an event longer than [MaxEvent].
var ErrEventTooLong = errors.New("an event of the stream is longer than 16 MiB")

// Events splits a stream of server-sent events into their names and data. The division of the stream into chunks makes no
// difference. Between events it holds at most 64 KiB. The zero value is ready to use.
//
//	for e.Feed(chunk); e.Next(); {
//		use(e.Name, e.Data)
//	}
type Events struct {
	Name string // the event field of the event that was read; empty: none
	Data []byte // its data lines, joined by LF. It is valid until the next Feed, and aliases the chunk where it can
	Err  error  // [ErrEventTooLong]: there are no more events

	lines   Lines
	begun   bool // the first line, which may begin with a byte order mark, has been read
	afterCR bool // the last chunk ended with CR: an LF that follows belongs to it

	part, spare []byte // the current line so far; what the last one was joined in

	name    string
	data    []byte
	hasData bool
	owned   bool // data is not part of a chunk or of spare
}

// Feed gives the next chunk of the stream. All events of the last one must have been read.
func (e *Events) Feed(p []byte) {
	if cap(e.spare) > maxIdle {
		e.spare = nil
	}
	if e.afterCR && len(p) > 0 {
		e.afterCR = false
		if p[0] == '\n' {
			p = p[1:]
		}
	}
	e.afterCR = e.afterCR || len(p) > 0 && p[len(p)-1] == '\r'
	e.lines = LinesOf(p)
}

// Next reads one event that has data. It returns false if the chunk completes no other.
func (e *Events) Next() bool {
	for e.Err == nil {
		line, ended := e.lines.Next()
		if len(e.part)+len(line)+len(e.data) > MaxEvent+16 {
			e.Err = ErrEventTooLong
			e.part, e.spare, e.data = nil, nil, nil
			break
		}
		if !ended {
			e.part = append(e.part, line...)
			if e.hasData && !e.owned {
				e.data, e.owned = bytes.Clone(e.data), true
			}
			break
		}
		if len(e.part) > 0 {
			line = append(e.part, line...)
			e.part, e.spare = e.spare[:0], line
		}
		if e.line(line) {
			return true
		}
	}
	return false
}

// End reads the event that the end of the stream completes, if any: one whose blank line is missing.
func (e *Events) End() bool {
	e.Feed([]byte("\n\n"))
	return e.Next()
}

// line reads a line, and reports whether it ends an event with data.
func (e *Events) line(line []byte) bool {
	if !e.begun {
		e.begun = true
		line = bytes.TrimPrefix(line, []byte(ByteOrderMark))
	}
	if len(line) == 0 {
		dispatch := e.hasData
		e.Name, e.Data = e.name, e.data
		e.name, e.data, e.hasData, e.owned = "", nil, false, false
		return dispatch
	}
	switch name, value := Field(line); string(name) {
	case "event":
		if e.name != string(value) {
			e.name = string(value)
		}
	case "data":
		if !e.hasData {
			e.data, e.hasData, e.owned = value, true, false
			break
		}
		if !e.owned {
			e.data, e.owned = bytes.Clone(e.data), true
		}
		e.data = append(append(e.data, '\n'), value...)
	}
	return false
}
