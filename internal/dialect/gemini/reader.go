package gemini

import (
	"encoding/json"
	"strconv"

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

// chunk is a document, or an event of a stream.
type chunk struct {
	Candidates []struct {
		Content content `json:"content"`
		Reason  string  `json:"finishReason"`
	} `json:"candidates"`
	Feedback struct {
		Reason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *struct {
		Prompt     int64 `json:"promptTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
	} `json:"usageMetadata"`
	ID    string          `json:"responseId"`
	Error json.RawMessage `json:"error"`
}

// reader turns the parts of a response into events. A thought's signature comes with the call after it: it becomes the opaque
// token of the reasoning that ends right before the call (GEM-1).
type reader struct {
	tools map[string]*dialect.Tool
	dst   []dialect.Event
	parts int // started so far

	started  bool
	id       string
	open     bool // a text or reasoning has started and not ended
	kind     dialect.PartType
	current  int
	reason   string // why the response ends; empty: the upstream has not said
	usage    dialect.Usage
	called   bool
	finished bool
}

// accept reads a document, or an event.
func (r *reader) accept(data []byte) {
	if r.finished {
		return
	}
	var c chunk
	if json.Unmarshal(data, &c) != nil {
		r.fail(&dialect.Error{Kind: dialect.ServerError, Message: "the upstream sent something that is not a response"})
		return
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		e, ok := Dialect{}.ParseError(data)
		if !ok {
			e = dialect.Error{Kind: dialect.ServerError, Message: "the upstream reported an error without a message"}
		}
		r.fail(&e)
		return
	}
	if !r.started {
		r.started, r.id = true, c.ID
		r.dst = append(r.dst, dialect.Event{Kind: dialect.Started, ID: c.ID})
	}
	if u := c.Usage; u != nil {
		r.usage = dialect.Usage{Known: true, Input: max(u.Prompt-u.Cached, 0), CacheRead: u.Cached, Output: u.Candidates + u.Thoughts}
	}
	if c.Feedback.Reason != "" {
		r.reason = c.Feedback.Reason
	}
	if len(c.Candidates) == 0 {
		return
	}
	for i := range c.Candidates[0].Content.Parts {
		r.part(&c.Candidates[0].Content.Parts[i])
	}
	if reason := c.Candidates[0].Reason; reason != "" {
		r.reason = reason
	}
}

func (r *reader) part(p *part) {
	switch {
	case p.Call != nil:
		r.call(p)
	case p.Text != "" && p.Thought:
		r.text(dialect.ReasoningPart, p.Text)
	case p.Text != "":
		r.text(dialect.TextPart, p.Text)
	}
}

// text adds to the part of a type, which it starts if it has not.
func (r *reader) text(kind dialect.PartType, text string) {
	if !r.open || r.kind != kind {
		r.settle("")
		r.open, r.kind, r.current = true, kind, r.begin(kind, nil)
	}
	r.dst = append(r.dst, dialect.Event{Kind: dialect.PartDelta, Part: r.current, Type: kind, Text: []byte(text)})
}

func (r *reader) begin(kind dialect.PartType, c *dialect.ToolCall) int {
	r.dst = append(r.dst, dialect.Event{Kind: dialect.PartStarted, Part: r.parts, Type: kind, Call: c})
	r.parts++
	return r.parts - 1
}

// settle ends the open part; a signature is that of reasoning.
func (r *reader) settle(signature string) {
	if r.open {
		r.open = false
		r.dst = append(r.dst, dialect.Event{Kind: dialect.PartEnded, Part: r.current, Type: r.kind, Opaque: signature})
	}
}

// call emits a call, which arrives whole.
func (r *reader) call(p *part) {
	if p.Signature != "" && !(r.open && r.kind == dialect.ReasoningPart) {
		r.settle("")
		r.open, r.kind, r.current = true, dialect.ReasoningPart, r.begin(dialect.ReasoningPart, nil)
	}
	r.settle(p.Signature)
	r.called = true
	id := p.Call.ID
	if id == "" {
		id = dialect.ValidID("call_"+r.id+"_"+strconv.Itoa(r.parts), longestName)
	}
	call := &dialect.ToolCall{ID: id, Name: dialect.ToolName{Name: p.Call.Name}}
	arguments := dialect.AppendArguments(nil, string(p.Call.Args))
	if tool := r.tools[p.Call.Name]; tool != nil {
		call.Name = tool.Name
		if call.Custom = tool.Kind == dialect.CustomTool; call.Custom {
			var input dialect.Unwrapper
			arguments = input.End(input.Append(nil, arguments))
		}
	}
	part := r.begin(dialect.CallPart, call)
	if len(arguments) > 0 {
		r.dst = append(r.dst, dialect.Event{Kind: dialect.PartDelta, Part: part, Type: dialect.CallPart, Text: arguments})
	}
	r.dst = append(r.dst, dialect.Event{Kind: dialect.PartEnded, Part: part, Type: dialect.CallPart})
}

// finish ends the response. One without a reason is truncated (DIA-8).
func (r *reader) finish() {
	if r.finished {
		return
	}
	e := dialect.Event{Kind: dialect.Finished, Stop: dialect.EndTurn, Usage: r.usage}
	switch r.reason {
	case "":
		r.dst, r.finished = append(r.dst, dialect.Truncated()), true
		return
	case "STOP":
		if r.called {
			e.Stop = dialect.StopToolUse
		}
	case "MAX_TOKENS":
		e.Stop = dialect.StopMaxTokens
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "OTHER", "FINISH_REASON_UNSPECIFIED":
		r.fail(&dialect.Error{Kind: dialect.ServerError, Message: "the upstream ended its response because of a call that it could not make, or for a reason that it does not say"})
		return
	default: // safety, recitation and the like
		e.Stop = dialect.StopRefusal
	}
	r.settle("")
	r.dst, r.finished = append(r.dst, e), true
}

func (r *reader) fail(e *dialect.Error) {
	if !r.finished {
		r.dst, r.finished = append(r.dst, dialect.Event{Kind: dialect.Failed, Err: e}), true
	}
}

func (r *reader) take() []dialect.Event {
	dst := r.dst
	r.dst = nil
	return dst
}

// streamReader reads a response that is a stream of events.
type streamReader struct {
	reader
	events wire.Events
}

// Read implements [dialect.ResponseReader].
func (r *streamReader) Read(dst []dialect.Event, p []byte) []dialect.Event {
	r.dst = dst
	for r.events.Feed(p); r.events.Next(); {
		r.accept(r.events.Data)
	}
	if r.events.Err != nil {
		r.fail(&dialect.Error{Kind: dialect.ServerError, Message: r.events.Err.Error()})
	}
	return r.take()
}

// End implements [dialect.ResponseReader].
func (r *streamReader) End(dst []dialect.Event) []dialect.Event {
	r.dst = dst
	if r.events.End() {
		r.accept(r.events.Data)
	}
	r.finish()
	return r.take()
}

// documentReader reads a response that is one JSON document, of at most [wire.MaxEvent] bytes.
type documentReader struct {
	reader
	body []byte
}

// Read implements [dialect.ResponseReader].
func (r *documentReader) Read(dst []dialect.Event, p []byte) []dialect.Event {
	r.dst = dst
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
	r.dst = dst
	if wire.Valid(r.body) {
		r.accept(r.body)
	}
	r.finish()
	return r.take()
}
