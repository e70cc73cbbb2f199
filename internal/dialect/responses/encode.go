package responses

import (
	"cmp"
	"strconv"
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// The limits of the API on names of tools and IDs of calls, in bytes.
const (
	longestName = 64
	longestID   = 64
)

// encoder writes one request.
type encoder struct {
	b     []byte
	turn  *dialect.Turn
	to    *dialect.Target
	names *dialect.ToolNames
	first bool // no item of the input is written yet

	encoded dialect.Encoded
}

// Encode implements [dialect.Outbound]. A request always streams, since the events tell more than the document.
func (Dialect) Encode(t *dialect.Turn, to *dialect.Target) (dialect.Encoded, error) {
	e := &encoder{turn: t, to: to, names: dialect.NameTools(t, longestName), first: true, b: make([]byte, 0, sizeOf(t))}
	e.b = append(e.b, `{"model":`...)
	e.b = wire.AppendQuoted(e.b, to.Model)
	e.instructions()
	e.b = append(e.b, `,"input":[`...)
	for i := range t.Messages {
		e.message(&t.Messages[i])
	}
	e.b = append(e.b, ']')
	e.tools()
	e.reasoning()
	e.limits()
	e.format()
	if key := cmp.Or(to.Session, t.CacheKey); key != "" {
		e.b = append(e.b, `,"prompt_cache_key":`...)
		e.b = wire.AppendQuoted(e.b, key)
	}
	e.b = append(e.b, `,"store":false,"stream":true}`...)
	e.encoded.Path, e.encoded.Body, e.encoded.Stream, e.encoded.Tools = "/responses", e.b, true, e.names.Renamed()
	return e.encoded, nil
}

// sizeOf estimates the size of a request, in bytes, so that its buffer rarely grows: the texts with a tenth for escapes.
func sizeOf(t *dialect.Turn) int {
	const perItem = 128
	size := 4 << 10
	for _, text := range t.Instructions {
		size += len(text.Text)
	}
	for i := range t.Tools {
		size += perItem + len(t.Tools[i].Description) + len(t.Tools[i].Schema)
	}
	var parts func([]dialect.Part)
	parts = func(list []dialect.Part) {
		for _, part := range list {
			size += perItem
			switch p := part.(type) {
			case dialect.Text:
				size += len(p.Text)
			case *dialect.Image:
				size += len(p.Data) + len(p.URL)
			case *dialect.File:
				size += len(p.Data) + len(p.URL) + len(p.Text)
			case *dialect.ToolCall:
				size += len(p.Arguments)
			case *dialect.ToolResult:
				parts(p.Parts)
			case *dialect.Reasoning:
				size += len(p.Text) + len(p.Opaque)
			}
		}
	}
	for i := range t.Messages {
		parts(t.Messages[i].Parts)
	}
	return size + size/10
}

func (e *encoder) instructions() {
	e.b = append(e.b, `,"instructions":`...)
	texts := make([]string, len(e.turn.Instructions))
	for i, part := range e.turn.Instructions {
		texts[i] = part.Text
	}
	e.b = wire.AppendQuoted(e.b, strings.Join(texts, "\n\n"))
}

// fewestTokens is the lowest limit on the length of a response that the API accepts.
const fewestTokens = 16

func (e *encoder) limits() {
	if limit := e.turn.MaxTokens; limit > 0 && !e.to.Accepts.OmitMaxTokens {
		if most := e.to.Accepts.MaxOutputTokens; most > 0 {
			limit = min(limit, most)
		}
		e.b = append(e.b, `,"max_output_tokens":`...)
		e.b = strconv.AppendInt(e.b, int64(max(limit, fewestTokens)), 10)
	}
	if !e.to.Accepts.Sampling {
		return
	}
	for _, sampling := range [...]struct {
		name  string
		value *float64
	}{{"temperature", e.turn.Temperature}, {"top_p", e.turn.TopP}} {
		if sampling.value != nil {
			e.b = append(e.b, `,"`+sampling.name+`":`...)
			e.b = strconv.AppendFloat(e.b, *sampling.value, 'f', -1, 64)
		}
	}
}

func (e *encoder) reasoning() {
	effort := &e.turn.Effort
	level := effort.LevelFor(&e.to.Accepts)
	if level == "" {
		return
	}
	e.b = append(e.b, `,"reasoning":{"effort":`...)
	e.b = wire.AppendQuoted(e.b, level)
	if effort.On() {
		e.b = append(e.b, `,"summary":"auto"`...)
	}
	e.b = append(e.b, '}')
	if effort.On() {
		e.b = append(e.b, `,"include":["reasoning.encrypted_content"]`...)
	}
}

func (e *encoder) format() {
	f := e.turn.Format
	switch {
	case f == nil:
	case len(f.Schema) == 0:
		e.b = append(e.b, `,"text":{"format":{"type":"json_object"}}`...)
	default:
		e.b = append(e.b, `,"text":{"format":{"type":"json_schema"`...)
		e.member("name", dialect.ValidID(cmp.Or(f.Name, "output"), longestName))
		if f.Description != "" {
			e.member("description", f.Description)
		}
		e.b = append(e.b, `,"schema":`...)
		e.b = wire.AppendCompact(e.b, f.Schema)
		e.b = append(e.b, `,"strict":`...)
		e.b = strconv.AppendBool(e.b, f.Strict)
		e.b = append(e.b, "}}"...)
	}
}
