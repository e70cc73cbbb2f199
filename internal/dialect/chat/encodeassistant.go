package chat

import (
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// unknownReasoning stands for reasoning that is not known. Vendors that want their reasoning back reject a call without any, and
// some also an empty one, as users of several clients reported of Moonshot's API.
const unknownReasoning = "(not shown)"

// assistant writes a message of the assistant, and returns its calls. A refusal is text, as most vendors know no other.
func (e *encoder) assistant(parts []dialect.Part) (calls []*dialect.ToolCall) {
	var texts, reasoning []string
	for _, part := range parts {
		switch p := part.(type) {
		case dialect.Text:
			if p.Text != "" {
				texts = append(texts, p.Text)
			}
		case *dialect.Image:
			e.reject(p.Member, "an image in a message of the assistant cannot be sent to a chat upstream")
		case *dialect.File:
			if isAttachment(p) {
				e.reject(p.Member, "a document in a message of the assistant cannot be sent to a chat upstream")
			} else if p.Text != "" {
				texts = append(texts, p.Text)
			}
		case *dialect.Reasoning:
			if e.keeps(p) {
				reasoning = append(reasoning, p.Text)
			}
		case *dialect.ToolCall:
			calls = append(calls, p)
		}
	}
	if len(texts)+len(calls) == 0 { // reasoning alone: vendors reject a message without content
		return nil
	}
	e.open("assistant")
	if len(texts) > 0 {
		e.member("content", strings.Join(texts, blankLine))
	} else {
		e.b = append(e.b, `,"content":null`...)
	}
	if len(reasoning) == 0 && len(calls) > 0 && e.to.Accepts.ReturnsReasoning {
		reasoning = append(reasoning, unknownReasoning)
	}
	if len(reasoning) > 0 {
		e.member("reasoning_content", strings.Join(reasoning, blankLine))
	}
	for i, call := range calls {
		if i == 0 {
			e.b = append(e.b, `,"tool_calls":[`...)
		} else {
			e.b = append(e.b, ',')
		}
		e.call(call)
	}
	if len(calls) > 0 {
		e.b = append(e.b, ']')
	}
	e.b = append(e.b, '}')
	return calls
}

// keeps reports whether a request contains a piece of reasoning: if the vendor wants it back and it is the vendor's own, of
// whichever account, since it is plain text (RSP-3). Reasoning of the vendor's own that it does not want is not a loss.
func (e *encoder) keeps(r *dialect.Reasoning) bool {
	own := r.Origin != dialect.Origin{} && r.Origin.Family == e.to.Origin.Family
	e.encoded.Bound = e.encoded.Bound || r.Origin != dialect.Origin{}
	if !own {
		e.encoded.Dropped++
	}
	return own && e.to.Accepts.ReturnsReasoning && r.Text != ""
}

func callID(id string) string { return dialect.ValidID(id, longestID) }

func (e *encoder) call(p *dialect.ToolCall) {
	e.b = append(e.b, `{"id":"`...)
	e.b = append(e.b, callID(p.ID)...)
	e.b = append(e.b, `","type":"function","function":{"name":"`...)
	e.b = append(e.b, e.names.Of(p.Name)...)
	e.b = append(e.b, `","arguments":`...)
	arguments := make([]byte, 0, len(p.Arguments)+32)
	if p.Custom {
		arguments = append(wire.AppendQuoted(append(arguments, `{"input":`...), p.Arguments), '}')
	} else {
		arguments = dialect.AppendArguments(arguments, p.Arguments)
	}
	e.b = wire.AppendQuoted(e.b, string(arguments))
	e.b = append(e.b, "}}"...)
}

const (
	failedMark  = "[error] "
	failedEmpty = "[error] the tool failed"

	// notText is the text of a result without one.
	notText = "(the result is in the next message)"
)

// result writes the text of a result.
func (e *encoder) result(p *dialect.ToolResult) {
	texts := make([]string, 0, len(p.Parts))
	attached := false
	for _, part := range p.Parts {
		switch part := part.(type) {
		case dialect.Text:
			texts = append(texts, part.Text)
		case *dialect.File:
			if !isAttachment(part) {
				texts = append(texts, part.Text)
			}
		}
		attached = attached || isAttachment(part)
	}
	text := strings.Join(texts, "\n")
	switch {
	case p.Failed && text == "":
		text = failedEmpty
	case p.Failed:
		text = failedMark + text
	case text == "" && attached:
		text = notText
	}
	e.open("tool")
	e.member("tool_call_id", callID(p.CallID))
	e.member("content", text)
	e.b = append(e.b, '}')
}
