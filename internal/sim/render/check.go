package render

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"shunt/internal/sim/script"
)

// What the real APIs reject and a translator gets wrong most easily: calls without results, results without calls, and names.

var (
	openAIName   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	messagesName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)
	geminiName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$`)
)

// checkNames returns an error for the first tool whose name does not match.
func checkNames(tools []script.Tool, name *regexp.Regexp) error {
	for i, t := range tools {
		if !name.MatchString(t.Name) {
			return malformed(fmt.Sprintf("Invalid 'tools[%d].name': %q does not match the pattern %s", i, t.Name, name))
		}
	}
	return nil
}

type messagesTurn struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type messagesBlock struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	ID        string `json:"id"`
	ToolUseID string `json:"tool_use_id"`
}

// checkMessages returns an error unless every call has its result in the next turn, and every result its call in the one before.
func checkMessages(turns []messagesTurn) error {
	var open []string // calls of the turn before
	for i, turn := range turns {
		var blocks []messagesBlock
		_ = json.Unmarshal(turn.Content, &blocks) // a string has no blocks
		var calls, results []string
		for j, b := range blocks {
			switch {
			case b.Type == "text" && b.Text == "":
				return malformed(fmt.Sprintf("messages.%d.content.%d: text content blocks must be non-empty", i, j))
			case b.Type == "tool_use" && !messagesName.MatchString(b.ID):
				return malformed(fmt.Sprintf("messages.%d.content.%d.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", i, j))
			case b.Type == "tool_use":
				calls = append(calls, b.ID)
			case b.Type == "tool_result" && !slices.Contains(open, b.ToolUseID):
				return malformed(fmt.Sprintf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", i, j, b.ToolUseID))
			case b.Type == "tool_result":
				results = append(results, b.ToolUseID)
			}
		}
		if missing := without(open, results); len(missing) > 0 {
			return unanswered(i-1, missing)
		}
		open = calls
	}
	if len(open) > 0 {
		return unanswered(len(turns)-1, open)
	}
	return nil
}

func unanswered(turn int, calls []string) error {
	return malformed(fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", turn, strings.Join(calls, ", ")))
}

// without returns the elements that are not in the other list.
func without(list, other []string) (rest []string) {
	for _, s := range list {
		if !slices.Contains(other, s) {
			rest = append(rest, s)
		}
	}
	return rest
}

type responsesItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Encrypted string          `json:"encrypted_content"`
	Tools     json.RawMessage `json:"tools"`
}

// itemPrefixes begin the ids of items, by type.
var itemPrefixes = map[string]string{"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}

// checkItems returns an error unless every call has its output and every output its call before it.
func checkItems(items []responsesItem) error {
	var calls, outputs []string
	for i, item := range items {
		if prefix := itemPrefixes[item.Type]; item.ID != "" && !strings.HasPrefix(item.ID, prefix) {
			return malformed(fmt.Sprintf("Invalid 'input[%d].id': '%s'. Expected an ID that begins with '%s'.", i, item.ID, prefix))
		}
		if len(item.CallID) > 64 {
			return malformed(fmt.Sprintf("Invalid 'input[%d].call_id': string too long. Expected a string with maximum length 64.", i))
		}
		switch item.Type {
		case "function_call", "custom_tool_call":
			calls = append(calls, item.CallID)
		case "function_call_output", "custom_tool_call_output":
			if !slices.Contains(calls, item.CallID) {
				return malformed(fmt.Sprintf("No tool call found for function call output with call_id %s.", item.CallID))
			}
			outputs = append(outputs, item.CallID)
		}
	}
	if missing := without(calls, outputs); len(missing) > 0 {
		return malformed(fmt.Sprintf("No tool output found for function call %s.", missing[0]))
	}
	return nil
}

type chatTurn struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []struct {
		ID string `json:"id"`
	} `json:"tool_calls"`
	CallID string `json:"tool_call_id"`
}

// checkChat returns an error unless the results of an assistant's calls follow them directly.
func checkChat(turns []chatTurn) error {
	var open []string
	for i, turn := range turns {
		if turn.Role == "tool" {
			at := slices.Index(open, turn.CallID)
			if at < 0 {
				return malformed(fmt.Sprintf("Invalid parameter: messages[%d] with role 'tool' must be a response to a preceding message with 'tool_calls'.", i))
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			break
		}
		for _, c := range turn.Calls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return malformed("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': " + strings.Join(open, ", "))
	}
	return nil
}

// checkContents returns an error unless the roles alternate and each call is followed by a result of the same name.
func checkContents(contents []geminiContent) error {
	var open []string
	for i, c := range contents {
		if i > 0 && (c.Role == "model") == (contents[i-1].Role == "model") {
			return malformed("Please ensure that multiturn requests alternate between user and model.")
		}
		var results, calls []string
		for _, p := range c.Parts {
			if p.Call != nil {
				calls = append(calls, p.Call.Name)
			}
			if p.Response != nil {
				results = append(results, p.Response.Name)
			}
		}
		if !slices.Equal(open, results) {
			return malformed("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		}
		open = calls
	}
	if len(open) > 0 {
		return malformed("Please ensure that function call turn is followed by a function response turn.")
	}
	return nil
}

// unknownSchema are the members of JSON schema that Gemini does not know.
var unknownSchema = []string{
	"$schema", "$ref", "$defs", "additionalProperties", "propertyNames", "patternProperties", "const", "exclusiveMinimum", "exclusiveMaximum",
}

// checkSchema returns an error for the first member that Gemini does not know. Names of properties are not members.
func checkSchema(schema json.RawMessage) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) != nil {
		return nil
	}
	for _, name := range unknownSchema {
		if _, there := members[name]; there {
			return malformed(fmt.Sprintf("Invalid JSON payload received. Unknown name %q at 'tools.function_declarations.parameters': Cannot find field.", name))
		}
	}
	var nested struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Items      json.RawMessage            `json:"items"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
	}
	_ = json.Unmarshal(schema, &nested) // what is not nested is not checked
	children := append(nested.AnyOf, nested.Items)
	for _, p := range nested.Properties {
		children = append(children, p)
	}
	for _, child := range children {
		if err := checkSchema(child); err != nil {
			return err
		}
	}
	return nil
}
