package anthropic

import (
	"bytes"
	"errors"
)

// Span is a range of bytes, End exclusive. The zero Span is no range at all.
type Span struct{ Start, End int }

// of returns the bytes of src that the span covers.
func (s Span) of(src []byte) []byte { return src[s.Start:s.End] }

var (
	errNotObject = errors.New("not an object")
	errCut       = errors.New("ends inside the object")
	errGrammar   = errors.New("members are malformed")
)

// object walks the members of a JSON object in place, without allocating or recursing. It holds the members themselves
// to the grammar; a nested value is skipped by its brackets and quotes alone.
type object struct {
	src   []byte
	pos   int // after what was read: the brace, or the last member
	begun bool

	key   []byte // the inside of the member's literal, as written
	value Span   // until it is skipped only its start is known
	err   error  // why next returned false; nil at the closing brace
}

// openObject starts at the brace that src begins with, white space aside.
func openObject(src []byte) object {
	i := skipSpace(src, 0)
	if i == len(src) || src[i] != '{' {
		return object{err: errNotObject}
	}
	return object{src: src, pos: i + 1}
}

// next reads one member.
func (o *object) next() bool { return o.nextKey() && o.skip() }

// nextKey reads one member up to its value, which the caller skips.
func (o *object) nextKey() bool {
	if o.err != nil {
		return false
	}
	i := skipSpace(o.src, o.pos)
	if i < len(o.src) && o.src[i] == '}' {
		o.pos = i + 1
		return false
	}
	if o.begun {
		if i < len(o.src) && o.src[i] != ',' {
			return o.fail(errGrammar)
		}
		i = skipSpace(o.src, min(i+1, len(o.src)))
	}
	o.begun = true
	if i == len(o.src) {
		return o.fail(errCut)
	}
	if o.src[i] != '"' {
		return o.fail(errGrammar)
	}
	end := skipString(o.src, i)
	if end < 0 {
		return o.fail(errCut)
	}
	o.key = o.src[i+1 : end-1]

	i = skipSpace(o.src, end)
	if i < len(o.src) && o.src[i] != ':' {
		return o.fail(errGrammar)
	}
	o.value.Start = skipSpace(o.src, min(i+1, len(o.src)))
	return true
}

// skip reads the value of the member whose key was read.
func (o *object) skip() bool { return o.skipTo(skipValue(o.src, o.value.Start)) }

// skipTo ends the member's value at end, as [skipValue] returns it.
func (o *object) skipTo(end int) bool {
	if end < 0 {
		return o.fail(errCut)
	}
	if end == o.value.Start {
		return o.fail(errGrammar)
	}
	o.value.End, o.pos = end, end
	return true
}

func (o *object) fail(err error) bool {
	o.err = err
	return false
}

// is reports whether the member's key, decoded, is name.
func (o *object) is(name string) bool { return spells(o.key, name) }

// raw is the member's value as written; never empty.
func (o *object) raw() []byte { return o.value.of(o.src) }

// text is the inside of the member's value if that is a string.
func (o *object) text() ([]byte, bool) { return insideOf(o.raw()) }

// insideOf is the inside of a value if that is a string.
func insideOf(raw []byte) ([]byte, bool) {
	if raw[0] != '"' {
		return nil, false
	}
	return raw[1 : len(raw)-1], true
}

// decoded is the text of the member's value, empty if that is not a well-formed string.
func (o *object) decoded() string {
	inside, _ := o.text()
	text, ok := unescape(nil, inside, noLimit)
	if !ok {
		return ""
	}
	return string(text)
}

// skipSpace returns the first index from i on that is not white space.
func skipSpace(src []byte, i int) int {
	for i < len(src) && (src[i] == ' ' || src[i] == '\n' || src[i] == '\r' || src[i] == '\t') {
		i++
	}
	return i
}

// skipValue returns the end of the value at i, i itself if none starts there, or -1 if src ends before the value does.
func skipValue(src []byte, i int) int {
	if i == len(src) {
		return -1
	}
	switch src[i] {
	case '"':
		return skipString(src, i)
	case '{', '[':
		return skipNested(src, i)
	}
	for ; i < len(src); i++ {
		switch src[i] {
		case ' ', '\n', '\r', '\t', ',', ':', '"', '{', '}', '[', ']':
			return i
		}
	}
	return -1
}

// skipString returns the end of the literal whose opening quote is at i, or -1. A quote ends it if an even number of
// backslashes stands before; the opening quote stops that count, and so does an escaped one: the whole is linear.
func skipString(src []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(src[i:], '"')
		if n < 0 {
			return -1
		}
		i += n
		run := i
		for src[run-1] == '\\' {
			run--
		}
		if (i-run)&1 == 0 {
			return i + 1
		}
	}
}

// skipNested returns the end of the object or array that opens at i, or -1. Which bracket closes which is not checked.
func skipNested(src []byte, i int) int {
	for depth := 0; i < len(src); i++ {
		switch src[i] {
		case '"':
			end := skipString(src, i)
			if end < 0 {
				return -1
			}
			i = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
