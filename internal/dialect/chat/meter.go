package chat

import (
	"bytes"
	"cmp"
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// maxHeld is the maximum size, in bytes, of each piece of a response that a meter holds.
const maxHeld = 3 << 10

// responseMeter reads the usage of a response that is one JSON document (OBS-1).
type responseMeter struct {
	wire.Capture
	usage dialect.Usage
}

// NewMeter implements [dialect.Passing].
func (Dialect) NewMeter() dialect.Meter {
	m := &responseMeter{}
	m.Capture = wire.Capture{Path: []string{"usage"}, Limit: maxHeld, To: m}
	return m
}

// Captured implements [wire.Capturer].
func (m *responseMeter) Captured(object []byte) { readUsage(&m.usage, object) }

// Usage implements [dialect.Meter].
func (m *responseMeter) Usage() dialect.Usage { return m.usage }

// streamMeter reads the usage of a stream, and whether it is complete, as the bytes pass (OBS-1). Chunks are searched and not
// held.
type streamMeter struct {
	usage    dialect.Usage
	complete bool
	failure  string

	line    []byte // the beginning of the current line
	inData  bool   // the current line is data
	afterCR bool
	begun   bool // the first line, which may begin with a byte order mark, has been read

	pending  dialect.Usage // of the current event
	failed   string        // of its error
	last     bool          // it ends the stream
	captures [3]wire.Capture
}

// longestField is more than the longest line that matters as a whole: the last event.
const longestField = 32

// NewStreamMeter implements [dialect.Passing].
func (Dialect) NewStreamMeter() dialect.StreamMeter {
	m := &streamMeter{}
	m.captures = [...]wire.Capture{
		{Path: []string{"usage"}, Limit: maxHeld, To: wire.CaptureFunc(func(object []byte) { readUsage(&m.pending, trim(object)) })},
		{Path: []string{"error"}, Limit: maxHeld, To: wire.CaptureFunc(m.reported)},
		{Path: []string{"object"}, Limit: 16, To: wire.CaptureFunc(func(value []byte) {
			if string(trim(value)) == `"error"` && m.failed == "" {
				m.failed = plainCode("")
			}
		})},
	}
	return m
}

func trim(value []byte) []byte { return bytes.Trim(value, " \t\r\n") }

// reported reads the value of a member error.
func (m *streamMeter) reported(value []byte) {
	if value = trim(value); string(value) == "null" {
		return
	}
	code, kind := "", ""
	for members := wire.OpenObject(value); members.Next(); {
		switch {
		case members.Is("code"):
			code = members.Decoded()
		case members.Is("type"):
			kind = members.Decoded()
		}
	}
	m.failed = plainCode(cmp.Or(code, kind))
}

// plainCode returns a code of lower-case letters and underscores, or "unknown" (OBS-1).
func plainCode(code string) string {
	if code == "" || len(code) > 64 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return "unknown"
	}
	return code
}

// Usage implements [dialect.Meter].
func (m *streamMeter) Usage() dialect.Usage { return m.usage }

// Complete implements [dialect.StreamMeter].
func (m *streamMeter) Complete() bool { return m.complete }

// Failure implements [dialect.StreamMeter].
func (m *streamMeter) Failure() string { return m.failure }

// Write implements [dialect.Meter].
func (m *streamMeter) Write(p []byte) {
	if len(p) == 0 {
		return
	}
	endsCR := p[len(p)-1] == '\r'
	if m.afterCR && p[0] == '\n' {
		p = p[1:]
	}
	m.afterCR = endsCR
	for l := wire.LinesOf(p); ; {
		line, ended := l.Next()
		m.add(line)
		if !ended {
			return
		}
		m.endLine()
	}
}

// add accepts a piece of a line.
func (m *streamMeter) add(piece []byte) {
	if m.inData {
		m.search(piece)
	}
	taken := min(len(piece), longestField-len(m.line))
	m.line = append(m.line, piece[:taken]...)
	if m.inData {
		return
	}
	if value, isData := m.data(); isData {
		m.inData = true
		m.search(value)
		m.search(piece[taken:])
	}
}

// data returns the beginning of the current line's data.
func (m *streamMeter) data() (value []byte, isData bool) {
	line := m.line
	if !m.begun {
		line = bytes.TrimPrefix(line, []byte(wire.ByteOrderMark))
	}
	return bytes.CutPrefix(line, []byte("data:"))
}

func (m *streamMeter) search(p []byte) {
	for i := range m.captures {
		m.captures[i].Write(p)
	}
}

// endLine counts what a line of data says, and at a blank line, what the event says that it ends. In this dialect, the data of an
// event is one line.
func (m *streamMeter) endLine() {
	value, isData := m.data()
	blank := len(m.line) == 0
	m.line, m.begun = m.line[:0], true
	switch {
	case isData:
		m.last = m.last || string(trim(value)) == done
		m.inData = false
		for i := range m.captures {
			m.captures[i].Reset()
		}
	case blank:
		m.dispatch()
	}
}

func (m *streamMeter) dispatch() {
	if !m.complete {
		if m.pending.Known {
			m.usage = m.pending
		}
		m.failure = m.failed
		m.complete = m.last || m.failed != ""
	}
	m.pending, m.failed, m.last = dialect.Usage{}, "", false
}
