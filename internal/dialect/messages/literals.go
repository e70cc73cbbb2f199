package messages

import (
	"strconv"

	"shunt/internal/wire"
)

// literals decodes values of a document. Text is a copy of src, of which strings without escapes are substrings: most strings
// cost nothing.
type literals struct {
	src     []byte
	text    string
	scratch []byte
}

func (l *literals) isString(v wire.Span) bool { return v.End > v.Start && l.src[v.Start] == '"' }

// string returns the text of a literal, or "" if the value is anything else.
func (l *literals) string(v wire.Span) string {
	if !l.isString(v) {
		return ""
	}
	inside := l.src[v.Start+1 : v.End-1]
	if wire.IsPlain(inside) {
		return l.text[v.Start+1 : v.End-1]
	}
	var ok bool
	if l.scratch, ok = wire.Unescape(l.scratch[:0], inside, wire.NoLimit); !ok {
		return ""
	}
	return string(l.scratch)
}

func (l *literals) int(v wire.Span) int {
	n, err := strconv.Atoi(string(v.Of(l.src)))
	if err != nil {
		return 0
	}
	return n
}

func (l *literals) float(v wire.Span) *float64 {
	f, err := strconv.ParseFloat(string(v.Of(l.src)), 64)
	if err != nil {
		return nil
	}
	return &f
}

func (l *literals) strings(v wire.Span) []string {
	var all []string
	for list := wire.ArrayAt(l.src, v.Start); list.Next(); {
		all = append(all, l.string(list.Value))
	}
	return all
}

// member returns the value of an object's member, or the zero Span.
func (l *literals) member(object wire.Span, name string) wire.Span {
	if object == (wire.Span{}) {
		return wire.Span{}
	}
	v, ok := wire.Member(object.Of(l.src), name)
	if !ok {
		return wire.Span{}
	}
	return within(object, v)
}

// within returns the place of a span that is relative to another one.
func within(outer, inner wire.Span) wire.Span {
	return wire.Span{Start: outer.Start + inner.Start, End: outer.Start + inner.End}
}
