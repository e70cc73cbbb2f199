package messages

import (
	"strconv"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// NewWriter implements [dialect.Inbound].
func (Dialect) NewWriter(o dialect.ResponseOptions) dialect.ResponseWriter {
	return &writer{options: o}
}

// maxQueued is how many bytes of parts wait for their turn, at most: those of one document, or the parts of a stream that
// are interleaved with others.
const maxQueued = wire.MaxEvent

// writer writes a response. Of the parts that have started, the first is written as it arrives, and the next ones wait in parts
// until it has ended, since only one block may be open (RSP-1). A document is written when the response ends.
type writer struct {
	options dialect.ResponseOptions

	id     string // of the response
	begun  bool   // the first event has been written
	done   bool
	parts  []*part // that have started and are not written yet
	index  int     // of the next block
	queued int     // bytes in parts
}

// part is a part of the response that is not written completely.
type part struct {
	number int
	kind   dialect.PartType
	call   *dialect.ToolCall

	open    bool   // its block has been opened
	written bool   // of a call: it has arguments
	text    []byte // what is not written yet
	sources []dialect.Citation
	last    *dialect.Event // PartEnded
}

// Write implements [dialect.ResponseWriter].
func (w *writer) Write(dst []byte, e *dialect.Event) []byte {
	if w.done {
		return dst
	}
	switch e.Kind {
	case dialect.Started:
		w.id = e.ID
	case dialect.PartStarted:
		if e.Type == dialect.ReasoningPart && !w.showsReasoning() {
			break
		}
		w.parts = append(w.parts, &part{number: e.Part, kind: e.Type, call: e.Call})
		dst = w.advance(dst)
	case dialect.PartDelta, dialect.Cited, dialect.PartEnded:
		p := w.part(e.Part)
		if p == nil || p.last != nil {
			break
		}
		w.keep(p, e)
		if w.queued > maxQueued {
			return w.fail(dst, &dialect.Error{Kind: dialect.ServerError, Message: "the parts of the response are interleaved too widely"})
		}
		dst = w.advance(dst)
	case dialect.Finished:
		return w.finish(dst, e)
	case dialect.Failed:
		return w.fail(dst, e.Err)
	}
	return dst
}

// showsReasoning reports whether the client requested thinking (RSP-3).
func (w *writer) showsReasoning() bool {
	thinking := w.options.Turn.Effort.Thinking
	return thinking == dialect.ThinkingOn || thinking == dialect.ThinkingBudgeted
}

func (w *writer) part(number int) *part {
	for _, p := range w.parts {
		if p.number == number {
			return p
		}
	}
	return nil
}

// keep adds an event to its part.
func (w *writer) keep(p *part, e *dialect.Event) {
	switch e.Kind {
	case dialect.PartDelta:
		if p.kind == dialect.ReasoningPart && !w.options.Turn.Effort.Show {
			return
		}
		p.text = append(p.text, e.Text...)
		w.queued += len(e.Text)
	case dialect.Cited:
		p.sources = append(p.sources, *e.Source)
		w.queued += len(e.Source.URL) + len(e.Source.Title) + len(e.Source.CitedText)
	case dialect.PartEnded:
		last := *e
		p.last = &last
	}
}

// advance writes what a stream can write of the parts that have started.
func (w *writer) advance(dst []byte) []byte {
	for w.options.Turn.Stream && len(w.parts) > 0 {
		p := w.parts[0]
		if p.kind == dialect.SearchPart {
			if p.last == nil {
				return dst
			}
			dst = w.search(dst, p.last.Search)
		} else {
			if dst = w.stream(dst, p); p.last == nil {
				return dst
			}
		}
		w.parts = w.parts[1:]
	}
	return dst
}

// stream writes the part whose turn it is, as far as it has arrived.
func (w *writer) stream(dst []byte, p *part) []byte {
	if !p.open && p.isEmpty() {
		return dst
	}
	if !p.open {
		p.open = true
		dst = append(w.startBlock(dst), w.opening(p)...)
		dst = append(dst, "}\n\n"...)
	}
	if len(p.text) > 0 {
		dst = w.delta(dst, p)
		w.queued -= len(p.text)
		if p.text = p.text[:0]; cap(p.text) > 32<<10 {
			p.text = nil
		}
	}
	for i := range p.sources {
		dst = w.startDelta(dst, `"citations_delta","citation":`)
		dst = append(appendCitation(dst, &p.sources[i]), "}}\n\n"...)
		w.queued -= len(p.sources[i].URL) + len(p.sources[i].Title) + len(p.sources[i].CitedText)
	}
	p.sources = nil
	if p.last == nil {
		return dst
	}
	switch p.kind {
	case dialect.CallPart:
		if end := p.end(); end != "" {
			dst = w.startDelta(dst, `"input_json_delta","partial_json":`)
			dst = append(wire.AppendQuoted(dst, end), "}}\n\n"...)
		}
	case dialect.ReasoningPart:
		dst = w.startDelta(dst, `"signature_delta","signature":`)
		dst = append(wire.AppendQuoted(dst, w.signature(p)), "}}\n\n"...)
	}
	return w.stopBlock(dst)
}

// isEmpty reports whether a part is a text of which nothing has arrived: it has no block yet and, if it ends so, never gets one.
func (p *part) isEmpty() bool {
	return (p.kind == dialect.TextPart || p.kind == dialect.RefusalPart) && len(p.text) == 0 && len(p.sources) == 0
}

// delta writes the text of a part that has arrived.
func (w *writer) delta(dst []byte, p *part) []byte {
	switch p.kind {
	case dialect.ReasoningPart:
		dst = w.startDelta(dst, `"thinking_delta","thinking":`)
	case dialect.CallPart:
		piece := string(p.text)
		if p.call.Custom {
			piece = p.wrapped()
		}
		p.written = true
		dst = w.startDelta(dst, `"input_json_delta","partial_json":`)
		return append(wire.AppendQuoted(dst, piece), "}}\n\n"...)
	default:
		dst = w.startDelta(dst, `"text_delta","text":`)
	}
	return append(wire.AppendQuoted(dst, string(p.text)), "}}\n\n"...)
}

// wrapped returns a piece of the input of a custom tool as a piece of an object with one member (INB-1).
func (p *part) wrapped() string {
	quoted := wire.Quote(string(p.text))
	inside := string(quoted[1 : len(quoted)-1])
	if !p.written {
		return `{"input":"` + inside
	}
	return inside
}

// end returns the rest of a call's arguments after its text.
func (p *part) end() string {
	switch {
	case p.call.Custom && p.written:
		return `"}`
	case p.call.Custom:
		return `{"input":""}`
	case p.written:
		return ""
	}
	return "{}"
}

// signature returns what the client gets in place of the opaque token of reasoning (RSP-3).
func (w *writer) signature(p *part) string {
	return dialect.Seal(&dialect.Reasoning{
		ID: p.last.ID, Opaque: p.last.Opaque, Redacted: p.last.Redacted, Origin: w.options.Origin,
	})
}

// begin writes the first event, unless it has been written.
func (w *writer) begin(dst []byte) []byte {
	if w.begun {
		return dst
	}
	w.begun = true
	dst = append(dst, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":"...)
	dst = w.head(dst)
	dst = append(dst, `[],"stop_reason":null,"stop_sequence":null,"usage":`...)
	return append(appendUsage(dst, dialect.Usage{}), "}}\n\n"...)
}

// head appends a message up to its content.
func (w *writer) head(dst []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = wire.AppendQuoted(dst, dialect.ResponseID("msg_", w.id))
	dst = append(dst, `,"type":"message","role":"assistant","model":`...)
	dst = wire.AppendQuoted(dst, w.options.Turn.Model)
	return append(dst, `,"content":`...)
}

// startBlock writes the event that starts a block up to the block.
func (w *writer) startBlock(dst []byte) []byte {
	dst = w.begin(dst)
	dst = append(dst, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":"...)
	return append(strconv.AppendInt(dst, int64(w.index), 10), `,"content_block":`...)
}

// startDelta writes a delta of the open block up to its value; kind is its type, in quotes, and what follows.
func (w *writer) startDelta(dst []byte, kind string) []byte {
	dst = append(dst, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	dst = strconv.AppendInt(dst, int64(w.index), 10)
	return append(append(dst, `,"delta":{"type":`...), kind...)
}

func (w *writer) stopBlock(dst []byte) []byte {
	dst = append(dst, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":"...)
	dst = strconv.AppendInt(dst, int64(w.index), 10)
	w.index++
	return append(dst, "}\n\n"...)
}

// finish ends the response.
func (w *writer) finish(dst []byte, e *dialect.Event) []byte {
	w.done = true
	for _, p := range w.parts {
		if p.last == nil {
			p.last = &dialect.Event{Kind: dialect.PartEnded, Part: p.number, Type: p.kind, Search: &dialect.WebSearch{}}
		}
	}
	if !w.options.Turn.Stream {
		return w.document(dst, e)
	}
	dst = w.begin(w.advance(dst))
	dst = append(dst, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{"...)
	dst = append(appendStop(dst, e), `},"usage":`...)
	dst = appendUsage(dst, e.Usage)
	return append(dst, "}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
}

// fail ends the response with an error.
func (w *writer) fail(dst []byte, e *dialect.Error) []byte {
	w.done, w.parts = true, nil
	if !w.options.Turn.Stream {
		return dst
	}
	return Dialect{}.AppendErrorEvent(dst, e)
}
