package chat

import (
	"cmp"
	"strconv"
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// The limits of the API on names of tools and IDs of calls, in bytes, and on the number of sequences at which a response ends.
const (
	longestName = 64
	longestID   = 64
	mostStops   = 4
)

// encoder writes one request.
type encoder struct {
	b     []byte
	turn  *dialect.Turn
	to    *dialect.Target
	names *dialect.ToolNames
	first bool  // no message is written yet
	err   error // the first

	encoded dialect.Encoded
}

// Encode implements [dialect.Outbound].
func (Dialect) Encode(t *dialect.Turn, to *dialect.Target) (dialect.Encoded, error) {
	e := &encoder{turn: t, to: to, names: dialect.NameTools(t, longestName), first: true, b: make([]byte, 0, sizeOf(t))}
	e.b = append(e.b, `{"model":`...)
	e.b = wire.AppendQuoted(e.b, to.Model)
	e.b = append(e.b, `,"messages":[`...)
	e.instructions()
	e.messages()
	e.b = append(e.b, ']')
	e.tools()
	e.limits()
	e.format()
	if level := t.Effort.LevelFor(&to.Accepts); level != "" && to.Accepts.ReasoningEffort {
		e.member("reasoning_effort", level)
	}
	if t.Stream {
		e.b = append(e.b, `,"stream":true,"stream_options":{"include_usage":true}`...)
	}
	if e.err != nil {
		return dialect.Encoded{}, e.err
	}
	e.encoded.Path, e.encoded.Body, e.encoded.Stream = "/chat/completions", append(e.b, '}'), t.Stream
	e.encoded.Tools = e.names.Renamed()
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
				size += len(p.Data) + len(p.Text)
			case *dialect.ToolCall:
				size += len(p.Arguments)
			case *dialect.ToolResult:
				parts(p.Parts)
			case *dialect.Reasoning:
				size += len(p.Text)
			}
		}
	}
	for i := range t.Messages {
		parts(t.Messages[i].Parts)
	}
	return size + size/10
}

// member writes a member with a text.
func (e *encoder) member(name, value string) {
	e.b = append(e.b, `,"`...)
	e.b = append(e.b, name...)
	e.b = append(e.b, `":`...)
	e.b = wire.AppendQuoted(e.b, value)
}

// reject rejects the turn because of a member of the client's request (DIA-5).
func (e *encoder) reject(member, why string) {
	if e.err == nil {
		e.err = &dialect.RequestError{Message: member + ": " + why}
	}
}

func (e *encoder) instructions() {
	texts := make([]string, 0, len(e.turn.Instructions))
	for _, part := range e.turn.Instructions {
		if part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	if len(texts) > 0 {
		e.open("system")
		e.member("content", strings.Join(texts, blankLine))
		e.b = append(e.b, '}')
	}
}

func (e *encoder) limits() {
	accepts := &e.to.Accepts
	if limit := e.turn.MaxTokens; limit > 0 && !accepts.OmitMaxTokens {
		name := `,"max_tokens":`
		if accepts.MaxCompletionTokens {
			name = `,"max_completion_tokens":`
		}
		limit = min(limit, cmp.Or(accepts.MaxOutputTokens, dialect.DefaultMaxOutputTokens))
		e.b = strconv.AppendInt(append(e.b, name...), int64(limit), 10)
	}
	for _, sampling := range [...]struct {
		name  string
		value *float64
	}{{`,"temperature":`, e.turn.Temperature}, {`,"top_p":`, e.turn.TopP}} {
		if sampling.value != nil {
			e.b = strconv.AppendFloat(append(e.b, sampling.name...), *sampling.value, 'f', -1, 64)
		}
	}
	for i, stop := range e.turn.Stop[:min(len(e.turn.Stop), mostStops)] {
		if i == 0 {
			e.b = append(e.b, `,"stop":[`...)
		} else {
			e.b = append(e.b, ',')
		}
		e.b = wire.AppendQuoted(e.b, stop)
	}
	if len(e.turn.Stop) > 0 {
		e.b = append(e.b, ']')
	}
}

func (e *encoder) format() {
	f := e.turn.Format
	switch {
	case f == nil:
	case len(f.Schema) == 0:
		e.b = append(e.b, `,"response_format":{"type":"json_object"}`...)
	default:
		e.b = append(e.b, `,"response_format":{"type":"json_schema","json_schema":{"name":`...)
		e.b = wire.AppendQuoted(e.b, dialect.ValidID(cmp.Or(f.Name, "output"), longestName))
		if f.Description != "" {
			e.member("description", f.Description)
		}
		e.b = append(e.b, `,"schema":`...)
		e.b = wire.AppendCompact(e.b, f.Schema)
		if f.Strict {
			e.b = append(e.b, `,"strict":true`...)
		}
		e.b = append(e.b, "}}"...)
	}
}
