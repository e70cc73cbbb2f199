package responses

import (
	"cmp"
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// message writes the items of a message. Texts and images that follow each other are one item.
func (e *encoder) message(m *dialect.Message) {
	open := false
	end := func() {
		if open {
			e.b = append(e.b, "]}"...)
			open = false
		}
	}
	content := func() {
		if open {
			e.b = append(e.b, ',')
			return
		}
		e.item("message")
		e.b = append(e.b, `,"role":"`...)
		e.b = append(e.b, [...]string{dialect.User: "user", dialect.Assistant: "assistant", dialect.System: "developer"}[m.Role]...)
		e.b = append(e.b, `","content":[`...)
		open = true
	}
	for _, part := range m.Parts {
		switch p := part.(type) {
		case dialect.Text:
			if p.Text != "" {
				content()
				e.text(m.Role, p)
			}
		case *dialect.Image:
			content()
			e.image(p)
		case *dialect.File:
			content()
			e.file(p)
		case *dialect.ToolCall:
			end()
			e.call(p)
		case *dialect.ToolResult:
			end()
			e.result(p)
		case *dialect.Reasoning:
			end()
			e.thought(p)
		}
	}
	end()
}

func (e *encoder) item(kind string) {
	if !e.first {
		e.b = append(e.b, ',')
	}
	e.first = false
	e.b = append(e.b, `{"type":"`...)
	e.b = append(e.b, kind...)
	e.b = append(e.b, '"')
}

// member writes a member with a text.
func (e *encoder) member(name, value string) {
	e.b = append(e.b, `,"`...)
	e.b = append(e.b, name...)
	e.b = append(e.b, `":`...)
	e.b = wire.AppendQuoted(e.b, value)
}

func (e *encoder) text(role dialect.Role, t dialect.Text) {
	kind, member := "input_text", "text"
	if role == dialect.Assistant {
		kind = "output_text"
		if t.Refusal {
			kind, member = "refusal", "refusal"
		}
	}
	e.b = append(e.b, `{"type":"`...)
	e.b = append(e.b, kind...)
	e.b = append(e.b, '"')
	e.member(member, t.Text)
	e.b = append(e.b, '}')
}

func (e *encoder) image(p *dialect.Image) {
	e.b = append(e.b, `{"type":"input_image","image_url":`...)
	e.dataOrURL(p.MediaType, p.Data, p.URL)
	if p.Detail != "" {
		e.member("detail", p.Detail)
	}
	e.b = append(e.b, '}')
}

// dataOrURL writes a data URI or an address.
func (e *encoder) dataOrURL(mediaType, data, url string) {
	if url != "" {
		e.b = wire.AppendQuoted(e.b, url)
		return
	}
	e.b = wire.AppendQuoted(e.b, "data:"+mediaType+";base64,")
	comma := len(e.b) - len(`,"`)
	e.b = wire.AppendQuoted(e.b[:comma], data) // a quote in place of the comma: clients may send what is not base64
	e.b[comma] = ','
}

func (e *encoder) file(p *dialect.File) {
	switch {
	case p.URL != "":
		e.b = append(e.b, `{"type":"input_file"`...)
		e.member("file_url", p.URL)
	case p.Data == "":
		e.text(dialect.User, dialect.Text{Text: p.Text})
		return
	default:
		e.b = append(e.b, `{"type":"input_file","file_data":`...)
		e.dataOrURL(cmp.Or(p.MediaType, "application/pdf"), p.Data, "")
		e.member("filename", cmp.Or(p.Name, "document.pdf"))
	}
	e.b = append(e.b, '}')
}

func (e *encoder) call(p *dialect.ToolCall) {
	kind, member := "function_call", "arguments"
	if p.Custom {
		kind, member = "custom_tool_call", "input"
	}
	e.item(kind)
	e.member("call_id", dialect.ValidID(p.ID, longestID))
	e.member("name", e.names.Of(p.Name))
	arguments := p.Arguments
	if arguments == "" && !p.Custom {
		arguments = "{}"
	}
	e.member(member, arguments)
	e.b = append(e.b, '}')
}

const (
	failedMark  = "[error] "
	failedEmpty = "[error] the tool failed"
)

func (e *encoder) result(p *dialect.ToolResult) {
	kind := "function_call_output"
	if p.Custom {
		kind = "custom_tool_call_output"
	}
	e.item(kind)
	e.member("call_id", dialect.ValidID(p.CallID, longestID))
	e.b = append(e.b, `,"output":`...)
	if text, plain := plainText(p.Parts); plain {
		switch {
		case p.Failed && text == "":
			text = failedEmpty
		case p.Failed:
			text = failedMark + text
		}
		e.b = append(wire.AppendQuoted(e.b, text), '}')
		return
	}
	e.b = append(e.b, '[')
	marked := !p.Failed
	for i, part := range p.Parts {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		switch part := part.(type) {
		case dialect.Text:
			if !marked {
				part.Text, marked = failedMark+part.Text, true
			}
			e.text(dialect.User, part)
		case *dialect.Image:
			e.image(part)
		case *dialect.File:
			e.file(part)
		}
	}
	if !marked {
		e.b = append(e.b, ',')
		e.text(dialect.User, dialect.Text{Text: failedEmpty})
	}
	e.b = append(e.b, "]}"...)
}

// plainText returns the texts of a result joined by line feeds, if it has nothing else.
func plainText(parts []dialect.Part) (text string, plain bool) {
	if len(parts) == 1 {
		t, ok := parts[0].(dialect.Text)
		return t.Text, ok
	}
	texts := make([]string, len(parts))
	for i, part := range parts {
		t, ok := part.(dialect.Text)
		if !ok {
			return "", false
		}
		texts[i] = t.Text
	}
	return strings.Join(texts, "\n"), true
}

// thought writes reasoning that this upstream can read (RSP-3).
func (e *encoder) thought(p *dialect.Reasoning) {
	if !e.encoded.Keep(p, e.to.Origin) {
		return
	}
	e.item("reasoning")
	if p.ID != "" {
		e.member("id", p.ID)
	}
	e.b = append(e.b, `,"summary":[`...)
	if p.Text != "" {
		e.b = append(e.b, `{"type":"summary_text"`...)
		e.member("text", p.Text)
		e.b = append(e.b, '}')
	}
	e.b = append(e.b, ']')
	e.member("encrypted_content", p.Opaque)
	e.b = append(e.b, '}')
}
