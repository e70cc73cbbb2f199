package messages

import (
	"slices"
	"strconv"
	"strings"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

const (
	searchName    = "web_search"
	searchVersion = "web_search_20250305"

	maxToolName = 128 // in bytes
	maxCallID   = 64

	cacheMark = `,"cache_control":{"type":"ephemeral"}`
)

// customSchema is the schema of a custom tool, which this dialect does not have: one string.
const customSchema = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`

// Encode implements [dialect.Outbound]. The body ends with the messages and has nothing in it that depends on their number, so
// that the body of the next turn continues it byte for byte, except for the cache marks (INB-4).
func (Dialect) Encode(t *dialect.Turn, to *dialect.Target) (dialect.Encoded, error) {
	w := encoder{turn: t, to: to, names: dialect.NameTools(t, maxToolName), out: make([]byte, 0, sizeOf(t))}
	w.encoded = dialect.Encoded{
		Path: "/v1/messages", Header: []dialect.Field{{Name: versionHeader, Value: defaultVersion}},
		Stream: t.Stream, Tools: w.names.Renamed(),
	}
	w.add(`{"model":`)
	w.quote(to.Model)
	w.limits()
	w.effort()
	w.tools()
	w.system()
	w.messages()
	w.add("}")
	if w.err != nil {
		return dialect.Encoded{}, w.err
	}
	w.encoded.Body = w.out
	return w.encoded, nil
}

// sizeOf estimates the size of a turn's body, in bytes, from above.
func sizeOf(t *dialect.Turn) int {
	n := 4 << 10
	for i := range t.Tools {
		n += len(t.Tools[i].Description) + len(t.Tools[i].Schema) + 256
	}
	for i := range t.Instructions {
		n += len(t.Instructions[i].Text) + 64
	}
	for i := range t.Messages {
		for _, part := range t.Messages[i].Parts {
			n += sizeOfPart(part) + 128
		}
	}
	return n + n/8
}

func sizeOfPart(part dialect.Part) int {
	switch p := part.(type) {
	case dialect.Text:
		return len(p.Text)
	case *dialect.Image:
		return len(p.Data)
	case *dialect.File:
		return len(p.Data) + len(p.Text)
	case *dialect.ToolCall:
		return len(p.Arguments)
	case *dialect.Reasoning:
		return len(p.Text) + len(p.Opaque)
	case *dialect.ToolResult:
		n := 0
		for _, part := range p.Parts {
			n += sizeOfPart(part) + 64
		}
		return n
	}
	return 0
}

// encoder writes one request.
type encoder struct {
	turn    *dialect.Turn
	to      *dialect.Target
	names   *dialect.ToolNames
	encoded dialect.Encoded
	out     []byte
	err     error // the first

	ids map[string]bool // of the calls so far
}

func (w *encoder) add(s string) { w.out = append(w.out, s...) }

func (w *encoder) quote(s string) { w.out = wire.AppendQuoted(w.out, s) }

func (w *encoder) int(n int) { w.out = strconv.AppendInt(w.out, int64(n), 10) }

// text adds a member that is a string.
func (w *encoder) text(name, value string) {
	w.add(`,"` + name + `":`)
	w.quote(value)
}

func (w *encoder) texts(name string, values []string) {
	if len(values) == 0 {
		return
	}
	w.add(`,"` + name + `":[`)
	for i, value := range values {
		if i > 0 {
			w.add(",")
		}
		w.quote(value)
	}
	w.add("]")
}

// limits writes what limits the response, and how it is sampled.
func (w *encoder) limits() {
	limit := w.to.Accepts.MaxOutputTokens
	if n := w.turn.MaxTokens; n > 0 && (n < limit || limit == 0) {
		limit = n
	}
	if limit == 0 {
		limit = dialect.DefaultMaxOutputTokens
	}
	w.add(`,"max_tokens":`)
	w.int(limit)
	if w.turn.Stream {
		w.add(`,"stream":true`)
	}
	w.texts("stop_sequences", slices.DeleteFunc(slices.Clone(w.turn.Stop), isBlank))
	if w.thinks() {
		return // the API accepts no other sampling then
	}
	if temperature := w.turn.Temperature; temperature != nil {
		w.add(`,"temperature":`)
		w.out = strconv.AppendFloat(w.out, min(*temperature, 1), 'g', -1, 64) // other dialects allow up to 2
	}
	if topP := w.turn.TopP; topP != nil {
		w.add(`,"top_p":`)
		w.out = strconv.AppendFloat(w.out, *topP, 'g', -1, 64)
	}
	if topK := w.turn.TopK; topK != nil {
		w.add(`,"top_k":`)
		w.int(*topK)
	}
}

// thinks reports whether the model thinks: not if it must call a tool, since the API rejects both together.
func (w *encoder) thinks() bool {
	e := &w.turn.Effort
	forced := w.turn.Choice.Mode == dialect.ChooseAny || w.turn.Choice.Mode == dialect.ChooseOne
	return !forced && (e.Thinking == dialect.ThinkingOn || e.Thinking == dialect.ThinkingBudgeted)
}

func (w *encoder) effort() {
	e := &w.turn.Effort
	switch {
	case e.Thinking == dialect.ThinkingOff:
		w.add(`,"thinking":{"type":"disabled"}`)
	case w.thinks() && e.Thinking == dialect.ThinkingBudgeted:
		w.add(`,"thinking":{"type":"enabled","budget_tokens":`)
		w.int(e.Budget)
		w.add("}")
	case w.thinks():
		w.add(`,"thinking":{"type":"adaptive"}`)
	}
	leveled := e.Level != "" && e.Thinking != dialect.ThinkingOff
	schema := w.turn.Format != nil && w.turn.Format.Schema != nil
	if !leveled && !schema {
		return
	}
	w.add(`,"output_config":{`)
	if leveled {
		w.add(`"effort":`)
		w.quote(w.to.Accepts.Nearest(e.Level))
	}
	if schema {
		if leveled {
			w.add(",")
		}
		w.add(`"format":{"type":"json_schema","schema":`)
		w.out = wire.AppendCompact(w.out, w.turn.Format.Schema)
		w.add("}")
	}
	w.add("}")
}

func (w *encoder) tools() {
	tools := make([]*dialect.Tool, 0, len(w.turn.Tools))
	for i := range w.turn.Tools {
		if tool := &w.turn.Tools[i]; tool.Kind != dialect.SearchTool || w.to.Accepts.WebSearch {
			tools = append(tools, tool)
		}
	}
	if len(tools) == 0 {
		return
	}
	w.add(`,"tools":[`)
	for i, tool := range tools {
		if i > 0 {
			w.add(",")
		}
		w.tool(tool)
		if i == len(tools)-1 {
			w.add(cacheMark)
		}
		w.add("}")
	}
	w.add("]")
	w.toolChoice(tools)
}

// tool writes a tool without its closing brace.
func (w *encoder) tool(tool *dialect.Tool) {
	if tool.Kind == dialect.SearchTool {
		w.add(`{"type":"` + searchVersion + `","name":"` + searchName + `"`)
		w.texts("allowed_domains", tool.Allowed)
		w.texts("blocked_domains", tool.Blocked)
		if tool.MaxUses > 0 {
			w.add(`,"max_uses":`)
			w.int(tool.MaxUses)
		}
		return
	}
	w.add(`{"name":`)
	w.quote(w.names.Of(tool.Name))
	description := tool.Description
	if tool.Kind == dialect.CustomTool && len(tool.Grammar) > 0 {
		description += "\n\nThe input has this grammar:\n" + string(tool.Grammar)
	}
	if description != "" {
		w.text("description", description)
	}
	w.add(`,"input_schema":`)
	if tool.Kind == dialect.CustomTool {
		w.add(customSchema)
		return
	}
	w.out = dialect.AppendSchema(w.out, tool.Schema)
}

func (w *encoder) toolChoice(tools []*dialect.Tool) {
	kind, name := "auto", ""
	switch w.turn.Choice.Mode {
	case dialect.ChooseAny:
		kind = "any"
	case dialect.ChooseNone:
		kind = "none"
	case dialect.ChooseOne:
		for _, tool := range tools {
			if tool.Name != w.turn.Choice.Name {
				continue
			}
			if kind, name = "tool", w.names.Of(tool.Name); tool.Kind == dialect.SearchTool {
				name = searchName
			}
		}
	}
	if kind == "auto" && !w.turn.OneCall {
		return
	}
	w.add(`,"tool_choice":{"type":"` + kind + `"`)
	if name != "" {
		w.text("name", name)
	}
	if w.turn.OneCall && kind != "none" {
		w.add(`,"disable_parallel_tool_use":true`)
	}
	w.add("}")
}

// system writes the system prompt, to which instructions in the middle of the conversation belong in this dialect (INB-1).
func (w *encoder) system() {
	var texts []string
	for _, text := range w.turn.Instructions {
		texts = append(texts, text.Text)
	}
	for i := range w.turn.Messages {
		if m := &w.turn.Messages[i]; m.Role == dialect.System {
			for _, part := range m.Parts {
				if text, ok := part.(dialect.Text); ok {
					texts = append(texts, text.Text)
				}
			}
		}
	}
	texts = slices.DeleteFunc(texts, isBlank)
	if len(texts) == 0 {
		return
	}
	w.add(`,"system":[`)
	for i, text := range texts {
		if i > 0 {
			w.add(",")
		}
		w.add(`{"type":"text"`)
		w.text("text", text)
		if i == len(texts)-1 {
			w.add(cacheMark)
		}
		w.add("}")
	}
	w.add("]")
}

// isBlank reports whether a text has nothing but white space, which the API rejects.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }
