package responses

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// NewReader implements [dialect.Outbound].
func (Dialect) NewReader(e *dialect.Encoded, stream bool) dialect.ResponseReader {
	core := reader{tools: e.Tools}
	if stream {
		return &streamReader{reader: core}
	}
	return &documentReader{reader: core}
}

// reader turns items of the output into events.
type reader struct {
	tools map[string]*dialect.Tool
	dst   []dialect.Event
	text  []byte // decoded for the events of the current call
	parts int    // started so far
	open  []openPart

	called, refused bool
	finished        bool
}

// openPart is a part of the response that has not ended.
type openPart struct {
	place place
	part  int
	kind  dialect.PartType
	wrote bool // it has had a delta
	index int  // of the piece of a summary to which the last delta belonged
}

// place is where a part is in the output: its item and, in a message, its piece of content.
type place struct{ output, content int }

// find returns the part at a place, or nil.
func (r *reader) find(at place) *openPart {
	for i := range r.open {
		if r.open[i].place == at {
			return &r.open[i]
		}
	}
	return nil
}

// start returns the part at a place, which it starts if it is new.
func (r *reader) start(at place, kind dialect.PartType, call *dialect.ToolCall) *openPart {
	if p := r.find(at); p != nil {
		return p
	}
	r.open = append(r.open, openPart{place: at, part: r.parts, kind: kind})
	r.dst = append(r.dst, dialect.Event{Kind: dialect.PartStarted, Part: r.parts, Type: kind, Call: call})
	r.parts++
	r.called = r.called || kind == dialect.CallPart
	r.refused = r.refused || kind == dialect.RefusalPart
	return &r.open[len(r.open)-1]
}

// delta adds a piece of text, the inside of a string literal, to a part.
func (r *reader) delta(p *openPart, inside []byte) {
	text := inside
	if !wire.IsPlain(inside) {
		start := len(r.text)
		r.text = slices.Grow(r.text, len(inside)+utf8.UTFMax) // a text is seldom longer than its literal
		decoded, ok := wire.Unescape(r.text[start:start], inside, wire.NoLimit)
		if !ok {
			return
		}
		if end := start + len(decoded); end <= cap(r.text) {
			r.text = r.text[:end]
		}
		text = decoded
	}
	if len(text) > 0 {
		p.wrote = true
		r.dst = append(r.dst, dialect.Event{Kind: dialect.PartDelta, Part: p.part, Type: p.kind, Text: text})
	}
}

// end ends the part at a place.
func (r *reader) end(at place, e dialect.Event) {
	for i := range r.open {
		if p := r.open[i]; p.place == at {
			e.Kind, e.Part, e.Type = dialect.PartEnded, p.part, p.kind
			r.dst = append(r.dst, e)
			r.open = append(r.open[:i], r.open[i+1:]...)
			return
		}
	}
}

// finish ends the response with the object that the last event, or the document, contains.
func (r *reader) finish(response []byte) {
	e := dialect.Event{Kind: dialect.Finished, Stop: dialect.EndTurn}
	var incomplete bool
	var reason string
	members := wire.OpenObject(response)
	for members.Next() {
		switch {
		case members.Is("usage"):
			if members.Raw()[0] == '{' {
				readUsage(&e.Usage, members.Raw())
			}
		case members.Is("status"):
			incomplete = string(members.Raw()) == `"incomplete"`
		case members.Is("incomplete_details"):
			reason = textOf(members.Raw(), "reason")
		}
	}
	switch { // RSP-2
	case reason == "content_filter":
		e.Stop = dialect.StopRefusal
	case reason == "max_output_tokens", incomplete: // a call may be truncated, for whichever reason
		e.Stop = dialect.StopMaxTokens
	case r.refused && !r.called:
		e.Stop = dialect.StopRefusal
	case r.called:
		e.Stop = dialect.StopToolUse
	}
	for len(r.open) > 0 {
		r.end(r.open[0].place, dialect.Event{})
	}
	r.dst, r.finished = append(r.dst, e), true
}

// fail ends the response with an error, unless it has ended.
func (r *reader) fail(e *dialect.Error) {
	if r.finished {
		return
	}
	if e.Message == "" {
		e.Message = "the upstream reported an error without a message"
	}
	r.dst, r.finished = append(r.dst, dialect.Event{Kind: dialect.Failed, Err: e}), true
}

// truncated ends a response that has not ended (DIA-8).
func (r *reader) truncated() {
	if !r.finished {
		r.dst, r.finished = append(r.dst, dialect.Truncated()), true
	}
}

// begin prepares for the events of one call.
func (r *reader) begin(dst []dialect.Event) {
	r.dst = dst
	if cap(r.text) > longestSpare {
		r.text = nil
	}
	r.text = r.text[:0]
}

// longestSpare is how much memory for texts stays between two calls, in bytes.
const longestSpare = 32 << 10

// take returns the events of the call.
func (r *reader) take() []dialect.Event {
	dst := r.dst
	r.dst = nil
	return dst
}

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

// documentReader reads a response that is one JSON document, of at most [wire.MaxEvent] bytes.
type documentReader struct {
	reader
	body []byte
}

// Read implements [dialect.ResponseReader].
func (r *documentReader) Read(dst []dialect.Event, p []byte) []dialect.Event {
	r.begin(dst)
	if len(r.body)+len(p) > wire.MaxEvent {
		r.body = nil
		r.fail(&dialect.Error{Kind: dialect.ServerError, Message: "the response is longer than 16 MiB"})
	}
	if !r.finished {
		r.body = append(r.body, p...)
	}
	return r.take()
}

// End implements [dialect.ResponseReader].
func (r *documentReader) End(dst []dialect.Event) []dialect.Event {
	r.begin(dst)
	if !r.finished {
		r.read()
	}
	r.truncated()
	return r.take()
}

func (r *documentReader) read() {
	if !wire.Valid(r.body) {
		return
	}
	output, found := wire.Member(r.body, "output")
	if !found || textOf(r.body, "status") == "failed" {
		if e, ok := (Dialect{}).ParseError(r.body); ok {
			r.fail(&e)
		}
		return
	}
	r.dst = append(r.dst, dialect.Event{Kind: dialect.Started, ID: textOf(r.body, "id")})
	index := 0
	for item := range elements(output.Of(r.body)) {
		r.item(index, item)
		index++
	}
	r.finish(r.body)
}

// number returns a member that is a small integer, or 0.
func number(raw []byte) int {
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return 0
	}
	return n
}
