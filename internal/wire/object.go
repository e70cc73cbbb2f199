package wire

import (
	"bytes"
	"errors"
)

// Span is a range of bytes, End exclusive. The zero Span means none.
type Span struct{ Start, End int }

// Of returns the bytes of src that the span covers.
func (s Span) Of(src []byte) []byte { return src[s.Start:s.End] }

// The values of [Object.Err] and [Array.Err]: why a walk ended before the closing brace or bracket.
var (
	ErrNotObject = errors.New("not an object")
	ErrNotArray  = errors.New("not an array")
	ErrTruncated = errors.New("ends inside the object")
	ErrMalformed = errors.New("members are malformed")
)

// Object walks the members of a JSON object in place, without allocating or recursing. It checks the syntax of the members
// themselves, and skips nested values by their brackets and quotes.
type Object struct {
	Key   Span  // the name of the member that was read, with its quotes
	Value Span  // of that member; End is set when it is skipped
	Err   error // why Next returned false; nil at the closing brace

	src   []byte
	pos   int // after what was read: the brace, or the last member
	begun bool
}

// OpenObject starts at the brace with which src begins, after white space.
func OpenObject(src []byte) Object {
	i := SkipSpace(src, 0)
	if i == len(src) || src[i] != '{' {
		return Object{Err: ErrNotObject}
	}
	return ObjectAt(src, i)
}

// ObjectAt starts at the brace at i.
func ObjectAt(src []byte, i int) Object { return Object{src: src, pos: i + 1} }

// End returns the position after the bytes read so far: when Next has returned false without an error, after the closing brace.
func (o *Object) End() int { return o.pos }

// Next reads one member.
func (o *Object) Next() bool { return o.NextKey() && o.Skip() }

// NextKey reads one member up to its value, which the caller skips.
func (o *Object) NextKey() bool {
	if o.Err != nil {
		return false
	}
	i := SkipSpace(o.src, o.pos)
	if i < len(o.src) && o.src[i] == '}' {
		o.pos = i + 1
		return false
	}
	if o.begun {
		if i < len(o.src) && o.src[i] != ',' {
			return o.fail(ErrMalformed)
		}
		i = SkipSpace(o.src, min(i+1, len(o.src)))
	}
	o.begun = true
	if i == len(o.src) {
		return o.fail(ErrTruncated)
	}
	if o.src[i] != '"' {
		return o.fail(ErrMalformed)
	}
	end := skipString(o.src, i)
	if end < 0 {
		return o.fail(ErrTruncated)
	}
	o.Key = Span{i, end}

	i = SkipSpace(o.src, end)
	if i < len(o.src) && o.src[i] != ':' {
		return o.fail(ErrMalformed)
	}
	o.Value.Start = SkipSpace(o.src, min(i+1, len(o.src)))
	return true
}

// Skip reads the value of the member whose key was read.
func (o *Object) Skip() bool { return o.SkipTo(SkipValue(o.src, o.Value.Start)) }

// SkipTo is [Object.Skip] for a caller that knows the result of [SkipValue].
func (o *Object) SkipTo(end int) bool {
	if end < 0 {
		return o.fail(ErrTruncated)
	}
	if end == o.Value.Start {
		return o.fail(ErrMalformed)
	}
	o.Value.End, o.pos = end, end
	return true
}

func (o *Object) fail(err error) bool {
	o.Err = err
	return false
}

// Is reports whether the member's key, decoded, is name.
func (o *Object) Is(name string) bool { return Spells(o.src[o.Key.Start+1:o.Key.End-1], name) }

// Raw returns the member's value as written. It is never empty.
func (o *Object) Raw() []byte { return o.Value.Of(o.src) }

// Text returns the member's value without its quotes, if that is a string.
func (o *Object) Text() ([]byte, bool) { return InsideOf(o.Raw()) }

// InsideOf returns a value without its quotes, if that is a string.
func InsideOf(raw []byte) ([]byte, bool) {
	if raw[0] != '"' {
		return nil, false
	}
	return raw[1 : len(raw)-1], true
}

// Decoded returns the text of the member's value, or "" if that is not a well-formed string.
func (o *Object) Decoded() string {
	inside, _ := o.Text()
	text, ok := Unescape(nil, inside, NoLimit)
	if !ok {
		return ""
	}
	return string(text)
}

// SkipSpace returns the first index, from i on, of a byte that is not white space.
func SkipSpace(src []byte, i int) int {
	for i < len(src) && (src[i] == ' ' || src[i] == '\n' || src[i] == '\r' || src[i] == '\t') {
		i++
	}
	return i
}

// SkipValue returns the end of the value at i, i itself if none starts there, or -1 if src ends before the value does.
func SkipValue(src []byte, i int) int {
	if i == len(src) {
		return -1
	}
	switch src[i] {
	case '"':
		return skipString(src, i)
	case '{', '[':
		return SkipNested(src, i)
	}
	for ; i < len(src); i++ {
		switch src[i] {
		case ' ', '\n', '\r', '\t', ',', ':', '"', '{', '}', '[', ']':
			return i
		}
	}
	return -1
}

// skipString returns the end of the literal whose opening quote is at i, or -1. A quote ends it if it follows an even number of
// backslashes. Counting them stops at the opening quote or an escaped one, so the time is linear.
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

// SkipNested returns the end of the object or array that opens at i, or -1. It does not check that brackets match.
func SkipNested(src []byte, i int) int {
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

// Member returns the value of the last member with that name in a complete object.
func Member(src []byte, name string) (value Span, found bool) {
	members := OpenObject(src)
	for members.Next() {
		if members.Is(name) {
			value, found = members.Value, true
		}
	}
	return value, found && members.Err == nil
}
