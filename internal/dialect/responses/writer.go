package responses

import (
	"strconv"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// NewWriter implements [dialect.Inbound] (INB-2).
func (Dialect) NewWriter(o dialect.ResponseOptions) dialect.ResponseWriter {
	return &writer{o: o, open: map[int]*item{}}
}

// writer writes a response: its events or, for a client that does not stream, the document at the end.
type writer struct {
	o        dialect.ResponseOptions
	id       string // of the response, without its prefix
	begun    bool
	finished bool
	sequence int64
	open     map[int]*item // by part
	output   []*item       // all items, in order
}

// item is an item of the output.
type item struct {
	id, index string // the index as it is written
	kind      dialect.PartType
	call      *dialect.ToolCall
	search    *dialect.WebSearch
	text      []byte // so far
	citations []dialect.Citation
	token     string // of reasoning
	done      bool
}

// Write implements [dialect.ResponseWriter].
func (w *writer) Write(dst []byte, e *dialect.Event) []byte {
	switch {
	case w.finished:
		return dst
	case e.Kind == dialect.Started:
		w.id = dialect.ResponseID("", e.ID)
		return dst
	case e.Kind < dialect.Finished && e.Type == dialect.ReasoningPart && !w.o.Turn.Effort.Show:
		return dst
	}
	base := len(dst)
	if !w.begun {
		dst = w.begin(dst)
	}
	switch e.Kind {
	case dialect.PartStarted:
		dst = w.start(dst, e)
	case dialect.Finished:
		return w.finish(dst, base, e)
	case dialect.Failed:
		dst = w.fail(dst, e)
	default:
		if i := w.open[e.Part]; i != nil {
			dst = w.advance(dst, i, e)
		}
	}
	if !w.o.Turn.Stream {
		return dst[:base]
	}
	return dst
}

// begin appends the events that announce the response.
func (w *writer) begin(dst []byte) []byte {
	w.begun = true
	if w.id == "" {
		w.id = dialect.ResponseID("", "")
	}
	for _, name := range [...]string{"response.created", "response.in_progress"} {
		dst = w.event(dst, name)
		dst = append(dst, `,"response":`...)
		dst = append(w.response(dst, "in_progress", nil), "}\n\n"...)
	}
	return dst
}

// advance appends what an event adds to an item.
func (w *writer) advance(dst []byte, i *item, e *dialect.Event) []byte {
	switch e.Kind {
	case dialect.PartDelta:
		return w.delta(dst, i, e.Text)
	case dialect.Cited:
		return w.cite(dst, i, e.Source)
	}
	delete(w.open, e.Part)
	return w.end(dst, i, e)
}

// event begins an event, up to its own members.
func (w *writer) event(dst []byte, name string) []byte {
	dst = append(dst, "event: "...)
	dst = append(dst, name...)
	dst = append(dst, "\ndata: {\"type\":\""...)
	dst = append(dst, name...)
	dst = append(dst, `","sequence_number":`...)
	dst = strconv.AppendInt(dst, w.sequence, 10)
	w.sequence++
	return dst
}

// itemEvent begins an event about an item.
func (w *writer) itemEvent(dst []byte, name string, i *item) []byte {
	dst = w.event(dst, name)
	dst = append(dst, `,"item_id":"`...)
	dst = append(dst, i.id...)
	dst = append(dst, `","output_index":`...)
	return append(dst, i.index...)
}

// wholeItem appends an event that contains an item.
func (w *writer) wholeItem(dst []byte, name string, i *item) []byte {
	dst = w.event(dst, name)
	dst = append(dst, `,"output_index":`...)
	dst = append(dst, i.index...)
	dst = append(dst, `,"item":`...)
	return append(i.append(dst), "}\n\n"...)
}

var prefixes = [...]string{
	dialect.TextPart: "msg_", dialect.RefusalPart: "msg_", dialect.ReasoningPart: "rs_", dialect.CallPart: "fc_", dialect.SearchPart: "ws_",
}

func (w *writer) start(dst []byte, e *dialect.Event) []byte {
	prefix := prefixes[e.Type]
	if e.Type == dialect.CallPart && e.Call.Custom {
		prefix = "ctc_"
	}
	index := strconv.Itoa(len(w.output))
	i := &item{id: prefix + w.id + "_" + index, index: index, kind: e.Type, call: e.Call}
	w.open[e.Part] = i
	w.output = append(w.output, i)
	dst = w.wholeItem(dst, "response.output_item.added", i)
	switch i.kind {
	case dialect.TextPart, dialect.RefusalPart:
		dst = w.itemEvent(dst, "response.content_part.added", i)
		dst = append(dst, `,"content_index":0,"part":`...)
		dst = append(i.appendContent(dst), "}\n\n"...)
	case dialect.SearchPart:
		for _, name := range [...]string{"response.web_search_call.in_progress", "response.web_search_call.searching"} {
			dst = append(w.itemEvent(dst, name, i), "}\n\n"...)
		}
	}
	return dst
}

// names are the names of an item's events, and how they say to which piece of the item they belong.
type names struct{ delta, done, place, member string }

func (i *item) names() names {
	switch i.kind {
	case dialect.RefusalPart:
		return names{"response.refusal.delta", "response.refusal.done", `,"content_index":0`, "refusal"}
	case dialect.ReasoningPart:
		return names{"response.reasoning_summary_text.delta", "response.reasoning_summary_text.done", `,"summary_index":0`, "text"}
	case dialect.CallPart:
		if i.call.Custom {
			return names{"response.custom_tool_call_input.delta", "response.custom_tool_call_input.done", "", "input"}
		}
		return names{"response.function_call_arguments.delta", "response.function_call_arguments.done", "", "arguments"}
	}
	return names{"response.output_text.delta", "response.output_text.done", `,"content_index":0,"logprobs":[]`, "text"}
}

func (w *writer) delta(dst []byte, i *item, text []byte) []byte {
	if len(text) == 0 {
		return dst
	}
	if i.kind == dialect.ReasoningPart && len(i.text) == 0 { // a summary without a text has no part
		dst = w.itemEvent(dst, "response.reasoning_summary_part.added", i)
		dst = append(dst, `,"summary_index":0,"part":`...)
		dst = append(i.appendContent(dst), "}\n\n"...)
	}
	i.text = append(i.text, text...)
	if !w.o.Turn.Stream {
		return dst
	}
	n := i.names()
	dst = w.itemEvent(dst, n.delta, i)
	dst = append(dst, n.place...)
	dst = append(dst, `,"delta":`...)
	return append(wire.AppendQuoted(dst, string(text)), "}\n\n"...)
}

func (w *writer) cite(dst []byte, i *item, source *dialect.Citation) []byte {
	i.citations = append(i.citations, *source)
	dst = w.itemEvent(dst, "response.output_text.annotation.added", i)
	dst = append(dst, `,"content_index":0,"annotation_index":`...)
	dst = strconv.AppendInt(dst, int64(len(i.citations)-1), 10)
	dst = append(dst, `,"annotation":`...)
	return append(i.appendCitation(dst, source), "}\n\n"...)
}

func (w *writer) end(dst []byte, i *item, e *dialect.Event) []byte {
	i.done = true
	switch i.kind {
	case dialect.SearchPart:
		i.search = e.Search
		dst = append(w.itemEvent(dst, "response.web_search_call.completed", i), "}\n\n"...)
		return w.wholeItem(dst, "response.output_item.done", i)
	case dialect.ReasoningPart:
		// Even without a token: some vendors want the text itself back.
		i.token = dialect.Seal(&dialect.Reasoning{ID: e.ID, Opaque: e.Opaque, Redacted: e.Redacted, Origin: w.o.Origin})
		if len(i.text) == 0 {
			return w.wholeItem(dst, "response.output_item.done", i)
		}
	case dialect.CallPart:
		if len(i.text) == 0 && !i.call.Custom {
			i.text = []byte("{}")
		}
	}
	n := i.names()
	dst = w.itemEvent(dst, n.done, i)
	dst = append(dst, n.place...)
	dst = append(dst, `,"`...)
	dst = append(dst, n.member...)
	dst = append(dst, `":`...)
	dst = append(wire.AppendQuoted(dst, string(i.text)), "}\n\n"...)
	switch i.kind {
	case dialect.TextPart, dialect.RefusalPart:
		dst = w.itemEvent(dst, "response.content_part.done", i)
		dst = append(dst, `,"content_index":0,"part":`...)
		dst = append(i.appendContent(dst), "}\n\n"...)
	case dialect.ReasoningPart:
		dst = w.itemEvent(dst, "response.reasoning_summary_part.done", i)
		dst = append(dst, `,"summary_index":0,"part":`...)
		dst = append(i.appendContent(dst), "}\n\n"...)
	}
	return w.wholeItem(dst, "response.output_item.done", i)
}

// finish appends the last event or, from base on, the document.
func (w *writer) finish(dst []byte, base int, e *dialect.Event) []byte {
	w.finished = true
	name, status := eventCompleted, "completed"
	if reason := incompleteReason(e.Stop, w.output); reason != "" {
		name, status = eventIncomplete, "incomplete"
	}
	if !w.o.Turn.Stream {
		return w.response(dst[:base], status, e)
	}
	dst = w.event(dst, name)
	dst = append(dst, `,"response":`...)
	return append(w.response(dst, status, e), "}\n\n"...)
}

// incompleteReason returns why a response is not complete, or "" (RSP-2).
func incompleteReason(stop dialect.StopReason, output []*item) string {
	switch stop {
	case dialect.StopMaxTokens:
		return "max_output_tokens"
	case dialect.StopRefusal:
		for _, i := range output {
			if i.kind == dialect.RefusalPart {
				return ""
			}
		}
		return "content_filter"
	}
	return ""
}

func (w *writer) fail(dst []byte, e *dialect.Event) []byte {
	w.finished = true
	dst = w.event(dst, eventFailed)
	dst = append(dst, `,"response":`...)
	return append(w.response(dst, "failed", e), "}\n\n"...)
}
