package responses

import (
	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// item reads a whole item of the output, as far as its parts were not in earlier events, and ends its parts.
func (r *reader) item(output int, item []byte) {
	switch at := (place{output: output}); typeOf(item) {
	case "message":
		r.message(output, item)
	case "function_call":
		r.call(at, item, "arguments", false)
	case "custom_tool_call":
		r.call(at, item, "input", true)
	case "reasoning":
		r.reasoning(at, item)
	case "web_search_call":
		r.search(at, item)
	}
}

func (r *reader) message(output int, item []byte) {
	content, _ := wire.Member(item, "content")
	index := 0
	for piece := range elements(content.Of(item)) {
		at := place{output, index}
		index++
		kind, member := dialect.TextPart, "text"
		if typeOf(piece) == "refusal" {
			kind, member = dialect.RefusalPart, "refusal"
		}
		inside := insideOf(piece, member)
		if r.find(at) == nil && len(inside) == 0 {
			continue
		}
		if p := r.start(at, kind, nil); !p.wrote {
			r.delta(p, inside)
			r.citations(p.part, piece)
		}
		r.end(at, dialect.Event{})
	}
}

// citations reads the annotations of a text.
func (r *reader) citations(part int, piece []byte) {
	annotations, _ := wire.Member(piece, "annotations")
	for annotation := range elements(annotations.Of(piece)) {
		r.citation(part, annotation)
	}
}

func (r *reader) citation(part int, annotation []byte) {
	source := &dialect.Citation{}
	kind := ""
	members := wire.OpenObject(annotation)
	for members.Next() {
		switch {
		case members.Is("type"):
			kind = members.Decoded()
		case members.Is("url"):
			source.URL = members.Decoded()
		case members.Is("title"):
			source.Title = members.Decoded()
		}
	}
	if kind == "url_citation" {
		r.dst = append(r.dst, dialect.Event{Kind: dialect.Cited, Part: part, Type: dialect.TextPart, Source: source})
	}
}

func (r *reader) call(at place, item []byte, member string, custom bool) {
	p := r.start(at, dialect.CallPart, r.callOf(item, custom))
	if !p.wrote {
		r.delta(p, insideOf(item, member))
	}
	r.end(at, dialect.Event{})
}

// callOf returns the call that an item begins, under the client's name of the tool.
func (r *reader) callOf(item []byte, custom bool) *dialect.ToolCall {
	call := &dialect.ToolCall{Custom: custom}
	id := ""
	members := wire.OpenObject(item)
	for members.Next() {
		switch {
		case members.Is("call_id"):
			call.ID = members.Decoded()
		case members.Is("id"):
			id = members.Decoded()
		case members.Is("name"):
			call.Name.Name = members.Decoded()
		case members.Is("namespace"):
			call.Name.Namespace = members.Decoded()
		}
	}
	if call.ID == "" {
		call.ID = id
	}
	if tool := r.tools[call.Name.Name]; tool != nil {
		call.Name = tool.Name
	}
	return call
}

func (r *reader) reasoning(at place, item []byte) {
	opaque, id := "", ""
	var texts [2][]byte // the summary, and the reasoning itself
	members := wire.OpenObject(item)
	for members.Next() {
		switch {
		case members.Is("encrypted_content"):
			opaque = members.Decoded()
		case members.Is("id"):
			id = members.Decoded()
		case members.Is("summary"):
			texts[0] = members.Raw()
		case members.Is("content"):
			texts[1] = members.Raw()
		}
	}
	p := r.find(at)
	if p == nil && opaque == "" && !hasElements(texts[0]) && !hasElements(texts[1]) {
		return
	}
	if p = r.start(at, dialect.ReasoningPart, nil); !p.wrote {
		pieces := texts[0]
		if !hasElements(pieces) {
			pieces = texts[1]
		}
		index := 0
		for piece := range elements(pieces) {
			r.thought(p, index, insideOf(piece, "text"))
			index++
		}
	}
	r.end(at, dialect.Event{ID: id, Opaque: opaque})
}

// thought adds a piece of reasoning. The parts of a summary are separated by a blank line.
func (r *reader) thought(p *openPart, index int, inside []byte) {
	if index != p.index && p.wrote {
		r.delta(p, []byte(`\n\n`))
	}
	p.index = index
	r.delta(p, inside)
}

func (r *reader) search(at place, item []byte) {
	s := &dialect.WebSearch{}
	members := wire.OpenObject(item)
	for members.Next() {
		switch {
		case members.Is("id"):
			s.ID = members.Decoded()
		case members.Is("action") && members.Raw()[0] == '{':
			action := wire.OpenObject(members.Raw())
			for action.Next() {
				switch {
				case action.Is("query"):
					s.Query = action.Decoded()
				case action.Is("sources"):
					for source := range elements(action.Raw()) {
						if url := textOf(source, "url"); url != "" {
							s.Results = append(s.Results, dialect.SearchResult{URL: url})
						}
					}
				}
			}
		}
	}
	r.start(at, dialect.SearchPart, nil)
	r.end(at, dialect.Event{ID: s.ID, Search: s})
}

// insideOf returns an object's member without its quotes, or nothing if that is not a string.
func insideOf(object []byte, name string) []byte {
	value, ok := wire.Member(object, name)
	if !ok {
		return nil
	}
	inside, _ := wire.InsideOf(value.Of(object))
	return inside
}

// elements returns the objects in a JSON array; none for anything else.
func elements(array []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		if len(array) == 0 || array[0] != '[' {
			return
		}
		for at := wire.SkipSpace(array, 1); at < len(array) && array[at] != ']'; {
			end := wire.SkipValue(array, at)
			if end <= at {
				return
			}
			if array[at] == '{' && !yield(array[at:end]) {
				return
			}
			if at = wire.SkipSpace(array, end); at < len(array) && array[at] == ',' {
				at = wire.SkipSpace(array, at+1)
			}
		}
	}
}

func hasElements(array []byte) bool {
	for range elements(array) {
		return true
	}
	return false
}
