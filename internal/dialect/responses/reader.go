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

// number returns a member that is a small integer, or 0.
func number(raw []byte) int {
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return 0
	}
	return n
}
