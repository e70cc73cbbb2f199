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
		return dialect.IsForeign(inside, to)
	})
}

// AppendReasoningCuts implements [dialect.Passing] (GPT-10b).
func (Dialect) AppendReasoningCuts(dst []wire.Edit, body []byte) []wire.Edit {
	dst, _ = appendCuts(dst, body, func([]byte) bool { return true })
	return dst
}

// appendCuts appends an edit for each reasoning item for which cut returns true, which removes the item and a comma beside it.
func appendCuts(dst []wire.Edit, body []byte, cut func(item []byte) bool) (_ []wire.Edit, dropped int) {
	remove := func(start, end int) { dst = append(dst, wire.Edit{Span: wire.Span{Start: start, End: end}}) }
	var previous wire.Span
	leading := true // no item has stayed yet: an item goes with the comma after it
	pending := false
	eachItem(body, func(item wire.Span) bool {
		if pending {
			remove(previous.Start, item.Start)
			pending = false
		}
		switch text := item.Of(body); {
		case !isReasoning(text) || !cut(text):
			leading = false
		case leading:
			pending = true
			dropped++
		default:
			remove(previous.End, item.End)
			dropped++
		}
		previous = item
		return true
	})
	if pending {
		remove(previous.Start, previous.End)
	}
	return dst, dropped
}
