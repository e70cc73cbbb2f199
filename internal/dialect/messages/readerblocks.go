package messages

import (
	"slices"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// start begins a block.
func (r *responseReader) start(index int, block []byte) {
	b := &responseBlock{index: index}
	e := dialect.Event{Kind: dialect.PartStarted}
	switch text(block, "type") {
	case "text":
	case "thinking":
		b.kind = dialect.ReasoningPart
	case "redacted_thinking":
		b.kind, b.redacted = dialect.ReasoningPart, true
		b.opaque = []byte(text(block, "data"))
	case "tool_use":
		b.kind = dialect.CallPart
		e.Call = r.call(b, block)
	case "server_tool_use":
		b.kind = dialect.SearchPart
		b.search = &dialect.WebSearch{ID: text(block, "id")}
		b.silent = text(block, "name") != searchName
	case "web_search_tool_result":
		r.results(block)
		b.silent = true
	default:
		b.silent = true
	}
	if b.silent {
		b.search = nil
	} else {
		b.part = r.parts
		r.parts++
		e.Part, e.Type = b.part, b.kind
		r.emit(e)
	}
	if b.kind == dialect.CallPart || b.search != nil {
		if input := member(block, "input"); len(input) > 0 && input[0] == '{' {
			b.input = wire.AppendCompact(nil, input)
		}
	}
	r.blocks = append(r.blocks, b)
	if b.kind == dialect.TextPart && !b.silent {
		if initial := r.decode(member(block, "text")); len(initial) > 0 {
			r.piece(b, initial)
		}
	}
}

// call returns the call that a block makes, of a tool under the client's name for it.
func (r *responseReader) call(b *responseBlock, block []byte) *dialect.ToolCall {
	call := &dialect.ToolCall{ID: text(block, "id"), Name: dialect.ToolName{Name: text(block, "name")}}
	if tool := r.tools[call.Name.Name]; tool != nil {
		call.Name = tool.Name
		if call.Custom = tool.Kind == dialect.CustomTool; call.Custom {
			b.custom = &dialect.Unwrapper{}
		}
	}
	return call
}

// block returns the block with an index that has not ended.
func (r *responseReader) block(index int) *responseBlock {
	for _, b := range r.blocks {
		if b.index == index {
			return b
		}
	}
	return nil
}

func (r *responseReader) remove(b *responseBlock) {
	r.blocks = slices.DeleteFunc(r.blocks, func(other *responseBlock) bool { return other == b })
}

func (r *responseReader) piece(b *responseBlock, text []byte) {
	if len(text) > 0 {
		r.emit(dialect.Event{Kind: dialect.PartDelta, Part: b.part, Type: b.kind, Text: text})
	}
}

// arguments adds a piece of a call's arguments.
func (r *responseReader) arguments(b *responseBlock, piece []byte) {
	if b.custom != nil {
		start := len(r.scratch)
		r.scratch = b.custom.Append(r.scratch, piece)
		piece = r.scratch[start:]
	}
	r.piece(b, piece)
}

// delta reads a piece of a block.
func (r *responseReader) delta(index int, delta []byte) {
	b := r.block(index)
	if b == nil || b.silent {
		return
	}
	switch text(delta, "type") {
	case "text_delta":
		r.piece(b, r.decode(member(delta, "text")))
	case "thinking_delta":
		r.piece(b, r.decode(member(delta, "thinking")))
	case "signature_delta":
		b.opaque = append(b.opaque, r.decode(member(delta, "signature"))...)
	case "citations_delta":
		r.cite(b, member(delta, "citation"))
	case "input_json_delta":
		piece := r.decode(member(delta, "partial_json"))
		switch {
		case len(piece) == 0:
		case b.search != nil:
			if !b.deltas {
				b.input = b.input[:0]
			}
			b.deltas, b.input = true, append(b.input, piece...)
		default:
			b.deltas = true
			r.arguments(b, piece)
		}
	}
}

// whole reads the pieces of a block of a document, beyond what start reads.
func (r *responseReader) whole(index int, block []byte) {
	b := r.block(index)
	if b == nil || b.silent {
		return
	}
	switch b.kind {
	case dialect.TextPart:
		citations := member(block, "citations")
		for list := wire.ArrayAt(citations, 0); list.Next(); {
			r.cite(b, list.Value.Of(citations))
		}
	case dialect.ReasoningPart:
		r.piece(b, r.decode(member(block, "thinking")))
		if !b.redacted {
			b.opaque = append(b.opaque, r.decode(member(block, "signature"))...)
		}
	}
}

func (r *responseReader) cite(b *responseBlock, citation []byte) {
	source := dialect.Citation{URL: text(citation, "url"), Title: text(citation, "title"), CitedText: text(citation, "cited_text")}
	if source.URL != "" {
		r.emit(dialect.Event{Kind: dialect.Cited, Part: b.part, Type: b.kind, Source: &source})
	}
}

// end ends a block. A search continues until its results.
func (r *responseReader) end(index int) {
	b := r.block(index)
	if b == nil {
		return
	}
	if b.search != nil {
		b.index = -1
		return
	}
	r.remove(b)
	if b.silent {
		return
	}
	if b.kind == dialect.CallPart {
		if !b.deltas && len(b.input) > len("{}") {
			r.arguments(b, b.input)
		}
		if b.custom != nil {
			r.piece(b, b.custom.End(nil))
		}
	}
	r.emit(dialect.Event{Kind: dialect.PartEnded, Part: b.part, Type: b.kind, Opaque: string(b.opaque), Redacted: b.redacted})
}

// results ends the search whose results a block has.
func (r *responseReader) results(block []byte) {
	id := text(block, "tool_use_id")
	for _, b := range r.blocks {
		if b.search == nil || b.search.ID != id {
			continue
		}
		content := member(block, "content")
		for list := wire.ArrayAt(content, 0); list.Next(); {
			page := list.Value.Of(content)
			b.search.Results = append(b.search.Results, dialect.SearchResult{
				URL: text(page, "url"), Title: text(page, "title"), PageAge: text(page, "page_age"),
			})
		}
		r.endSearch(b)
		return
	}
}

func (r *responseReader) endSearch(b *responseBlock) {
	r.remove(b)
	b.search.Query = text(b.input, "query")
	r.emit(dialect.Event{Kind: dialect.PartEnded, Part: b.part, Type: b.kind, Search: b.search})
}
