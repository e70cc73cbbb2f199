package relay

import (
	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// longestRenamed is the size in bytes up to which an event is held to restore the model in it; a longer one passes unchanged.
const longestRenamed = 1 << 20

// renamer restores the model that the client requested in the events of a stream (RTE-3).
type renamer struct {
	dialect dialect.Inbound
	literal []byte // the model, quoted
	part    []byte // of an event that has not ended
	plain   bool   // no event names the model from now on
	skips   bool   // the current event is too long
	spans   []wire.Span
}

func newRenamer(d dialect.Inbound, model string) *renamer {
	return &renamer{dialect: d, literal: wire.Quote(model)}
}

// rename returns the segments to send for the next bytes of the stream. What belongs to an event that has not ended may be held
// until it does.
func (r *renamer) rename(p []byte) (segments [][]byte) {
	held := append(r.part, p...)
	r.part = nil
	sent := 0
	for !r.plain {
		e, found := wire.NextEvent(held, sent)
		if !found {
			break
		}
		if !r.skips {
			segments = append(segments, r.event(held[sent:e.End], &e, sent)...)
		} else {
			segments = append(segments, held[sent:e.End])
		}
		r.skips, sent = false, e.End
	}
	rest := held[sent:]
	if r.plain || r.skips || len(rest) > longestRenamed {
		r.skips = r.skips || len(rest) > longestRenamed
		return append(segments, rest)
	}
	r.part = rest
	return segments
}

// event returns an event with the model restored; offset is where it starts in what e was read from.
func (r *renamer) event(raw []byte, e *wire.Event, offset int) [][]byte {
	if !r.dialect.NamesModelAgain() {
		_, r.plain = r.dialect.FirstEvent(raw)
	}
	r.spans = r.dialect.EventModels(r.spans[:0], e)
	edits := make([]wire.Edit, len(r.spans))
	for i, span := range r.spans {
		edits[i] = wire.Edit{Span: wire.Span{Start: span.Start - offset, End: span.End - offset}, With: r.literal}
	}
	segments, _ := wire.Splice(raw, edits...)
	return segments
}

// flush returns what is held.
func (r *renamer) flush() []byte {
	rest := r.part
	r.part = nil
	return rest
}
