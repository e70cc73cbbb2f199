package responses

import (
	"bytes"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// eachItem calls yield for each item of the last member input, if that is an array, until yield returns false.
func eachItem(body []byte, yield func(item wire.Span) bool) {
	input, ok := wire.Member(body, "input")
	if !ok || body[input.Start] != '[' {
		return
	}
	for at := wire.SkipSpace(body, input.Start+1); at < input.End && body[at] != ']'; {
		end := wire.SkipValue(body, at)
		if end <= at || !yield(wire.Span{Start: at, End: end}) {
			return
		}
		if at = wire.SkipSpace(body, end); at < input.End && body[at] == ',' {
			at = wire.SkipSpace(body, at+1)
		}
	}
}

// AppendCuts implements [dialect.Passing] (RSP-3b).
func (Dialect) AppendCuts(dst []wire.Edit, body []byte, to dialect.Origin) (_ []wire.Edit, dropped int) {
	if !bytes.Contains(body, []byte(dialect.EnvelopeMark)) {
		return dst, 0
	}
	return appendCuts(dst, body, func(item []byte) bool {
		token, ok := wire.Member(item, "encrypted_content")
		if !ok {
			return false
		}
		inside, isText := wire.InsideOf(token.Of(item))
		if !isText {
			return false
		}
		r, sealed := dialect.Open(string(inside))
		return sealed && r.Origin != to
	})
}

// AppendReasoningCuts implements [dialect.Passing] (GPT-10b).
func (Dialect) AppendReasoningCuts(dst []wire.Edit, body []byte) []wire.Edit {
	dst, _ = appendCuts(dst, body, func([]byte) bool { return true })
	return dst
}

// appendCuts appends edits that remove the reasoning items for which cut returns true, each with a comma beside it.
func appendCuts(dst []wire.Edit, body []byte, cut func(item []byte) bool) (_ []wire.Edit, dropped int) {
	kept := false     // an item before this one stays
	removed := -1     // where the run of removed items at the beginning starts
	previousEnd := -1 // of the last item that stays
	eachItem(body, func(item wire.Span) bool {
		if text := item.Of(body); !isReasoning(text) || !cut(text) {
			if removed >= 0 {
				dst = append(dst, wire.Edit{Span: wire.Span{Start: removed, End: item.Start}})
				removed = -1
			}
			kept, previousEnd = true, item.End
			return true
		}
		dropped++
		switch {
		case kept:
			dst = append(dst, wire.Edit{Span: wire.Span{Start: previousEnd, End: item.End}})
			previousEnd = item.End
		case removed < 0:
			removed = item.Start
		}
		return true
	})
	if removed >= 0 { // nothing stays
		if input, ok := wire.Member(body, "input"); ok {
			dst = append(dst, wire.Edit{Span: input, With: []byte("[]")})
		}
	}
	return dst, dropped
}
