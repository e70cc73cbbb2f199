package chat

import (
	"shunt/internal/dialect"
)

// customSchema is the schema of a custom tool, which most vendors do not have: one string.
const customSchema = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`

// tools writes the tools that the upstream can use, and what the model may do with them. Vendors do not search by themselves in
// this dialect.
func (e *encoder) tools() {
	written := 0
	for i := range e.turn.Tools {
		tool := &e.turn.Tools[i]
		if tool.Kind == dialect.SearchTool {
			continue
		}
		if written++; written == 1 {
			e.b = append(e.b, `,"tools":[`...)
		} else {
			e.b = append(e.b, ',')
		}
		e.tool(tool)
	}
	if written == 0 {
		return
	}
	e.b = append(e.b, ']')
	e.choice()
	if e.turn.OneCall {
		e.b = append(e.b, `,"parallel_tool_calls":false`...)
	}
}

func (e *encoder) tool(t *dialect.Tool) {
	e.b = append(e.b, `{"type":"function","function":{"name":"`...)
	e.b = append(e.b, e.names.Of(t.Name)...)
	e.b = append(e.b, '"')
	description := t.Description
	if t.Kind == dialect.CustomTool && len(t.Grammar) > 0 {
		description += "\n\nThe input has this grammar:\n" + string(t.Grammar)
	}
	if description != "" {
		e.member("description", description)
	}
	e.b = append(e.b, `,"parameters":`...)
	if t.Kind == dialect.CustomTool {
		e.b = append(e.b, customSchema...)
	} else {
		e.b = dialect.AppendSchema(e.b, t.Schema)
	}
	if t.Strict {
		e.b = append(e.b, `,"strict":true`...)
	}
	e.b = append(e.b, "}}"...)
}

// choice writes which tools the model may use, unless it may use any. A tool that the upstream does not get cannot be chosen.
func (e *encoder) choice() {
	switch c := e.turn.Choice; c.Mode {
	case dialect.ChooseAny:
		e.b = append(e.b, `,"tool_choice":"required"`...)
	case dialect.ChooseNone:
		e.b = append(e.b, `,"tool_choice":"none"`...)
	case dialect.ChooseOne:
		for i := range e.turn.Tools {
			if tool := &e.turn.Tools[i]; tool.Name == c.Name && tool.Kind != dialect.SearchTool {
				e.b = append(e.b, `,"tool_choice":{"type":"function","function":{"name":"`...)
				e.b = append(e.b, e.names.Of(c.Name)...)
				e.b = append(e.b, `"}}`...)
				return
			}
		}
	}
}
