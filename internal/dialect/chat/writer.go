package chat

import (
	"strconv"
	"unicode/utf8"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// NewWriter implements [dialect.Inbound] (INB-3).
func (Dialect) NewWriter(o dialect.ResponseOptions) dialect.ResponseWriter {
	return &writer{o: o, open: map[int]*toolCall{}}
}

// writer writes a response: its chunks or, for a client that does not stream, the document at the end.
type writer struct {
	o        dialect.ResponseOptions
	id       string
	begun    bool // the chunk with the role has been written
	finished bool

	runes   int  // of the text so far
	broken  bool // another part has started since the last text
	apart   bool // a text has started after it, and has nothing in it yet
	refused bool
	open    map[int]*toolCall // by part
	calls   int               // that have started

	whole document // of a client that does not stream
}

// toolCall is a call of the response.
type toolCall struct {
	index     int
	call      *dialect.ToolCall
	written   bool
	arguments []byte // so far; only for a document
}

// Write implements [dialect.ResponseWriter].
func (w *writer) Write(dst []byte, e *dialect.Event) []byte {
	if e.Kind == dialect.PartStarted && w.runes > 0 {
		isText := e.Type == dialect.TextPart
		w.apart, w.broken = w.apart || isText && w.broken, !isText
	}
	switch {
	case w.finished:
		return dst
	case e.Kind == dialect.Started:
		w.id = dialect.ResponseID("chatcmpl-", e.ID)
		return dst
	case e.Kind < dialect.Finished && e.Type == dialect.ReasoningPart && !w.o.Turn.Effort.Show:
		return dst
	}
	if w.id == "" {
		w.id = dialect.ResponseID("chatcmpl-", "")
	}
	switch e.Kind {
	case dialect.PartStarted:
		return w.start(dst, e)
	case dialect.PartDelta:
		if len(e.Text) > 0 {
			dst = w.delta(dst, e)
		}
	case dialect.PartEnded:
		if c := w.open[e.Part]; c != nil {
			delete(w.open, e.Part)
			if !c.written && !c.call.Custom {
				dst = w.argue(dst, c, "{}")
			}
		}
	case dialect.Cited:
		dst = w.cite(dst, e.Source)
	case dialect.Finished:
		return w.finish(dst, e)
	case dialect.Failed:
		w.finished = true
		if w.o.Turn.Stream {
			dst = Dialect{}.AppendErrorEvent(dst, e.Err)
		}
	}
	return dst
}

func (w *writer) start(dst []byte, e *dialect.Event) []byte {
	if e.Type != dialect.CallPart {
		return dst
	}
	c := &toolCall{index: w.calls, call: e.Call}
	w.calls++
	w.open[e.Part] = c
	if !w.o.Turn.Stream {
		w.whole.calls = append(w.whole.calls, c)
		return dst
	}
	dst = w.chunk(dst)
	dst = append(dst, `{"tool_calls":[{"index":`...)
	dst = strconv.AppendInt(dst, int64(c.index), 10)
	dst = append(dst, ',')
	dst = c.appendHead(dst)
	return append(dst, `""}}]}`+chunkEnd...)
}

// appendHead appends the members of a call up to its arguments.
func (c *toolCall) appendHead(dst []byte) []byte {
	kind, member := "function", "arguments"
	if c.call.Custom {
		kind, member = "custom", "input"
	}
	dst = append(dst, `"id":`...)
	dst = wire.AppendQuoted(dst, c.call.ID)
	dst = append(dst, `,"type":"`+kind+`","`+kind+`":{"name":`...)
	dst = wire.AppendQuoted(dst, c.call.Name.Name)
	return append(dst, `,"`+member+`":`...)
}

func (w *writer) delta(dst []byte, e *dialect.Event) []byte {
	switch e.Type {
	case dialect.TextPart:
		text := string(e.Text)
		if w.apart { // the dialect has one text, in which texts that were apart would run together
			text, w.apart = blankLine+text, false
		}
		w.runes += utf8.RuneCountInString(text)
		return w.text(dst, "content", &w.whole.content, text)
	case dialect.RefusalPart:
		w.refused = true
		return w.text(dst, "refusal", &w.whole.refusal, string(e.Text))
	case dialect.ReasoningPart:
		return w.text(dst, "reasoning_content", &w.whole.reasoning, string(e.Text))
	case dialect.CallPart:
		if c := w.open[e.Part]; c != nil {
			return w.argue(dst, c, string(e.Text))
		}
	}
	return dst
}

// text writes a piece of a text.
func (w *writer) text(dst []byte, name string, whole *[]byte, piece string) []byte {
	if !w.o.Turn.Stream {
		*whole = append(*whole, piece...)
		return dst
	}
	dst = w.chunk(dst)
	dst = append(dst, `{"`...)
	dst = append(dst, name...)
	dst = append(dst, `":`...)
	dst = wire.AppendQuoted(dst, piece)
	return append(dst, "}"+chunkEnd...)
}

// argue writes a piece of a call's arguments.
func (w *writer) argue(dst []byte, c *toolCall, piece string) []byte {
	c.written = true
	if !w.o.Turn.Stream {
		c.arguments = append(c.arguments, piece...)
		return dst
	}
	dst = w.chunk(dst)
	dst = append(dst, `{"tool_calls":[{"index":`...)
	dst = strconv.AppendInt(dst, int64(c.index), 10)
	if c.call.Custom {
		dst = append(dst, `,"custom":{"input":`...)
	} else {
		dst = append(dst, `,"function":{"arguments":`...)
	}
	dst = wire.AppendQuoted(dst, piece)
	return append(dst, `}}]}`+chunkEnd...)
}

// cite writes a citation, which counts for the whole text so far.
func (w *writer) cite(dst []byte, source *dialect.Citation) []byte {
	if !w.o.Turn.Stream {
		if len(w.whole.annotations) > 0 {
			w.whole.annotations = append(w.whole.annotations, ',')
		}
		w.whole.annotations = w.appendCitation(w.whole.annotations, source)
		return dst
	}
	dst = w.chunk(dst)
	dst = append(dst, `{"annotations":[`...)
	return append(w.appendCitation(dst, source), `]}`+chunkEnd...)
}

func (w *writer) appendCitation(dst []byte, source *dialect.Citation) []byte {
	dst = append(dst, `{"type":"url_citation","url_citation":{"start_index":0,"end_index":`...)
	dst = strconv.AppendInt(dst, int64(w.runes), 10)
	dst = append(dst, `,"url":`...)
	dst = wire.AppendQuoted(dst, source.URL)
	dst = append(dst, `,"title":`...)
	return append(wire.AppendQuoted(dst, source.Title), "}}"...)
}

// chunkEnd ends a chunk after its delta, unless the chunk ends the response.
const chunkEnd = `,"finish_reason":null}]}` + "\n\n"

// chunk begins a chunk with a delta, up to the delta. The first one of a response has the role.
func (w *writer) chunk(dst []byte) []byte {
	if !w.begun {
		w.begun = true
		dst = append(w.head(dst), `[{"index":0,"delta":{"role":"assistant","content":""}`+chunkEnd...)
	}
	return append(w.head(dst), `[{"index":0,"delta":`...)
}

// head begins a chunk, up to its choices.
func (w *writer) head(dst []byte) []byte {
	dst = append(dst, "data: "...)
	dst = w.object(dst, "chat.completion.chunk")
	return append(dst, `,"choices":`...)
}

// object begins a chunk or a document.
func (w *writer) object(dst []byte, kind string) []byte {
	dst = append(dst, `{"id":"`...)
	dst = append(dst, w.id...)
	dst = append(dst, `","object":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","created":`...)
	dst = strconv.AppendInt(dst, w.o.Created.Unix(), 10)
	dst = append(dst, `,"model":`...)
	return wire.AppendQuoted(dst, w.o.Turn.Model)
}

// finish ends the response.
func (w *writer) finish(dst []byte, e *dialect.Event) []byte {
	w.finished = true
	reason := w.finishReason(e.Stop)
	if !w.o.Turn.Stream {
		return w.appendDocument(dst, reason, &e.Usage)
	}
	dst = w.chunk(dst)
	dst = append(dst, `{},"finish_reason":"`+reason+"\"}]}\n\n"...)
	if w.o.Turn.StreamUsage && e.Usage.Known {
		dst = append(w.head(dst), `[],"usage":`...)
		dst = append(appendUsage(dst, &e.Usage), "}\n\n"...)
	}
	return append(dst, "data: "+done+"\n\n"...)
}

// finishReason returns why the response ends (CHT-1). A refusal in the model's words is a normal end in this dialect.
func (w *writer) finishReason(s dialect.StopReason) string {
	switch s {
	case dialect.StopMaxTokens:
		return "length"
	case dialect.StopToolUse:
		return "tool_calls"
	case dialect.StopRefusal:
		if !w.refused {
			return "content_filter"
		}
	}
	return "stop"
}
