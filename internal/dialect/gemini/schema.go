package gemini

import (
	"encoding/json"
	"slices"
	"strings"
)

// unknownKeywords are those of JSON Schema that the API rejects (GEM-1).
var unknownKeywords = []string{
	"$schema", "$id", "$comment", "$defs", "definitions", "additionalProperties", "propertyNames", "patternProperties", "const", "exclusiveMinimum",
	"exclusiveMaximum", "unevaluatedProperties", "dependentRequired", "if", "then", "else", "not",
}

// Limits on the references in a schema that are replaced: a schema that refers to itself would have no end.
const (
	mostNested = 8     // references in references
	mostValues = 5_000 // in the result
)

// plainSchema returns a schema without what the API does not know, and with the schemas in it that others refer to.
func plainSchema(schema json.RawMessage) json.RawMessage {
	var whole any
	if json.Unmarshal(schema, &whole) != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	s := simplifier{left: mostValues}
	s.root, _ = whole.(map[string]any)
	text, err := json.Marshal(s.simplified(whole, 0, false))
	if err != nil {
		panic(err) // it was read from JSON
	}
	return text
}

type simplifier struct {
	root map[string]any
	left int // values that the result may still get
}

// simplified returns a schema or, if it is named, a table of schemas by the names of properties. Depth counts the references around
// it.
func (s *simplifier) simplified(v any, depth int, named bool) any {
	if s.left--; s.left < 0 && depth > 0 {
		return map[string]any{}
	}
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = s.simplified(item, depth, false)
		}
		return list
	case map[string]any:
		if target, ok := v["$ref"].(string); ok && !named {
			if depth >= mostNested {
				return map[string]any{}
			}
			return s.simplified(resolve(s.root, target), depth+1, false)
		}
		plain := make(map[string]any, len(v))
		for name, value := range v {
			if named || !slices.Contains(unknownKeywords, name) {
				plain[name] = s.simplified(value, depth, !named && name == "properties")
			}
		}
		if value, ok := v["const"].(string); ok && !named && v["enum"] == nil {
			plain["enum"] = []any{value}
		}
		return plain
	}
	return v
}

// resolve returns what a reference within a schema names, such as "#/$defs/a".
func resolve(root map[string]any, reference string) any {
	var at any = root
	for name := range strings.SplitSeq(strings.TrimPrefix(reference, "#/"), "/") {
		object, ok := at.(map[string]any)
		if !ok {
			return map[string]any{}
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	if at == nil {
		return map[string]any{}
	}
	return at
}

// isEmptyObject reports whether a schema is of an object without properties, which the API rejects.
func isEmptyObject(schema json.RawMessage) bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return len(schema) == 0 || json.Unmarshal(schema, &s) == nil && len(s.Properties) == 0
}
