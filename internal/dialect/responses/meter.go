package responses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// maxHeld is the maximum size, in bytes, of each piece of a response that a meter holds.
const maxHeld = 24 << 10

// readUsage reads a usage object, in which the input includes the tokens read from the cache and written to it (DIA-9).
func readUsage(u *dialect.Usage, object []byte) {
	var input, output, cached, written int64
	known := false
	for members := wire.OpenObject(object); members.Next(); {
		switch {
		case members.Is("input_tokens"):
			known = count(&input, members.Raw()) || known
		case members.Is("output_tokens"):
			known = count(&output, members.Raw()) || known
		case members.Is("input_tokens_details"):
			for details := wire.OpenObject(members.Raw()); details.Next(); {
				switch {
				case details.Is("cached_tokens"):
					count(&cached, details.Raw())
				case details.Is("cache_write_tokens"):
					count(&written, details.Raw())
				}
			}
		}
	}
	if !known {
		return
	}
	cached = min(cached, input)
	written = min(written, input-cached)
	*u = dialect.Usage{Input: input - cached - written, Output: output, CacheRead: cached, CacheCreation: written, Known: true}
}

// count reads a number that is an integer and not negative.
func count(field *int64, raw []byte) bool {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 {
		return false
	}
	*field = n
	return true
}

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

// streamMeter reads the usage of a stream, and whether it is complete, as the bytes pass (OBS-1). The last event repeats the whole
// response, so it is searched and not held.
type streamMeter struct {
	usage    dialect.Usage
	complete bool
	failure  string

	line    []byte // the beginning of the current line, until its field is known
	mode    lineMode
	afterCR bool

	name    string // of the current event
	hasData bool
	kind    string // the type in its data
	code    string // of the error in its data
	class   string // its type
	pending dialect.Usage

	captures [6]wire.Capture
}

type lineMode uint8

const (
	unknownLine lineMode = iota
	dataLine
	skippedLine
)

// longestField is more than the longest beginning of a line that matters: the name of an event.
const longestField = 64

// NewStreamMeter implements [dialect.Passing].
func (Dialect) NewStreamMeter() dialect.StreamMeter {
	m := &streamMeter{}
	text := func(field *string) wire.CaptureFunc {
		return func(v []byte) { _ = json.Unmarshal(v, field) } // anything but a string changes nothing
	}
	for i, c := range []wire.Capture{
		{Path: []string{"type"}, To: text(&m.kind)},
		{Path: []string{"response", "usage"}, To: wire.CaptureFunc(func(object []byte) { readUsage(&m.pending, object) })},
		{Path: []string{"response", "error", "code"}, To: text(&m.code)},
		{Path: []string{"error", "code"}, To: text(&m.code)},
		{Path: []string{"error", "type"}, To: text(&m.class)},
		{Path: []string{"code"}, To: text(&m.code)},
	} {
		c.Limit = maxHeld / 8
		m.captures[i] = c
	}
	return m
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
	if m.mode != unknownLine {
		if m.mode == dataLine {
			m.search(piece)
		}
		return
	}
	taken := min(len(piece), longestField-len(m.line))
	m.line = append(m.line, piece[:taken]...)
	value, isData := bytes.CutPrefix(bytes.TrimPrefix(m.line, []byte(wire.ByteOrderMark)), []byte("data:"))
	if !isData {
		return
	}
	m.mode, m.hasData = skippedLine, true
	if m.matters() {
		m.mode = dataLine
		m.search(value)
		m.search(piece[taken:])
	}
}

func (m *streamMeter) search(p []byte) {
	for i := range m.captures {
		m.captures[i].Write(p)
	}
}

// matters reports whether the current event may end the stream.
func (m *streamMeter) matters() bool { return m.name == "" || ends(m.name) }

func ends(name string) bool {
	switch name {
	case eventCompleted, eventIncomplete, eventFailed, eventError:
		return true
	}
	return false
}

func (m *streamMeter) endLine() {
	line := bytes.TrimPrefix(m.line, []byte(wire.ByteOrderMark))
	mode := m.mode
	m.line, m.mode = m.line[:0], unknownLine
	if mode != unknownLine {
		return
	}
	if len(line) == 0 {
		m.dispatch()
		return
	}
	if name, value := wire.Field(line); string(name) == "event" {
		m.name = string(value)
	}
}

func (m *streamMeter) dispatch() {
	name := m.name
	if name == "" {
		name = m.kind
	}
	if m.hasData && ends(name) {
		m.complete = true
		if m.pending.Known {
			m.usage = m.pending
		}
		if (name == eventFailed || name == eventError) && m.failure == "" {
			m.failure = plainCode(cmp.Or(m.code, m.class))
		}
	}
	if m.hasData {
		for i := range m.captures {
			m.captures[i].Reset()
		}
	}
	m.name, m.hasData, m.kind, m.code, m.class, m.pending = "", false, "", "", "", dialect.Usage{}
}

// plainCode returns a code of lower-case letters and underscores, or "unknown" (OBS-1).
func plainCode(code string) string {
	if code == "" || len(code) > 64 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return "unknown"
	}
	return code
}
