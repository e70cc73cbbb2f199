package chat

import (
	"slices"
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

// reader turns pieces of the assistant's message into events (CHT-1). A part starts at the first piece that is not empty. The
// dialect does not say where a part ends: a text ends where a part of another type begins, and a call where its arguments are
// complete and another part begins, or else with the response, since calls may be interleaved.
type reader struct {
	tools map[string]*dialect.Tool
	dst   []dialect.Event
	text  []byte // decoded for the events of the current call
	parts int    // started so far

	id      string // of the response
	started bool
	writing bool             // a text, a refusal or reasoning has started and not ended
	kind    dialect.PartType // its type
	part    int
	calls   []*call
	held    int // bytes of arguments without the name of their tool

	reason          string // why the response ends, as the upstream says; empty: it has not said
	usage           dialect.Usage
	called, refused bool
	finished        bool
}

// start emits the first event, unless it has been.
func (r *reader) start(id string) {
	if !r.started {
		r.started, r.id = true, id
		r.dst = append(r.dst, dialect.Event{Kind: dialect.Started, ID: id})
	}
}

// choice reads a choice: that of a stream has a delta, that of a document a message. Only the first one matters, as no other is
// requested.
func (r *reader) choice(choice []byte) {
	var piece, whole, usage []byte
	reason := ""
	for members := wire.OpenObject(choice); members.Next(); {
		switch {
		case members.Is("index"):
			if string(members.Raw()) != "0" {
				return
			}
		case members.Is("delta"):
			piece = members.Raw()
		case members.Is("message"):
			whole = members.Raw()
		case members.Is("finish_reason"):
			reason = members.Decoded()
		case members.Is("usage"):
			usage = members.Raw()
		}
	}
	if len(piece) == 0 && r.parts == 0 {
		piece = whole
	}
	r.message(piece)
	if reason != "" {
		r.reason = reason
	}
	readUsage(&r.usage, usage)
}

// message reads a message, or a piece of one.
func (r *reader) message(object []byte) {
	var content, refusal, reasoning, calls []byte
	for members := wire.OpenObject(object); members.Next(); {
		switch {
		case members.Is("content"):
			content = members.Raw()
		case members.Is("refusal"):
			refusal = members.Raw()
		case members.Is("reasoning_content"):
			if text, ok := members.Text(); ok && len(text) > 0 {
				reasoning = members.Raw()
			}
		case members.Is("reasoning"): // some vendors send both
			if len(reasoning) == 0 {
				reasoning = members.Raw()
			}
		case members.Is("tool_calls"):
			calls = members.Raw()
		}
	}
	r.piece(dialect.ReasoningPart, reasoning)
	r.content(content)
	r.piece(dialect.RefusalPart, refusal)
	for list := wire.ArrayAt(calls, 0); list.Next(); {
		r.call(list.Value.Of(calls))
	}
}

// content reads a text or, from some vendors, a list of texts and thoughts.
func (r *reader) content(raw []byte) {
	r.piece(dialect.TextPart, raw)
	for list := wire.ArrayAt(raw, 0); list.Next(); {
		switch part := list.Value.Of(raw); textOf(part, "type") {
		case "text":
			r.piece(dialect.TextPart, member(part, "text"))
		case "thinking":
			thought := member(part, "thinking")
			r.piece(dialect.ReasoningPart, thought)
			for inner := wire.ArrayAt(thought, 0); inner.Next(); {
				r.piece(dialect.ReasoningPart, member(inner.Value.Of(thought), "text"))
			}
		}
	}
}

// piece adds a string literal to the part of a type, which it starts if it has not. Anything else adds nothing.
func (r *reader) piece(kind dialect.PartType, literal []byte) {
	text := r.decode(literal)
	if len(text) == 0 {
		return
	}
	if !r.writing || r.kind != kind {
		r.settle()
		r.writing, r.kind, r.part = true, kind, r.begin(kind, nil)
		r.refused = r.refused || kind == dialect.RefusalPart
	}
	r.dst = append(r.dst, dialect.Event{Kind: dialect.PartDelta, Part: r.part, Type: kind, Text: text})
}

// begin starts a part, and returns its number.
func (r *reader) begin(kind dialect.PartType, c *dialect.ToolCall) int {
	r.dst = append(r.dst, dialect.Event{Kind: dialect.PartStarted, Part: r.parts, Type: kind, Call: c})
	r.parts++
	return r.parts - 1
}

// settle ends the parts that end because another begins.
func (r *reader) settle() {
	if r.writing {
		r.writing = false
		r.dst = append(r.dst, dialect.Event{Kind: dialect.PartEnded, Part: r.part, Type: r.kind})
	}
	for _, c := range r.calls {
		if c.arguments.complete {
			r.endCall(c)
		}
	}
}

// decode returns the text of a string literal; nothing for anything else. It is valid until the next call of the reader.
func (r *reader) decode(literal []byte) []byte {
	if len(literal) < 2 || literal[0] != '"' {
		return nil
	}
	inside := literal[1 : len(literal)-1]
	if wire.IsPlain(inside) {
		return inside
	}
	start := len(r.text)
	r.text = slices.Grow(r.text, len(inside)+utf8.UTFMax) // a text is seldom longer than its literal
	decoded, ok := wire.Unescape(r.text[start:start], inside, wire.NoLimit)
	if !ok {
		return nil
	}
	if end := start + len(decoded); end <= cap(r.text) {
		r.text = r.text[:end]
	}
	return decoded
}

// finish ends the response (CHT-1). A truncated call must not run, so the upstream's reason comes before any call (RSP-2).
func (r *reader) finish() {
	e := dialect.Event{Kind: dialect.Finished, Stop: dialect.EndTurn, Usage: r.usage}
	switch r.reason {
	case "error", "insufficient_system_resource":
		r.fail(&dialect.Error{Kind: dialect.ServerError, Message: "the upstream interrupted its response"})
		return
	case "length", "model_length", "max_tokens":
		e.Stop = dialect.StopMaxTokens
	case "content_filter":
		e.Stop = dialect.StopRefusal
	default:
		switch {
		case r.called:
			e.Stop = dialect.StopToolUse
		case r.refused:
			e.Stop = dialect.StopRefusal
		}
	}
	r.settle()
	for _, c := range r.calls {
		r.endCall(c)
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

// longestSpare is how much memory for texts stays between two calls, in bytes.
const longestSpare = 32 << 10

// prepare prepares for the events of one call.
func (r *reader) prepare(dst []dialect.Event) {
	r.dst = dst
	if cap(r.text) > longestSpare {
		r.text = nil
	}
	r.text = r.text[:0]
}

// take returns the events of the call.
func (r *reader) take() []dialect.Event {
	dst := r.dst
	r.dst = nil
	return dst
}
