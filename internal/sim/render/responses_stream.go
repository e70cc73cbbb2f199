package render

import (
	"shunt/internal/sim/engine"
	"shunt/internal/sim/script"
)

// responsesEvent is an event that has no sequence number yet.
type responsesEvent struct {
	name   string
	data   engine.Object
	delta  bool
	tokens int
}

// responsesStream builds the events of a stream of Responses.
type responsesStream struct {
	Reply
	events []responsesEvent
}

func (s *responsesStream) add(name string, data engine.Object) {
	s.events = append(s.events, responsesEvent{name: name, data: data})
}

// Events returns the response as a stream (see [Dialect]), in the order of the public API.
func (Responses) Events(r Reply) []engine.Event {
	s := &responsesStream{Reply: r}
	output := []engine.Object{}
	created := r.response("in_progress", output)
	if r.Headers != nil {
		created["headers"] = r.Headers
	}
	s.add("response.created", engine.Object{"response": created})
	s.add("response.in_progress", engine.Object{"response": r.response("in_progress", output)})
	if r.Failure != script.NoFailure && r.When == script.First {
		s.add("response.failed", engine.Object{"response": r.response("failed", output)})
		return s.numbered()
	}
	var calls [][]responsesEvent
	for index, it := range r.items() {
		output = append(output, it.done)
		switch it.done["type"] {
		case "reasoning":
			s.reasoning(index, it.done)
		case "message":
			s.message(index, it)
		default:
			calls = append(calls, s.call(index, it))
		}
	}
	s.events = append(s.events, merge(calls, r.Interleaved)...)
	switch {
	case r.Failure != script.NoFailure:
		s.add("response.failed", engine.Object{"response": r.response("failed", output)})
	case !r.Cut:
		name := r.itemStatus()
		s.add("response."+name, engine.Object{"response": r.response(name, output)})
	}
	return s.numbered()
}

func (s *responsesStream) numbered() (events []engine.Event) {
	for i, e := range s.events {
		e.data["type"], e.data["sequence_number"] = e.name, i
		event := engine.Named(e.name, e.data)
		if e.delta {
			event = event.AsDelta(e.tokens)
		}
		events = append(events, event)
	}
	return events
}

// pieces returns a delta event for each piece of the text.
func (s *responsesStream) pieces(name, text string, position engine.Object) (events []responsesEvent) {
	for _, e := range s.deltas(text, func(piece string) engine.Event { return engine.Event{Raw: []byte(piece)} }) {
		events = append(events, responsesEvent{name, with(position, engine.Object{"delta": string(e.Raw)}), true, e.Tokens})
	}
	return events
}

func (s *responsesStream) reasoning(index int, done engine.Object) {
	position := engine.Object{"item_id": done["id"], "output_index": index, "summary_index": 0}
	added := engine.Object{"type": "reasoning", "id": done["id"], "summary": []any{}}
	s.add("response.output_item.added", engine.Object{"output_index": index, "item": added})
	s.add("response.reasoning_summary_part.added", with(position, engine.Object{"part": engine.Object{"type": "summary_text", "text": ""}}))
	s.events = append(s.events, s.pieces("response.reasoning_summary_text.delta", s.Reasoning, position)...)
	s.add("response.reasoning_summary_text.done", with(position, engine.Object{"text": s.Reasoning}))
	s.add("response.reasoning_summary_part.done", with(position, engine.Object{"part": engine.Object{"type": "summary_text", "text": s.Reasoning}}))
	s.add("response.output_item.done", engine.Object{"output_index": index, "item": done})
}

func (s *responsesStream) message(index int, it item) {
	added := with(it.done, engine.Object{"status": "in_progress", "content": []any{}})
	s.add("response.output_item.added", engine.Object{"output_index": index, "item": added})
	for i, p := range it.parts {
		position := engine.Object{"item_id": it.done["id"], "output_index": index, "content_index": i}
		event, member := "response.output_text", "text"
		if p.kind == "refusal" {
			event, member = "response.refusal", "refusal"
		}
		s.add("response.content_part.added", with(position, engine.Object{"part": p.object("")}))
		s.events = append(s.events, s.pieces(event+".delta", p.text, position)...)
		s.add(event+".done", with(position, engine.Object{member: p.text}))
		s.add("response.content_part.done", with(position, engine.Object{"part": p.object(p.text)}))
	}
	s.add("response.output_item.done", engine.Object{"output_index": index, "item": it.done})
}

// call returns the events of a call: the first adds it and the last two complete it.
func (s *responsesStream) call(index int, it item) (events []responsesEvent) {
	event, member := "response.function_call_arguments", "arguments"
	if it.done["type"] == "custom_tool_call" {
		event, member = "response.custom_tool_call_input", "input"
	}
	position := engine.Object{"item_id": it.done["id"], "output_index": index}
	added := with(it.done, engine.Object{"status": "in_progress", member: ""})
	events = append(events, responsesEvent{name: "response.output_item.added", data: engine.Object{"output_index": index, "item": added}})
	events = append(events, s.pieces(event+".delta", it.input, position)...)
	return append(events,
		responsesEvent{name: event + ".done", data: with(position, engine.Object{member: it.input})},
		responsesEvent{name: "response.output_item.done", data: engine.Object{"output_index": index, "item": it.done}})
}

// with returns the object with other members replaced.
func with(o, members engine.Object) engine.Object {
	merged := engine.Object{}
	for _, from := range []engine.Object{o, members} {
		for k, v := range from {
			merged[k] = v
		}
	}
	return merged
}
