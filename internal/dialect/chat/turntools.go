package chat

import (
	"encoding/json"
	"fmt"

	"shunt/internal/dialect"
)

// toolJSON is any tool.
type toolJSON struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"`
	} `json:"function"`
	Custom struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Format      json.RawMessage `json:"format"`
	} `json:"custom"`
}

// readTools reads the tools that other providers can offer. Tools that are built into a vendor's API are left out.
func readTools(list []json.RawMessage) ([]dialect.Tool, error) {
	var tools []dialect.Tool
	for i, raw := range list {
		member := fmt.Sprintf("tools[%d]", i)
		var t toolJSON
		if err := decode(raw, &t, member); err != nil {
			return nil, err
		}
		var tool dialect.Tool
		switch t.Type {
		case "function":
			tool.Name.Name, tool.Description, tool.Strict = t.Function.Name, t.Function.Description, t.Function.Strict
			if isSet(t.Function.Parameters) {
				if t.Function.Parameters[0] != '{' {
					return nil, reject(member+".function.parameters", "must be an object")
				}
				tool.Schema = t.Function.Parameters
			}
		case "custom":
			tool.Kind, tool.Name.Name, tool.Description = dialect.CustomTool, t.Custom.Name, t.Custom.Description
			if isSet(t.Custom.Format) {
				tool.Grammar = t.Custom.Format
			}
		case "":
			return nil, reject(member+".type", "this field is required")
		default:
			continue
		}
		if tool.Name.Name == "" {
			return nil, reject(member+"."+t.Type+".name", "this field is required")
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// choiceJSON is a choice that is not a word.
type choiceJSON struct {
	Type     string `json:"type"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
	Custom struct {
		Name string `json:"name"`
	} `json:"custom"`
	AllowedTools struct {
		Mode string `json:"mode"`
	} `json:"allowed_tools"`
}

func readChoice(raw json.RawMessage) (c dialect.ToolChoice, err error) {
	const member = "tool_choice"
	if !isSet(raw) {
		return c, nil
	}
	var mode string
	var one choiceJSON
	if raw[0] == '"' {
		err = decode(raw, &mode, member)
	} else {
		err = decode(raw, &one, member)
	}
	if err != nil {
		return c, err
	}
	if one.Type == "allowed_tools" {
		mode = one.AllowedTools.Mode
	}
	switch mode {
	case "auto":
		return c, nil
	case "none":
		return dialect.ToolChoice{Mode: dialect.ChooseNone}, nil
	case "required":
		return dialect.ToolChoice{Mode: dialect.ChooseAny}, nil
	}
	name := ""
	switch one.Type {
	case "function":
		name = one.Function.Name
	case "custom":
		name = one.Custom.Name
	default:
		return c, reject(member, "must be none, auto, required, or a tool")
	}
	if name == "" {
		return c, reject(member+"."+one.Type+".name", "this field is required")
	}
	return dialect.ToolChoice{Mode: dialect.ChooseOne, Name: dialect.ToolName{Name: name}}, nil
}
