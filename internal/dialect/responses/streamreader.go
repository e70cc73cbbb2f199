package responses

import (
	"slices"
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// streamReader reads a response that is a stream of events.
type streamReader struct {
	reader
	events wire.Events
	items  int // of the output that have begun
}

// Read implements [dialect.ResponseReader].
func (r *streamReader) Read(dst []dialect.Event, p []byte) []dialect.Event {
	r.begin(dst)
	for r.events.Feed(p); r.events.Next(); {
		r.event(r.events.Name, r.events.Data)
	}
	if r.events.Err != nil {
		r.fail(&dialect.Error{Kind: dialect.ServerError, Message: r.events.Err.Error()})
	}
	return r.take()
}

// End implements [dialect.ResponseReader] (DIA-8).
func (r *streamReader) End(dst []dialect.Event) []dialect.Event {
	r.begin(dst)
	if r.events.End() {
		r.event(r.events.Name, r.events.Data)
	}
	r.truncated()
	return r.take()
}

// done is what some vendors send after the last event, as others do in the chat dialect.
const done = "[DONE]"

// event reads one event. Those that shunt does not know, and those that repeat what others said, are dropped (RSP-4).
func (r *streamReader) event(kind string, data []byte) {
	if r.finished || string(data) == done || strings.HasPrefix(kind, "codex.") {
		return
	}
	if !wire.Valid(data) {
		r.fail(&dialect.Error{Kind: dialect.ServerError, Message: "the upstream sent an event that is not JSON"})
		return
	}
	if kind == "" || kind == "message" {
		kind = typeOf(data)
	}
	switch kind {
	case "response.created":
		r.dst = append(r.dst, dialect.Event{Kind: dialect.Started, ID: textOf(responseIn(data), "id")})
	case eventCompleted, eventIncomplete:
		r.completed(responseIn(data))
	case eventFailed, eventError:
		e, ok := failureIn(data)
		if !ok {
			e = dialect.Error{Kind: dialect.ServerError}
		}
		r.fail(&e)
	default:
		if strings.HasPrefix(kind, "response.") {
			r.part(kind, data)
		}
	}
}

// responseIn returns the response that an event contains.
func responseIn(data []byte) []byte {
	response, ok := wire.Member(data, "response")
	if !ok {
		return nil
	}
	return response.Of(data)
}

// completed reads the response in the last event. It repeats the output, which matters only where no other event had it: if no
// item has begun, or for one that has not ended.
func (r *streamReader) completed(response []byte) {
	if output, ok := wire.Member(response, "output"); ok {
		index := 0
		for item := range elements(output.Of(response)) {
			if r.items == 0 || r.opened(index) {
				r.item(index, item)
			}
			index++
		}
	}
	r.finish(response)
}

// opened reports whether an item has a part that has not ended.
func (r *streamReader) opened(output int) bool {
	return slices.ContainsFunc(r.open, func(p openPart) bool { return p.place.output == output })
}

// fields are the members of an event about a part.
type fields struct {
	place
	piece            int    // summary_index or content_index
	delta, whole     []byte // the insides of texts
	item, annotation []byte
}

func fieldsOf(data []byte) (f fields) {
	text := func(o *wire.Object) []byte {
		inside, _ := o.Text()
		return inside
	}
	members := wire.OpenObject(data)
	for members.Next() {
		switch {
		case members.Is("output_index"):
			f.output = number(members.Raw())
		case members.Is("content_index"):
			f.content = number(members.Raw())
		case members.Is("summary_index"):
			f.piece = number(members.Raw())
		case members.Is("delta"):
			f.delta = text(&members)
		case members.Is("text"), members.Is("refusal"), members.Is("arguments"), members.Is("input"):
			f.whole = text(&members)
		case members.Is("item"):
			f.item = members.Raw()
		case members.Is("annotation"):
			f.annotation = members.Raw()
		}
	}
	return f
}

// part reads an event about an item of the output.
func (r *streamReader) part(kind string, data []byte) {
	f := fieldsOf(data)
	item := place{output: f.output}
	switch kind {
	case "response.output_item.added":
		r.items++
		r.added(item, f.item)
	case "response.output_item.done":
		r.items++
		r.item(f.output, f.item)
	case "response.output_text.delta":
		r.delta(r.start(f.place, dialect.TextPart, nil), f.delta)
	case "response.output_text.done":
		r.whole(f.place, dialect.TextPart, f.whole)
	case "response.refusal.delta":
		r.delta(r.start(f.place, dialect.RefusalPart, nil), f.delta)
	case "response.refusal.done":
		r.whole(f.place, dialect.RefusalPart, f.whole)
	case "response.output_text.annotation.added":
		if p := r.find(f.place); p != nil {
			r.citation(p.part, f.annotation)
		}
	case "response.reasoning_summary_text.delta":
		r.thought(r.start(item, dialect.ReasoningPart, nil), f.piece, f.delta)
	case "response.reasoning_text.delta":
		r.thought(r.start(item, dialect.ReasoningPart, nil), f.content, f.delta)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		if p := r.find(item); p != nil {
			r.delta(p, f.delta)
		}
	case "response.function_call_arguments.done", "response.custom_tool_call_input.done":
		if p := r.find(item); p != nil && !p.wrote {
			r.delta(p, f.whole)
		}
	}
}

// added starts the part of an item that begins with the item.
func (r *streamReader) added(at place, item []byte) {
	switch typeOf(item) {
	case "function_call":
		r.start(at, dialect.CallPart, r.callOf(item, false))
	case "custom_tool_call":
		r.start(at, dialect.CallPart, r.callOf(item, true))
	}
}

// whole reads a piece of content that has ended, and may not have had deltas.
func (r *streamReader) whole(at place, kind dialect.PartType, inside []byte) {
	p := r.find(at)
	if p == nil && len(inside) > 0 {
		p = r.start(at, kind, nil)
	}
	if p != nil && !p.wrote {
		r.delta(p, inside)
	}
}
