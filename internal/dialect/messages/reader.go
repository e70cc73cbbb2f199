package messages

import (
	"slices"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// NewReader implements [dialect.Outbound].
func (Dialect) NewReader(e *dialect.Encoded, stream bool) dialect.ResponseReader {
	if stream {
		return &streamReader{responseReader: responseReader{tools: e.Tools}}
	}
	return &documentReader{responseReader: responseReader{tools: e.Tools}}
}

// streamReader reads a response that is a stream.
type streamReader struct {
	responseReader
	events wire.Events
}

// Read implements [dialect.ResponseReader].
func (r *streamReader) Read(dst []dialect.Event, p []byte) []dialect.Event {
	r.begin(dst)
	for r.events.Feed(p); !r.done && r.events.Next(); {
		r.event(r.events.Name, r.events.Data)
	}
	if r.events.Err != nil {
		r.fail(&dialect.Error{Kind: dialect.ServerError, Message: r.events.Err.Error()})
	}
	return r.out
}

// End implements [dialect.ResponseReader].
func (r *streamReader) End(dst []dialect.Event) []dialect.Event {
	r.begin(dst)
	if !r.done && r.events.End() {
		r.event(r.events.Name, r.events.Data)
	}
	r.truncated()
	return r.out
}

// documentReader reads a response that is one JSON document, of at most [wire.MaxEvent] bytes.
type documentReader struct {
	responseReader
	body []byte
}

// Read implements [dialect.ResponseReader].
func (r *documentReader) Read(dst []dialect.Event, p []byte) []dialect.Event {
	r.begin(dst)
	if len(r.body)+len(p) > wire.MaxEvent {
		r.body = nil
		r.fail(&dialect.Error{Kind: dialect.ServerError, Message: "the response is longer than 16 MiB"})
	}
	if !r.done {
		r.body = append(r.body, p...)
	}
	return r.out
}

// End implements [dialect.ResponseReader].
func (r *documentReader) End(dst []dialect.Event) []dialect.Event {
	r.begin(dst)
	if !r.done && wire.Valid(r.body) {
		r.document(r.body)
	}
	r.truncated()
	return r.out
}

// responseReader turns the pieces of a response into events.
type responseReader struct {
	tools map[string]*dialect.Tool

	out     []dialect.Event
	scratch []byte // the decoded texts of the events in out

	done   bool
	parts  int // that have started
	blocks []*responseBlock
	usage  dialect.Usage
	stop   dialect.StopReason
	ended  string // the stop sequence
}

// responseBlock is a block of the response that has not ended.
type responseBlock struct {
	index  int
	part   int
	kind   dialect.PartType
	silent bool // a block that has no neutral form

	opaque   []byte // of reasoning
	redacted bool

	input  []byte // of a call: what it began with, which counts if no delta follows; of a search: its arguments
	deltas bool   // of a call: some have arrived
	custom *dialect.Unwrapper

	search *dialect.WebSearch // it ends with its results, which are in another block
}

// begin starts a call of Read or End: texts of the last one are not used any longer.
func (r *responseReader) begin(dst []dialect.Event) {
	r.out = dst
	if r.scratch = r.scratch[:0]; cap(r.scratch) > 32<<10 {
		r.scratch = nil
	}
}

func (r *responseReader) emit(e dialect.Event) { r.out = append(r.out, e) }

func (r *responseReader) fail(e *dialect.Error) {
	if !r.done {
		r.done = true
		r.emit(dialect.Event{Kind: dialect.Failed, Err: e})
	}
}

// truncated ends a response that has not ended (DIA-8).
func (r *responseReader) truncated() {
	if !r.done {
		r.done = true
		r.emit(dialect.Truncated())
	}
}

// decode returns the text of a literal. It is valid until the next call of Read.
func (r *responseReader) decode(literal []byte) []byte {
	if len(literal) == 0 {
		return nil
	}
	inside, ok := wire.InsideOf(literal)
	if !ok || len(inside) == 0 {
		return nil
	}
	if wire.IsPlain(inside) {
		return inside
	}
	start := len(r.scratch)
	r.scratch = slices.Grow(r.scratch, len(inside)+16) // a text is not longer than its literal, but for U+FFFD
	text, ok := wire.Unescape(r.scratch[start:start], inside, wire.NoLimit)
	if !ok {
		return nil
	}
	if end := start + len(text); end <= cap(r.scratch) {
		r.scratch = r.scratch[:end]
	}
	return text
}

// event reads the data of an event of a stream.
func (r *responseReader) event(name string, data []byte) {
	if !wire.Valid(data) {
		r.fail(&dialect.Error{Kind: dialect.ServerError, Message: "the upstream sent an event that is not JSON"})
		return
	}
	if name == "" {
		name = typeOf(data)
	}
	switch name {
	case "message_start":
		message := member(data, "message")
		r.emit(dialect.Event{Kind: dialect.Started, ID: text(message, "id")})
		readUsage(&r.usage, member(message, "usage"))
	case "content_block_start":
		r.start(index(data), member(data, "content_block"))
	case "content_block_delta":
		r.delta(index(data), member(data, "delta"))
	case "content_block_stop":
		r.end(index(data))
	case "message_delta":
		r.stopped(member(data, "delta"))
		readUsage(&r.usage, member(data, "usage"))
	case "message_stop":
		r.finish()
	case "error":
		r.failed(data)
	}
}

// document reads a response that is one document.
func (r *responseReader) document(body []byte) {
	switch {
	case text(body, "type") == "error" || wire.OpenObject(member(body, "error")).Err == nil:
		r.failed(body)
		return
	case member(body, "content") == nil:
		return // something else; the response counts as truncated
	}
	r.emit(dialect.Event{Kind: dialect.Started, ID: text(body, "id")})
	content := member(body, "content")
	list := wire.ArrayAt(content, 0)
	for i := 0; list.Next(); i++ {
		block := list.Value.Of(content)
		r.start(i, block)
		r.whole(i, block)
		r.end(i)
	}
	r.stopped(body)
	readUsage(&r.usage, member(body, "usage"))
	r.finish()
}

// stopped reads why the response ends.
func (r *responseReader) stopped(holder []byte) {
	switch text(holder, "stop_reason") {
	case "max_tokens", "model_context_window_exceeded":
		r.stop = dialect.StopMaxTokens
	case "tool_use":
		r.stop = dialect.StopToolUse
	case "refusal":
		r.stop = dialect.StopRefusal
	case "stop_sequence":
		r.stop, r.ended = dialect.StopSequence, text(holder, "stop_sequence")
	case "pause_turn":
		r.stop = dialect.StopPause
	}
}

func (r *responseReader) finish() {
	for len(r.blocks) > 0 {
		b := r.blocks[0]
		if b.search != nil {
			r.endSearch(b)
		} else {
			r.end(b.index)
		}
	}
	r.done = true
	r.emit(dialect.Event{Kind: dialect.Finished, Stop: r.stop, StopSequence: r.ended, Usage: r.usage})
}

func (r *responseReader) failed(data []byte) {
	e := &dialect.Error{Kind: dialect.ServerError}
	if t, message, ok := ParseError(data); ok {
		e = &dialect.Error{Kind: kindOfError(t), Code: string(t), Message: message}
	}
	r.fail(e)
}

// member returns the value of an object's member, or nil.
func member(object []byte, name string) []byte {
	v, ok := wire.Member(object, name)
	if !ok {
		return nil
	}
	return v.Of(object)
}

// text returns the text of an object's member, or "".
func text(object []byte, name string) string {
	members := wire.OpenObject(object)
	for members.Next() {
		if members.Is(name) {
			return members.Decoded()
		}
	}
	return ""
}

func index(data []byte) int {
	n, ok := count(member(data, "index"))
	if !ok {
		return -1
	}
	return int(n)
}
