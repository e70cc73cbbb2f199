package messages

import (
	"bytes"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// responseMeter reads the usage of a response that is one JSON document, as the bytes pass (OBS-1). It skips strings, holds
// only the usage itself, at most 32 KiB, never fails, and ignores what it cannot read. The division of the document into chunks
// makes no difference. The zero value is ready to use.
type responseMeter struct {
	usage dialect.Usage

	depth     int
	inObject  bool // the document is an object
	inString  bool
	backslash bool // an odd run of backslashes ended the last chunk
	wantKey   bool // at depth 1: the next string is a key
	isUsage   bool // the last key at depth 1 is usage
	done      bool

	recording bool
	record    []byte // of a key at depth 1, or of the value of usage
}

// Usage implements [dialect.Meter].
func (m *responseMeter) Usage() dialect.Usage { return m.usage }

// Write implements [dialect.Meter].
func (m *responseMeter) Write(p []byte) {
	from := 0 // where the record continues in p
	for i := 0; i < len(p) && !m.done; i++ {
		if m.inString {
			end := m.stringEnd(p[i:])
			if end < 0 {
				break
			}
			i += end
			m.inString = false
			if m.wantKey && m.depth == 1 {
				m.isUsage = wire.Spells(m.whole(p[from:i]), "usage")
				m.wantKey, m.recording, m.record = false, false, m.record[:0]
			}
			continue
		}
		switch p[i] {
		case '"':
			m.inString = true
			if m.wantKey && m.depth == 1 {
				m.recording, from = true, i+1
			}
		case '{', '[':
			if m.depth++; m.depth == 1 {
				m.inObject = p[i] == '{'
				m.wantKey = m.inObject
			}
		case ':':
			if m.depth == 1 && m.isUsage && !m.recording {
				m.recording, from = true, i+1
			}
		case ',':
			if m.depth == 1 {
				m.finish(p[from:i])
				m.wantKey = m.inObject
			}
		case '}', ']':
			if m.depth--; m.depth <= 0 {
				m.finish(p[from:i])
				m.done = true
			}
		}
	}
	if m.recording {
		m.record = hold(m.record, p[from:])
	}
}

// whole returns the record with the rest of it.
func (m *responseMeter) whole(rest []byte) []byte {
	if len(m.record) == 0 {
		return rest[:min(len(rest), maxHeld)]
	}
	return hold(m.record, rest)
}

// finish reads the value that has ended, if it is that of usage; rest is the part that is not in the record yet.
func (m *responseMeter) finish(rest []byte) {
	if m.recording {
		readUsage(&m.usage, m.whole(rest))
	}
	m.isUsage, m.recording, m.record = false, false, m.record[:0]
}

// stringEnd returns the index of the quote that ends a string with which p begins. Without one it returns -1, and remembers an
// odd run of backslashes at the end of p.
func (m *responseMeter) stringEnd(p []byte) int {
	for i := 0; ; i++ {
		quote := bytes.IndexByte(p[i:], '"')
		end := len(p)
		if quote >= 0 {
			end = i + quote
		}
		run := end
		for run > i && p[run-1] == '\\' {
			run--
		}
		odd := (end-run)&1 == 1
		if run == i {
			odd = odd != m.backslash
		}
		m.backslash = false
		if quote < 0 {
			m.backslash = odd
			return -1
		}
		if !odd {
			return end
		}
		i = end
	}
}
