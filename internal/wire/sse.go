package wire

import "bytes"

// ByteOrderMark may begin an event stream.
const ByteOrderMark = "\xef\xbb\xbf"

// Lines iterates over the lines of a chunk of an event stream. A line ends with LF, CRLF or CR.
type Lines struct {
	src    []byte
	Pos    int // where the next line starts
	lf, cr int // where the next of each is; stale when before Pos
}

// LinesOf returns the lines of src.
func LinesOf(src []byte) Lines { return Lines{src: src, lf: -1, cr: -1} }

// Next returns a line without its end. Ended is false for the rest after the last line end.
func (l *Lines) Next() (line []byte, ended bool) {
	if l.lf < l.Pos {
		l.lf = l.find('\n')
	}
	if l.cr < l.Pos {
		l.cr = l.find('\r')
	}
	end := min(l.lf, l.cr)
	line = l.src[l.Pos:end]
	if end == len(l.src) {
		l.Pos = end
		return line, false
	}
	l.Pos = end + 1
	if end == l.cr && l.Pos < len(l.src) && l.src[l.Pos] == '\n' {
		l.Pos++
	}
	return line, true
}

func (l *Lines) find(c byte) int {
	if n := bytes.IndexByte(l.src[l.Pos:], c); n >= 0 {
		return l.Pos + n
	}
	return len(l.src)
}

// Field splits a line into its field name, empty for a comment, and its value.
func Field(line []byte) (name, value []byte) {
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
