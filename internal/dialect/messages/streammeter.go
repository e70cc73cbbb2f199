package messages

import (
	"bytes"
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// streamMeter reads the usage of a streamed response, and whether it is complete, as the bytes pass (OBS-1). It reads the few
// events that matter and skips the others. It holds at most 64 KiB, never fails, and ignores what it cannot read. The division
// of the stream into chunks makes no difference. The zero value is ready to use.
type streamMeter struct {
	usage    dialect.Usage
	complete bool
	failure  string

	begun   bool // the first line, which may begin with a byte order mark, has been read
	afterCR bool // the last chunk ended with CR: an LF that follows belongs to it
	part    []byte
	skip    bool // ignore the rest of the current line

	kind    eventKind
	hasData bool
	data    []byte // of the current event, unless that is ignored
}

type eventKind uint8

const (
	unnamed eventKind = iota // no event field so far: the data has the type
	ignored
	messageStart
	messageDelta
	messageStop
	failed // error
)

func kindOf(name string) eventKind {
	switch name {
	case "":
		return unnamed
	case "message_start":
		return messageStart
	case "message_delta":
		return messageDelta
	case "message_stop":
		return messageStop
	case "error":
		return failed
	}
	return ignored
}

// Usage implements [dialect.Meter].
func (m *streamMeter) Usage() dialect.Usage { return m.usage }

// Complete implements [dialect.StreamMeter]: a response ends with message_stop or an error event (FO-9).
func (m *streamMeter) Complete() bool { return m.complete }

// Failure implements [dialect.StreamMeter].
func (m *streamMeter) Failure() string { return m.failure }

// unknownType is the type of an error event that does not have one (OBS-1).
const unknownType = "unknown"

const maxErrorType = 64

func failureOf(data []byte) string {
	kind, _, ok := ParseError(data)
	foreign := func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }
	if !ok || len(kind) > maxErrorType || strings.ContainsFunc(string(kind), foreign) {
		return unknownType
	}
	return string(kind)
}

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
	l := wire.LinesOf(p)
	for {
		line, ended := l.Next()
		if !ended {
			m.keep(line)
			return
		}
		if m.skip {
			m.skip = false
			continue
		}
		if len(m.part) > 0 {
			line = hold(m.part, line)
			m.part = line[:0]
		}
		m.line(line)
	}
}

// keep holds the beginning of a line whose rest is in the next chunk, unless it cannot matter.
func (m *streamMeter) keep(beginning []byte) {
	if m.skip {
		return
	}
	m.part = hold(m.part, beginning)
	if m.kind == ignored && len(m.part) >= len("event") && !bytes.HasPrefix(m.part, []byte("event")) {
		m.part, m.skip = m.part[:0], true
	}
}

func (m *streamMeter) line(line []byte) {
	line = line[:min(len(line), maxHeld)] // as much as keep would have held
	if !m.begun {
		m.begun = true
		line = bytes.TrimPrefix(line, []byte(wire.ByteOrderMark))
	}
	if len(line) == 0 {
		m.dispatch()
		return
	}
	switch name, value := wire.Field(line); string(name) {
	case "event":
		m.kind = kindOf(string(value))
	case "data":
		if m.kind == ignored {
			return
		}
		if m.hasData {
			m.data = hold(m.data, []byte{'\n'})
		}
		m.data, m.hasData = hold(m.data, value), true
	}
}

func (m *streamMeter) dispatch() {
	if m.hasData {
		if m.kind == unnamed {
			m.kind = kindOf(typeOf(m.data))
		}
		switch m.kind {
		case messageStart:
			if message, ok := wire.Member(m.data, "message"); ok {
				m.readUsage(message.Of(m.data))
			}
		case messageDelta:
			m.readUsage(m.data)
		case messageStop:
			m.complete = true
		case failed:
			m.complete = true
			if m.failure == "" {
				m.failure = failureOf(m.data)
			}
		}
	}
	m.kind, m.hasData, m.data = unnamed, false, m.data[:0]
}

func (m *streamMeter) readUsage(holder []byte) {
	if usage, ok := wire.Member(holder, "usage"); ok {
		readUsage(&m.usage, usage.Of(holder))
	}
}
