package wire

import (
	"cmp"
	"slices"
)

// Edit replaces the bytes of a span.
type Edit struct {
	Span
	With []byte
}

// Splice returns a body with the edits applied, as slices to send one after the other, and their length in bytes. It does not
// copy: the slices alias body and the edits (WIRE-5). Edits may have any order and must not overlap; insertions at the same
// place keep their order. An edit with the zero Span is ignored.
func Splice(body []byte, edits ...Edit) (segments [][]byte, length int64) {
	var buf [2]Edit // the usual number
	edits = append(buf[:0], edits...)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	segments = make([][]byte, 0, 2*len(edits)+1)
	add := func(segment []byte) {
		if len(segment) > 0 {
			segments = append(segments, segment)
			length += int64(len(segment))
		}
	}
	done := 0
	for _, edit := range edits {
		if edit.Span == (Span{}) {
			continue
		}
		add(body[done:edit.Start])
		add(edit.With)
		done = edit.End
	}
	add(body[done:])
	return segments, length
}
