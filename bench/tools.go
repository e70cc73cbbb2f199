package main

// tool is one of a request's tools.
type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema schema `json:"input_schema"`
}

// schema is a JSON schema, with its members in the usual order.
type schema struct {
	Draft       string            `json:"$schema,omitempty"`
	Type        string            `json:"type"`
	Description string            `json:"description,omitempty"`
	Enum        []string          `json:"enum,omitempty"`
	Items       *schema           `json:"items,omitempty"`
	Properties  map[string]schema `json:"properties,omitempty"`
	Required    []string          `json:"required,omitempty"`
	Additional  *bool             `json:"additionalProperties,omitempty"`
}

var toolNames = [toolCount]string{
	"Read", "Write", "Edit", "MultiEdit", "Shell", "ShellOutput", "KillShell", "Find", "Search", "List", "Fetch",
	"WebSearch", "Delegate", "Plan", "Tasks", "Notebook", "Ask", "Skill", "browser__navigate", "issues__create_comment",
}

var propertyNames = []string{
	"path", "pattern", "command", "description", "timeout", "offset", "limit", "content", "old_string", "new_string",
	"replace_all", "glob", "output_mode", "query", "url", "prompt", "background",
}

// tools returns as many tools as fit into size bytes, up to toolCount; a small request has one.
func (w *writer) tools(size int) []tool {
	n := min(max(size/2_500, 1), toolCount)
	tools := make([]tool, n)
	for i := range tools {
		t := tool{Name: toolNames[i], InputSchema: w.object(3, 1)}
		if size > 2_000 {
			t.InputSchema = w.object(3+w.IntN(3), 1+i%4/3)
		}
		t.InputSchema.Draft = "http://json-schema.org/draft-07/schema#"
		t.Description = w.prose(size/n*9/10 - len(encode(t)))
		tools[i] = t
	}
	return tools
}

// object returns the schema of an object with n properties, the last of which nest to the given depth.
func (w *writer) object(n, depth int) schema {
	closed := false
	s := schema{Type: "object", Properties: map[string]schema{}, Additional: &closed}
	first := w.IntN(len(propertyNames))
	for i := range n {
		name := propertyNames[(first+i)%len(propertyNames)]
		s.Properties[name] = w.property(i, n-1-i, depth)
		if i < 2 {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

// property returns the schema of the property with the given number, before as many others.
func (w *writer) property(number, following, depth int) schema {
	about := w.prose(60)
	switch {
	case following == 0 && depth > 1:
		items := w.object(3, depth-1)
		return schema{Type: "array", Description: about, Items: &items}
	case following == 1 && depth > 1:
		s := w.object(2, depth-1)
		s.Description = about
		return s
	case number == 2:
		return schema{Type: "string", Description: about, Enum: []string{"content", "files_with_matches", "count"}}
	case number == 3:
		return schema{Type: "boolean", Description: about}
	case number == 4:
		return schema{Type: "number", Description: about}
	}
	return schema{Type: "string", Description: about}
}
