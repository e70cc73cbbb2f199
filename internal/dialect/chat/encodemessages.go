package chat

import (
	"cmp"
	"encoding/base64"
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// blankLine separates texts that were parts of their own.
const blankLine = "\n\n"

// open begins a message, up to its other members.
func (e *encoder) open(role string) {
	if !e.first {
		e.b = append(e.b, ',')
	}
	e.first = false
	e.b = append(e.b, `{"role":"`...)
	e.b = append(e.b, role...)
	e.b = append(e.b, '"')
}

// messages writes the conversation. A call at its end gets a result, since the API rejects one without.
func (e *encoder) messages() {
	var pending []*dialect.ToolCall
	for i := range e.turn.Messages {
		m := &e.turn.Messages[i]
		switch m.Role {
		case dialect.Assistant:
			pending = e.assistant(m.Parts)
		case dialect.System:
			e.content("system", m.Parts)
		case dialect.User:
			e.user(m.Parts, pending)
			pending = nil
		}
	}
	for _, call := range pending {
		e.result(dialect.Interrupted(call))
	}
}

// user writes a message of the user: the results in it, what they have besides text, and the rest.
func (e *encoder) user(parts []dialect.Part, calls []*dialect.ToolCall) {
	results := 0
	for _, part := range parts {
		result, ok := part.(*dialect.ToolResult)
		if !ok {
			break
		}
		e.result(result)
		results++
	}
	for i, part := range parts[:results] {
		var attached []dialect.Part
		for _, part := range part.(*dialect.ToolResult).Parts {
			if isAttachment(part) {
				attached = append(attached, part)
			}
		}
		if len(attached) == 0 {
			continue
		}
		of := "a tool"
		if i < len(calls) {
			of = e.names.Of(calls[i].Name)
		}
		line := dialect.Text{Text: "From the result of " + of + " (call " + callID(part.(*dialect.ToolResult).CallID) + "):"}
		e.content("user", append([]dialect.Part{line}, attached...))
	}
	e.content("user", parts[results:])
}

// isAttachment reports whether a part of a result cannot be in a tool message, which is text.
func isAttachment(part dialect.Part) bool {
	switch p := part.(type) {
	case *dialect.Image:
		return true
	case *dialect.File:
		return p.Data != "" || p.URL != ""
	}
	return false
}

// content writes a message of parts, or none if there is nothing in it. Texts alone are one text, which every vendor accepts.
func (e *encoder) content(role string, parts []dialect.Part) {
	if text, plain := plainText(parts, blankLine); plain {
		if text != "" {
			e.open(role)
			e.member("content", text)
			e.b = append(e.b, '}')
		}
		return
	}
	before, wasFirst := len(e.b), e.first
	e.open(role)
	e.b = append(e.b, `,"content":[`...)
	empty := true
	for _, part := range parts {
		at := len(e.b)
		if !empty {
			e.b = append(e.b, ',')
		}
		start := len(e.b)
		if e.part(part); len(e.b) == start {
			e.b = e.b[:at]
			continue
		}
		empty = false
	}
	if empty {
		e.b, e.first = e.b[:before], wasFirst
		return
	}
	e.b = append(e.b, "]}"...)
}

// plainText returns texts joined by a separator, if there is nothing else. Empty ones are left out.
func plainText(parts []dialect.Part, separator string) (text string, plain bool) {
	if len(parts) == 1 {
		t, ok := parts[0].(dialect.Text)
		return t.Text, ok
	}
	texts := make([]string, 0, len(parts))
	for _, part := range parts {
		t, ok := part.(dialect.Text)
		if !ok {
			return "", false
		}
		if t.Text != "" {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, separator), true
}

// part writes a part of a message, or nothing.
func (e *encoder) part(part dialect.Part) {
	switch p := part.(type) {
	case dialect.Text:
		e.text(p.Text)
	case *dialect.Image:
		e.b = append(e.b, `{"type":"image_url","image_url":{"url":`...)
		if p.URL != "" {
			e.b = wire.AppendQuoted(e.b, p.URL)
		} else {
			e.data(p.MediaType, p.Data)
		}
		if p.Detail != "" {
			e.member("detail", p.Detail)
		}
		e.b = append(e.b, "}}"...)
	case *dialect.File:
		e.file(p)
	}
}

func (e *encoder) text(text string) {
	if text == "" {
		return
	}
	e.b = append(e.b, `{"type":"text"`...)
	e.member("text", text)
	e.b = append(e.b, '}')
}

// data writes a data URI.
func (e *encoder) data(mediaType, data string) {
	e.b = wire.AppendQuoted(e.b, "data:"+mediaType+";base64,")
	comma := len(e.b) - len(`,"`)
	e.b = wire.AppendQuoted(e.b[:comma], data) // a quote in place of the comma: clients may send what is not base64
	e.b[comma] = ','
}

// file writes a document: its text if it has one, else its data.
func (e *encoder) file(p *dialect.File) {
	text, readable := p.Text, p.Data == ""
	switch {
	case p.URL != "":
		e.reject(p.Member, "a document by URL cannot be sent to a chat upstream: send its data")
	case strings.HasPrefix(p.MediaType, "text/") || p.MediaType == "application/json":
		if p.Data == "" {
			break
		}
		decoded, err := base64.StdEncoding.DecodeString(p.Data)
		if err != nil {
			e.reject(p.Member, "the data of the document is not base64")
		}
		text, readable = string(decoded), true
	}
	if readable {
		e.text(text)
		return
	}
	e.b = append(e.b, `{"type":"file","file":{"filename":`...)
	e.b = wire.AppendQuoted(e.b, cmp.Or(p.Name, "document.pdf"))
	e.b = append(e.b, `,"file_data":`...)
	e.data(cmp.Or(p.MediaType, "application/pdf"), p.Data)
	e.b = append(e.b, "}}"...)
}
