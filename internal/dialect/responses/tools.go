package responses

import (
	"strconv"

	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// tools writes the tools that the upstream can use, and what the model may do with them.
func (e *encoder) tools() {
	start := len(e.b)
	e.b = append(e.b, `,"tools":[`...)
	written := 0
	for i := range e.turn.Tools {
		tool := &e.turn.Tools[i]
		if tool.Kind == dialect.SearchTool && !e.to.Accepts.WebSearch {
			continue
		}
		if written++; written > 1 {
			e.b = append(e.b, ',')
		}
		e.tool(tool)
	}
	if written == 0 {
		e.b = e.b[:start]
		return
	}
	e.b = append(e.b, ']')
	e.choice()
	if e.turn.OneCall {
		e.b = append(e.b, `,"parallel_tool_calls":false`...)
	}
}

func (e *encoder) tool(t *dialect.Tool) {
	switch t.Kind {
	case dialect.Function:
		e.b = append(e.b, `{"type":"function"`...)
		e.described(t)
		e.b = append(e.b, `,"parameters":`...)
		e.b = dialect.AppendSchema(e.b, t.Schema)
		e.b = append(e.b, `,"strict":`...)
		e.b = strconv.AppendBool(e.b, t.Strict)
	case dialect.CustomTool:
		e.b = append(e.b, `{"type":"custom"`...)
		e.described(t)
		if t.Grammar != nil {
			e.b = append(e.b, `,"format":`...)
			e.b = append(e.b, t.Grammar...)
		}
	case dialect.SearchTool:
		e.b = append(e.b, `{"type":"web_search"`...)
		if len(t.Allowed)+len(t.Blocked) > 0 {
			e.b = append(e.b, `,"filters":{`...)
			e.domains("allowed_domains", t.Allowed)
			if len(t.Allowed) > 0 && len(t.Blocked) > 0 {
				e.b = append(e.b, ',')
			}
			e.domains("blocked_domains", t.Blocked)
			e.b = append(e.b, '}')
		}
	}
	e.b = append(e.b, '}')
}

func (e *encoder) described(t *dialect.Tool) {
	e.member("name", e.names.Of(t.Name))
	if t.Description != "" {
		e.member("description", t.Description)
	}
}

func (e *encoder) domains(name string, domains []string) {
	if len(domains) == 0 {
		return
	}
	e.b = append(e.b, `"`+name+`":[`...)
	for i, domain := range domains {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.b = wire.AppendQuoted(e.b, domain)
	}
	e.b = append(e.b, ']')
}

func (e *encoder) choice() {
	e.b = append(e.b, `,"tool_choice":`...)
	switch c := e.turn.Choice; c.Mode {
	case dialect.ChooseAuto:
		e.b = append(e.b, `"auto"`...)
	case dialect.ChooseAny:
		e.b = append(e.b, `"required"`...)
	case dialect.ChooseNone:
		e.b = append(e.b, `"none"`...)
	case dialect.ChooseOne:
		e.one(c.Name)
	}
}

// one writes the choice of one tool. A search that the upstream does not offer cannot be chosen.
func (e *encoder) one(name dialect.ToolName) {
	kind := "function"
	for i := range e.turn.Tools {
		tool := &e.turn.Tools[i]
		switch {
		case tool.Name != name:
			continue
		case tool.Kind == dialect.SearchTool && !e.to.Accepts.WebSearch:
			e.b = append(e.b, `"auto"`...)
			return
		case tool.Kind == dialect.SearchTool:
			e.b = append(e.b, `{"type":"web_search"}`...)
			return
		case tool.Kind == dialect.CustomTool:
			kind = "custom"
		}
		break
	}
	e.b = append(e.b, `{"type":"`+kind+`"`...)
	e.member("name", e.names.Of(name))
	e.b = append(e.b, '}')
}
