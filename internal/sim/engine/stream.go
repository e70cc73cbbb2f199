package engine

import (
	"fmt"
	"net/http"
	"time"

	"shunt/internal/sim/script"
)

// Event is one event of a stream.
type Event struct {
	Raw    []byte
	Delta  bool // paced
	Tokens int  // generated for this event
}

// Named returns a server-sent event with a name.
func Named(name string, data any) Event {
	return Event{Raw: fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, JSON(data))}
}

// Data returns a server-sent event without a name.
func Data(data any) Event { return Event{Raw: fmt.Appendf(nil, "data: %s\n\n", JSON(data))} }

// AsDelta returns the event as a paced delta of n tokens.
func (e Event) AsDelta(n int) Event { e.Delta, e.Tokens = true, n; return e }

// Pieces splits a text as its deltas are sent. An empty text has none.
func (b *Base) Pieces(text string) []string {
	if text == "" {
		return nil
	}
	return script.Pieces(text, b.Pace.DeltaTokens)
}

// Events sends a stream event by event. It charges what was sent, however the stream ends.
func (x *Exchange) Events(events []Event) {
	out, ok := x.openStream()
	if !ok || !x.Wait(x.fault.firstEvent) || out.Send(x.fault.prefix) != nil {
		return
	}
	for i, e := range events {
		if x.fault.end != whole && i == x.fault.events {
			x.endEarly(out, e)
			return
		}
		if e.Delta && x.Pace.Delta > 0 {
			if out.Drain() != nil || !x.Wait(x.Pace.Delta) {
				return
			}
		}
		if x.Charge != nil && e.Tokens > 0 {
			x.Charge(e.Tokens)
		}
		if out.Send(e.Raw) != nil {
			return
		}
	}
	if out.Close() == nil {
		x.outcome = Complete
	}
}

// Plain sends a whole response at the time at which a stream would have sent its last token.
func (x *Exchange) Plain(tokens int, v any) {
	if !x.Wait(time.Duration(tokens/x.Pace.DeltaTokens) * x.Pace.Delta) {
		return
	}
	if x.Charge != nil {
		x.Charge(tokens)
	}
	x.JSON(http.StatusOK, v)
}

// endEarly ends a stream in place of the event e.
func (x *Exchange) endEarly(out *Output, e Event) {
	x.outcome = Aborted
	switch x.fault.end {
	case aborted:
		if out.Send(e.Raw[:len(e.Raw)/2]) == nil && out.Drain() == nil {
			x.Reset()
		}
	case stalled:
		if out.Drain() == nil {
			<-x.R.Context().Done()
		}
	default:
		if out.Send(x.fault.last) == nil {
			_ = out.Close() // after an error the client sees the stream end too
		}
	}
}

// openStream sends the headers of a stream.
func (x *Exchange) openStream() (*Output, bool) {
	h := x.W.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	out := &Output{W: x.W, Chunk: x.Pace.Chunk, Flush: http.NewResponseController(x.W).Flush}
	if coding := x.coding(); coding != "" {
		h.Set("Content-Encoding", coding)
		out.Encoder = NewEncoder(coding, x.W)
		out.W = out.Encoder
	}
	x.header(http.StatusOK)
	return out, out.Flush() == nil
}
