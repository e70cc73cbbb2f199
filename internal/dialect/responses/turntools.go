package responses

import (
	"encoding/json"
	"strings"

	"shunt/internal/dialect"
)

// search is the name of the provider's web search in a turn.
var search = dialect.ToolName{Name: "web_search"}

// toolJSON is any tool.
type toolJSON struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
	Format      json.RawMessage `json:"format"`
	Tools       []toolJSON      `json:"tools"` // of a namespace
	Filters     *struct {
		Allowed []string `json:"allowed_domains"`
		Blocked []string `json:"blocked_domains"`
	} `json:"filters"`
}

// appendTools appends the tools that other providers can offer, those of a namespace under its name. Tools that are built into the
// API are left out (INB-1).
func appendTools(dst []dialect.Tool, tools []toolJSON, namespace string) []dialect.Tool {
	for i := range tools {
		t := &tools[i]
		tool := dialect.Tool{Name: dialect.ToolName{Namespace: namespace, Name: t.Name}, Description: t.Description, Strict: t.Strict}
		switch t.Type {
		case "function":
			if isSet(t.Parameters) && t.Parameters[0] == '{' {
				tool.Schema = t.Parameters
			}
		case "custom":
			tool.Kind = dialect.CustomTool
			if isSet(t.Format) {
				tool.Grammar = t.Format
			}
		case "namespace":
			dst = appendTools(dst, t.Tools, t.Name)
			continue
		case "web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11":
			tool = dialect.Tool{Kind: dialect.SearchTool, Name: search}
			if t.Filters != nil {
				tool.Allowed, tool.Blocked = t.Filters.Allowed, t.Filters.Blocked
			}
		default:
			continue
		}
		dst = appendTool(dst, tool)
	}
	return dst
}

// appendTool appends a tool, or replaces one of its name: an item of the input may define a tool again.
func appendTool(dst []dialect.Tool, tool dialect.Tool) []dialect.Tool {
	for i := range dst {
		if dst[i].Name == tool.Name {
			dst[i] = tool
			return dst
		}
	}
	return append(dst, tool)
}

// readChoice reads tool_choice. A form that shunt does not know leaves the choice to the model.
func readChoice(t *dialect.Turn, raw json.RawMessage) {
	var mode string
	if json.Unmarshal(raw, &mode) == nil {
		switch mode {
		case "required":
			t.Choice.Mode = dialect.ChooseAny
		case "none":
			t.Choice.Mode = dialect.ChooseNone
		}
		return
	}
	var one struct {
		Type      string `json:"type"`
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		Mode      string `json:"mode"` // of allowed_tools
	}
	if json.Unmarshal(raw, &one) != nil {
		return
	}
	switch {
	case (one.Type == "function" || one.Type == "custom") && one.Name != "":
		t.Choice = dialect.ToolChoice{Mode: dialect.ChooseOne, Name: dialect.ToolName{Namespace: one.Namespace, Name: one.Name}}
	case strings.HasPrefix(one.Type, search.Name):
		t.Choice = dialect.ToolChoice{Mode: dialect.ChooseOne, Name: search}
	case one.Type == "allowed_tools" && one.Mode == "required":
		t.Choice.Mode = dialect.ChooseAny
	}
}
