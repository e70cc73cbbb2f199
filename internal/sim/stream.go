package sim

import (
	"net/http"
	"slices"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim/engine"
	"shunt/internal/sim/render"
)

// stream sends the response event by event. It charges what was sent, however the stream ends.
func (x *exchange) stream(m render.Reply) {
	x.servedHeaders()
	out, ok := x.openStream()
	if !ok || !x.wait(x.fault.firstEvent) {
		return
	}
	for i, e := range (render.Messages{}).Events(m) {
		if x.fault.end != whole && i == x.fault.events {
			x.endEarly(out, e)
			return
		}
		if e.Delta && x.p.config.Pace.Delta > 0 {
			if out.Drain() != nil || !x.wait(x.p.config.Pace.Delta) {
				return
			}
		}
		x.chargeOutput(e.Tokens)
		if out.Send(e.Raw) != nil {
			return
		}
	}
	if out.Close() == nil {
		x.outcome = Complete
	}
}

// endEarly ends a stream in place of the event e.
func (x *exchange) endEarly(out *engine.Output, e engine.Event) {
	x.outcome = Aborted
	if x.fault.end == truncated {
		_ = out.Close() // after an error the client sees the stream end too
		return
	}
	if out.Send(e.Raw[:len(e.Raw)/2]) == nil && out.Drain() == nil {
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
