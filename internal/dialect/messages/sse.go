package messages

import (
	"bytes"
	"slices"

	"shunt/internal/wire"
)

// Event is one event of a stream.
type Event struct {
	Name       string    // the event field, or the type in the data if there is none
	Data       []byte    // the data lines, joined by LF
	Start, End int       // its raw bytes in the head, including the blank line that ends it
	DataSpan   wire.Span // the raw bytes of the data if it is on one line, else zero
}

// FirstEvent finds the first complete event in the head of a stream that is neither a ping nor a comment (FO-11). A block
// without data is not an event. Data may alias head. If there is none, Start is that of the block that has not ended.
func FirstEvent(head []byte) (ev Event, found bool) {
	l := wire.LinesOf(head)
	if bytes.HasPrefix(head, []byte(wire.ByteOrderMark)) {
		l.Pos = len(wire.ByteOrderMark)
	}
	ev.Start = l.Pos
	dataLines := 0
	for {
		start := l.Pos
		line, ended := l.Next()
		if !ended {
			return Event{Start: ev.Start}, false
		}
		if len(line) == 0 {
			ev.End = l.Pos
			if ev.Name == "" {
				ev.Name = typeOf(ev.Data)
			}
			if dataLines > 0 && ev.Name != "ping" {
				return ev, true
			}
			ev, dataLines = Event{Start: l.Pos}, 0
			continue
		}
		switch name, value := wire.Field(line); string(name) {
		case "event":
			ev.Name = string(value)
		case "data":
			if dataLines++; dataLines == 1 {
				end := start + len(line)
				ev.DataSpan = wire.Span{Start: end - len(value), End: end}
				ev.Data = slices.Clip(value)
			} else {
				ev.Data, ev.DataSpan = append(append(ev.Data, '\n'), value...), wire.Span{}
			}
		}
	}
}

// typeOf returns the type in an event's data, or "".
func typeOf(data []byte) string {
	name := ""
	members := wire.OpenObject(data)
	for members.Next() {
		if members.Is("type") {
			name = members.Decoded()
		}
	}
	return name
}
