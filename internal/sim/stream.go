package sim

import (
	"fmt"
	"net/http"
	"slices"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim/engine"
	"shunt/internal/sim/script"
)

// event is one server-sent event.
type event struct {
	raw    []byte
	delta  bool
	tokens int // generated for this event
}

func newEvent(name string, data any) event {
	return event{raw: fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, engine.JSON(data))}
}

// events returns the events of the message as a stream.
func (m message) events(deltaTokens int) []event {
	start := m
	start.Content, start.StopReason, start.Usage.Output = []block{}, nil, 1
	events := []event{newEvent("message_start", object{"type": "message_start", "message": start})}
	for i, b := range m.Content {
		empty := ""
		first := block{Type: b.Type}
		kind, text := "text_delta", b.Text
		if b.Type == "thinking" {
			first.Thinking, first.Signature = &empty, &empty
			kind, text = "thinking_delta", b.Thinking
		} else {
			first.Text = &empty
		}
		delta := func(kind, field, value string) event {
			return newEvent("content_block_delta", object{
				"type": "content_block_delta", "index": i, "delta": object{"type": kind, field: value},
			})
		}
		events = append(events, newEvent("content_block_start", object{"type": "content_block_start", "index": i, "content_block": first}))
		if i == 0 {
			events = append(events, event{raw: messages.Dialect{}.Ping()})
		}
		left := b.tokens
		for _, piece := range script.Pieces(*text, deltaTokens) {
			e := delta(kind, b.Type, piece)
			e.delta, e.tokens = true, min(left, deltaTokens)
			left -= e.tokens
			events = append(events, e)
		}
		if b.Signature != nil {
			events = append(events, delta("signature_delta", "signature", *b.Signature))
		}
		events = append(events, newEvent("content_block_stop", object{"type": "content_block_stop", "index": i}))
	}
	return append(events,
		newEvent("message_delta", object{
			"type":  "message_delta",
			"delta": object{"stop_reason": m.StopReason, "stop_sequence": nil},
			"usage": m.Usage,
		}),
		newEvent("message_stop", object{"type": "message_stop"}))
}

// stream sends the response event by event. It charges what was sent, however the stream ends.
func (x *exchange) stream(m message) {
	x.servedHeaders()
	out, ok := x.openStream()
	if !ok || !x.wait(x.fault.firstEvent) {
		return
	}
	for i, e := range m.events(x.p.config.Pace.DeltaTokens) {
		if x.fault.end != whole && i == x.fault.events {
			x.endEarly(out, e)
			return
		}
		if e.delta && x.p.config.Pace.Delta > 0 {
			if out.Drain() != nil || !x.wait(x.p.config.Pace.Delta) {
				return
			}
		}
		x.chargeOutput(e.tokens)
		if out.Send(e.raw) != nil {
			return
		}
	}
	if out.Close() == nil {
		x.outcome = Complete
	}
}

// endEarly ends a stream in place of the event e.
func (x *exchange) endEarly(out *engine.Output, e event) {
	x.outcome = Aborted
	if x.fault.end == truncated {
		_ = out.Close() // after an error the client sees the stream end too
		return
	}
	if out.Send(e.raw[:len(e.raw)/2]) == nil && out.Drain() == nil {
		x.reset()
	}
}

// errorStream sends a 200 whose first event is an error.
func (x *exchange) errorStream(kind messages.ErrorType) {
	x.limitHeaders()
	f := failure{http.StatusInternalServerError, kind, "Internal server error", ""}
	switch kind {
	case messages.TypeOverloaded:
		f.status, f.message = 529, "Overloaded"
	case messages.TypeRateLimit:
		f.status, f.message = http.StatusTooManyRequests, rateLimitMessage
	}
	if !x.prompt.Stream {
		x.fail(f)
		return
	}
	out, ok := x.openStream()
	if !ok {
		return
	}
	raw := append(slices.Clone(messages.Dialect{}.Ping()), "event: error\ndata: "...)
	raw = append(messages.AppendError(raw, f.kind, f.message, x.id), "\n\n"...)
	if out.Send(raw) == nil && out.Close() == nil {
		x.outcome = Complete
	}
}

// openStream sends the headers of a stream.
func (x *exchange) openStream() (*engine.Output, bool) {
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	out := &engine.Output{W: x.w, Chunk: x.p.config.Pace.Chunk, Flush: http.NewResponseController(x.w).Flush}
	if coding := x.coding(); coding != "" {
		h.Set("Content-Encoding", coding)
		out.Encoder = engine.NewEncoder(coding, x.w)
		out.W = out.Encoder
	}
	x.header(http.StatusOK)
	return out, out.Flush() == nil
}
