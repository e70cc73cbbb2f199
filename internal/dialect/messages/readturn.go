package messages

import (
	"encoding/json"
	"strconv"
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// attribution begins the first block of a system prompt in which a client says for which provider it works. It is not for
// another one.
const attribution = "x-anthropic-billing-header:"

// ReadTurn implements [dialect.Inbound].
func (Dialect) ReadTurn(body []byte) (*dialect.Turn, error) {
	if !wire.Valid(body) {
		return nil, dialect.ErrBodyMalformed
	}
	r := turnReader{literals: literals{src: body, text: string(body)}}
	t := &r.turn
	hasMessages := false
	members := wire.OpenObject(body)
	for members.NextKey() {
		if members.Is("messages") {
			hasMessages = true
			members.SkipTo(r.messages(members.Value.Start))
			continue
		}
		members.Skip()
		v := members.Value
		switch {
		case members.Is("model"):
			t.Model = r.string(v)
		case members.Is("system"):
			r.system(v)
		case members.Is("tools"):
			r.tools(v)
		case members.Is("tool_choice"):
			r.toolChoice(v)
		case members.Is("thinking"):
			r.thinking(v)
		case members.Is("output_config"):
			r.outputConfig(v)
		case members.Is("output_format"):
			r.format("output_format", v)
		case members.Is("stop_sequences"):
			t.Stop = r.stopSequences(v)
		case members.Is("stream"):
			t.Stream = string(members.Raw()) == "true"
		case members.Is("max_tokens"):
			if t.MaxTokens = r.int(v); t.MaxTokens <= 0 && !r.isNull(v) {
				r.failAt("max_tokens", "must be a whole number above 0")
			}
		case members.Is("temperature"):
			t.Temperature = r.float(v)
		case members.Is("top_p"):
			t.TopP = r.float(v)
		case members.Is("top_k"):
			if k := r.int(v); k > 0 {
				t.TopK = &k
			}
		}
	}
	switch {
	case members.Err != nil:
		return nil, dialect.ErrBodyNotObject
	case r.err != nil:
		return nil, r.err
	case t.Model == "":
		return nil, dialect.ErrModelMissing
	case !hasMessages:
		return nil, &dialect.RequestError{Message: "messages: this field is required"}
	}
	t.Messages = dialect.Normalize(t.Messages)
	return t, nil
}

// turnReader reads a turn. The first error is that of the body.
type turnReader struct {
	literals
	turn dialect.Turn
	err  error

	message, block, inner int // where the reader is: indexes, of which block and inner are -1 outside of an array
}

// at returns the name of the place where the reader is, such as "messages[3].content[0]".
func (r *turnReader) at() string {
	name := append(make([]byte, 0, 48), "messages["...)
	name = append(strconv.AppendInt(name, int64(r.message), 10), ']')
	for _, i := range [...]int{r.block, r.inner} {
		if i >= 0 {
			name = append(strconv.AppendInt(append(name, ".content["...), int64(i), 10), ']')
		}
	}
	return string(name)
}

// fail rejects the body because of the place where the reader is.
func (r *turnReader) fail(why string) { r.failAt(r.at(), why) }

func (r *turnReader) failAt(member, why string) {
	if r.err == nil {
		r.err = &dialect.RequestError{Message: member + ": " + why}
	}
}

func (r *turnReader) system(v wire.Span) {
	if r.isString(v) {
		if text := r.string(v); text != "" {
			r.turn.Instructions = []dialect.Text{{Text: text}}
		}
		return
	}
	blocks := wire.ArrayAt(r.src, v.Start)
	for i := 0; blocks.Next(); i++ {
		if kind := r.string(r.member(blocks.Value, "type")); kind != "text" {
			r.failAt("system["+strconv.Itoa(i)+"]", "must be a text")
			return
		}
		text := r.string(r.member(blocks.Value, "text"))
		if text == "" || i == 0 && strings.HasPrefix(text, attribution) {
			continue
		}
		r.turn.Instructions = append(r.turn.Instructions, dialect.Text{Text: text})
	}
}

// messages reads the messages at i, and returns where they end.
func (r *turnReader) messages(i int) int {
	list := wire.ArrayAt(r.src, i)
	if list.Err != nil {
		r.failAt("messages", "must be an array")
		return wire.SkipValue(r.src, i)
	}
	for r.message = 0; list.NextStart(); r.message++ {
		r.block, r.inner = -1, -1
		list.SkipTo(r.readMessage(list.Value.Start))
	}
	return list.End()
}

func (r *turnReader) readMessage(i int) int {
	if r.src[i] != '{' {
		r.fail("must be an object")
		return wire.SkipValue(r.src, i)
	}
	var m dialect.Message
	role, hasContent := "", false
	members := wire.ObjectAt(r.src, i)
	for members.NextKey() {
		if members.Is("content") {
			hasContent = true
			var end int
			m.Parts, end = r.content(members.Value.Start)
			members.SkipTo(end)
			continue
		}
		if members.Skip(); members.Is("role") {
			role = r.string(members.Value)
		}
	}
	r.block = -1
	switch role {
	case "user":
	case "assistant":
		m.Role = dialect.Assistant
	case "system":
		m.Role = dialect.System
	default:
		r.fail("the role must be user, assistant or system")
	}
	if !hasContent {
		r.fail("the content must be a string or an array")
	}
	if len(m.Parts) > 0 {
		r.turn.Messages = append(r.turn.Messages, m)
	}
	return members.End()
}

// content reads the content of a message at i, a string or blocks, and returns where it ends.
func (r *turnReader) content(i int) (parts []dialect.Part, end int) {
	blocks := wire.ArrayAt(r.src, i)
	if blocks.Err != nil {
		end = wire.SkipValue(r.src, i)
		if r.src[i] != '"' {
			r.fail("the content must be a string or an array")
		}
		return appendText(nil, r.string(wire.Span{Start: i, End: end})), end
	}
	for r.block = 0; blocks.NextStart(); r.block++ {
		if parts == nil {
			parts = make([]dialect.Part, 0, 4)
		}
		b, end := r.blockMembers(blocks.Value.Start)
		parts = r.appendPart(parts, &b)
		blocks.SkipTo(end)
	}
	return parts, blocks.End()
}

func (r *turnReader) tools(v wire.Span) {
	list := wire.ArrayAt(r.src, v.Start)
	for i := 0; list.NextStart(); i++ {
		if r.src[list.Value.Start] != '{' {
			r.failAt("tools", "must be objects")
			return
		}
		var tool dialect.Tool
		kind := ""
		members := wire.ObjectAt(r.src, list.Value.Start)
		for members.Next() {
			v := members.Value
			switch {
			case members.Is("type"):
				kind = r.string(v)
			case members.Is("name"):
				tool.Name.Name = r.string(v)
			case members.Is("description"):
				tool.Description = r.string(v)
			case members.Is("input_schema"):
				tool.Schema = json.RawMessage(r.text[v.Start:v.End])
			case members.Is("strict"):
				tool.Strict = string(members.Raw()) == "true"
			case members.Is("allowed_domains"):
				tool.Allowed = r.strings(v)
			case members.Is("blocked_domains"):
				tool.Blocked = r.strings(v)
			case members.Is("max_uses"):
				tool.MaxUses = r.int(v)
			}
		}
		list.SkipTo(members.End())
		switch in := "tools[" + strconv.Itoa(i) + "]"; {
		case kind == "" || kind == "custom":
			if tool.Name.Name == "" {
				r.failAt(in+".name", "this field is required")
			}
			if len(tool.Schema) > 0 && tool.Schema[0] != '{' {
				r.failAt(in+".input_schema", "must be an object")
			}
			tool.Allowed, tool.Blocked, tool.MaxUses = nil, nil, 0
		case strings.HasPrefix(kind, "web_search_"):
			tool.Kind = dialect.SearchTool
		default:
			continue // a tool of the provider's that only this dialect has
		}
		r.turn.Tools = append(r.turn.Tools, tool)
	}
}

func (r *turnReader) toolChoice(v wire.Span) {
	if r.isNull(v) {
		return
	}
	choice := &r.turn.Choice
	switch r.string(r.member(v, "type")) {
	case "auto":
	case "any":
		choice.Mode = dialect.ChooseAny
	case "none":
		choice.Mode = dialect.ChooseNone
	case "tool":
		choice.Mode = dialect.ChooseOne
		if choice.Name.Name = r.string(r.member(v, "name")); choice.Name.Name == "" {
			r.failAt("tool_choice.name", "this field is required")
		}
	default:
		r.failAt("tool_choice.type", "must be auto, any, tool or none")
	}
	r.turn.OneCall = string(r.member(v, "disable_parallel_tool_use").Of(r.src)) == "true"
}

func (r *turnReader) thinking(v wire.Span) {
	if r.isNull(v) {
		return
	}
	e := &r.turn.Effort
	switch r.string(r.member(v, "type")) {
	case "enabled":
		e.Thinking, e.Budget = dialect.ThinkingBudgeted, r.int(r.member(v, "budget_tokens"))
	case "adaptive":
		e.Thinking = dialect.ThinkingOn
	case "disabled":
		e.Thinking = dialect.ThinkingOff
		return
	default:
		r.failAt("thinking.type", "must be enabled, adaptive or disabled")
		return
	}
	e.Show = r.string(r.member(v, "display")) != "omitted"
}

func (r *turnReader) outputConfig(v wire.Span) {
	r.turn.Effort.Level = r.string(r.member(v, "effort"))
	if format := r.member(v, "format"); format != (wire.Span{}) {
		r.format("output_config.format", format)
	}
}

func (r *turnReader) format(name string, v wire.Span) {
	if r.isNull(v) {
		return
	}
	schema := r.member(v, "schema")
	switch {
	case r.string(r.member(v, "type")) != "json_schema":
		r.failAt(name+".type", "must be json_schema")
		return
	case schema == (wire.Span{}) || r.src[schema.Start] != '{':
		r.failAt(name+".schema", "must be an object")
		return
	}
	r.turn.Format = &dialect.Format{Schema: json.RawMessage(r.text[schema.Start:schema.End])}
}

func (r *turnReader) stopSequences(v wire.Span) (stop []string) {
	if r.isNull(v) {
		return nil
	}
	list := wire.ArrayAt(r.src, v.Start)
	for list.Next() {
		if !r.isString(list.Value) {
			r.failAt("stop_sequences", "must be strings")
		}
		stop = append(stop, r.string(list.Value))
	}
	if list.Err != nil {
		r.failAt("stop_sequences", "must be an array")
	}
	return stop
}

func (r *turnReader) isNull(v wire.Span) bool { return string(v.Of(r.src)) == "null" }
