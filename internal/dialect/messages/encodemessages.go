package messages

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"shunt/internal/dialect"
)

// messages writes the conversation. Messages without a block are left out, and their neighbors joined, so that roles alternate.
func (w *encoder) messages() {
	w.add(`,"messages":[`)
	var (
		role      = dialect.System // of the message that is open; System: none
		ids       []string         // of the calls in the last message of the assistant, whose results come next
		userEnds  []int            // where the last block of each of the user's messages ends, before its brace
		lastCalls []*dialect.ToolCall
	)
	open := func(next dialect.Role) {
		switch {
		case role == next:
			w.add(",")
			return
		case role != dialect.System:
			w.add("]},")
		}
		if role = next; role == dialect.User {
			w.add(`{"role":"user","content":[`)
			userEnds = append(userEnds, 0)
		} else {
			w.add(`{"role":"assistant","content":[`)
		}
	}
	write := func(author dialect.Role, block func()) {
		before, was, ends := len(w.out), role, len(userEnds)
		open(author)
		start := len(w.out)
		if block(); len(w.out) == start {
			w.out, role, userEnds = w.out[:before], was, userEnds[:ends]
			return
		}
		if author == dialect.User {
			userEnds[len(userEnds)-1] = len(w.out)
		}
		w.add("}")
	}
	for i := range w.turn.Messages {
		m := &w.turn.Messages[i]
		if m.Role == dialect.System {
			continue
		}
		results := 0
		if m.Role == dialect.Assistant {
			ids, lastCalls = ids[:0], lastCalls[:0]
		}
		for _, part := range m.Parts {
			switch p := part.(type) {
			case *dialect.ToolCall:
				ids, lastCalls = append(ids, w.callID(p.ID)), append(lastCalls, p)
				write(m.Role, func() { w.call(p, ids[len(ids)-1]) })
			case *dialect.ToolResult:
				write(m.Role, func() { w.result(p, ids[results]) })
				results++
			default:
				write(m.Role, func() { w.part(part) })
			}
		}
		if m.Role == dialect.User {
			lastCalls = lastCalls[:0]
		}
	}
	for i, call := range lastCalls {
		write(dialect.User, func() { w.result(dialect.Interrupted(call), ids[i]) })
	}
	if role != dialect.System {
		w.add("]}")
	}
	w.add("]")
	for _, end := range slices.Backward(userEnds[max(0, len(userEnds)-2):]) {
		w.out = slices.Insert(w.out, end, []byte(cacheMark)...)
	}
}

// callID returns the ID of a call in the body. Those of a conversation may repeat (INB-1); here they are unique.
func (w *encoder) callID(id string) string {
	if w.ids == nil {
		w.ids = map[string]bool{}
	}
	id = dialect.ValidID(id, maxCallID)
	unique := id
	for n := 2; w.ids[unique]; n++ {
		unique = id + "_" + strconv.Itoa(n)
	}
	w.ids[unique] = true
	return unique
}

// part writes a block without its closing brace, or nothing.
func (w *encoder) part(part dialect.Part) {
	switch p := part.(type) {
	case dialect.Text:
		if !isBlank(p.Text) {
			w.add(`{"type":"text"`)
			w.text("text", p.Text)
		}
	case *dialect.Image:
		w.image(p)
	case *dialect.File:
		w.file(p)
	case *dialect.Reasoning:
		if w.encoded.Keep(p, w.to.Origin) {
			w.reasoning(p)
		}
	case *dialect.WebSearch:
		// The API accepts only results that it has encrypted.
	}
}

func (w *encoder) reasoning(r *dialect.Reasoning) {
	if r.Redacted {
		w.add(`{"type":"redacted_thinking"`)
		w.text("data", r.Opaque)
		return
	}
	w.add(`{"type":"thinking"`)
	w.text("thinking", r.Text)
	w.text("signature", r.Opaque)
}

func (w *encoder) call(c *dialect.ToolCall, id string) {
	w.add(`{"type":"tool_use"`)
	w.text("id", id)
	w.text("name", w.names.Of(c.Name))
	w.add(`,"input":`)
	if c.Custom {
		w.add(`{"input":`)
		w.quote(c.Arguments)
		w.add("}")
		return
	}
	w.out = dialect.AppendArguments(w.out, c.Arguments)
}

func (w *encoder) result(r *dialect.ToolResult, id string) {
	w.add(`{"type":"tool_result"`)
	w.text("tool_use_id", id)
	w.add(`,"content":[`)
	first := true
	for _, part := range r.Parts {
		before := len(w.out)
		if !first {
			w.add(",")
		}
		start := len(w.out)
		if w.part(part); len(w.out) == start {
			w.out = w.out[:before]
			continue
		}
		w.add("}")
		first = false
	}
	w.add("]")
	if r.Failed {
		w.add(`,"is_error":true`)
	}
}

func (w *encoder) image(p *dialect.Image) {
	w.add(`{"type":"image"`)
	w.source(p.MediaType, p.Data, p.URL)
}

func (w *encoder) source(mediaType, data, url string) {
	if url != "" {
		w.add(`,"source":{"type":"url"`)
		w.text("url", url)
	} else {
		w.add(`,"source":{"type":"base64"`)
		w.text("media_type", mediaType)
		w.text("data", data)
	}
	w.add("}")
}

const pdf = "application/pdf"

func (w *encoder) file(p *dialect.File) {
	text, mediaType := p.Text, p.MediaType
	switch {
	case p.URL != "" || text != "":
	case mediaType == "":
		mediaType = pdf
	case strings.HasPrefix(mediaType, "text/") || mediaType == "application/json":
		decoded, err := base64.StdEncoding.DecodeString(p.Data)
		if err != nil {
			w.reject(p.Member, "the data of the document is not base64")
			return
		}
		text = string(decoded)
	case mediaType != pdf:
		w.reject(p.Member, "a document that is neither text nor a PDF cannot be sent to a messages upstream")
		return
	}
	w.add(`{"type":"document"`)
	if text != "" {
		w.add(`,"source":{"type":"text","media_type":"text/plain"`)
		w.text("data", text)
		w.add("}")
	} else {
		w.source(mediaType, p.Data, p.URL)
	}
	if p.Name != "" {
		w.text("title", p.Name)
	}
}

func (w *encoder) reject(member, why string) {
	if w.err == nil {
		w.err = &dialect.RequestError{Message: member + ": " + why}
	}
}
