package responses

import (
	"encoding/json"
	"fmt"
	"strings"

	"shunt/internal/dialect"
)

// conversation collects the parts of items as messages, which are not in normal form yet.
type conversation struct{ messages []dialect.Message }

func (c *conversation) add(role dialect.Role, part dialect.Part) {
	if text, ok := part.(dialect.Text); !ok || text.Text != "" {
		c.messages = append(c.messages, dialect.Message{Role: role, Parts: []dialect.Part{part}})
	}
}

// readInput reads a text or a list of items.
func readInput(t *dialect.Turn, raw json.RawMessage) error {
	var c conversation
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if err := decode(raw, &text, "input"); err != nil {
			return err
		}
		c.add(dialect.User, dialect.Text{Text: text})
		t.Messages = dialect.Normalize(c.messages)
		return nil
	}
	var items []json.RawMessage
	if isSet(raw) {
		if err := decode(raw, &items, "input"); err != nil {
			return err
		}
	}
	begun := false // a message of the user or the assistant has come: what follows is in the middle of the conversation
	for i, raw := range items {
		member := fmt.Sprintf("input[%d]", i)
		var item itemJSON
		if err := decode(raw, &item, member); err != nil {
			return err
		}
		if err := readItem(t, &c, &item, member, &begun); err != nil {
			return err
		}
	}
	t.Messages = dialect.Normalize(c.messages)
	return nil
}

func readItem(t *dialect.Turn, c *conversation, item *itemJSON, member string, begun *bool) error {
	name := dialect.ToolName{Namespace: item.Namespace, Name: item.Name}
	switch item.Type {
	case "", "message":
		return readMessage(t, c, item, member, begun)
	case "function_call":
		c.add(dialect.Assistant, &dialect.ToolCall{ID: item.CallID, Name: name, Arguments: orEmptyObject(item.Arguments)})
	case "custom_tool_call":
		c.add(dialect.Assistant, &dialect.ToolCall{ID: item.CallID, Name: name, Arguments: item.Input, Custom: true})
	case "function_call_output", "custom_tool_call_output":
		parts, err := readContent(item.Output, member+".output")
		if err != nil {
			return err
		}
		c.add(dialect.User, &dialect.ToolResult{CallID: item.CallID, Parts: parts, Custom: item.Type != "function_call_output"})
	case "reasoning":
		// What does not bear shunt's envelope is of no use to another provider (INB-1).
		if r, ok := dialect.Open(item.EncryptedContent); ok {
			texts := make([]string, len(item.Summary))
			for i, s := range item.Summary {
				texts[i] = s.Text
			}
			r.Text = strings.Join(texts, "\n\n")
			c.add(dialect.Assistant, r)
		}
	case "additional_tools":
		t.Tools = appendTools(t.Tools, item.Tools, "")
	case "web_search_call": // its findings are in the text that follows
	case "item_reference":
		return reject(member, "shunt stores no items: send the item itself")
	default:
		return reject(member+".type", "an item of this type cannot be sent to this model's provider")
	}
	*begun = true
	return nil
}

func orEmptyObject(arguments string) string {
	if strings.TrimSpace(arguments) == "" {
		return "{}"
	}
	return arguments
}

func readMessage(t *dialect.Turn, c *conversation, item *itemJSON, member string, begun *bool) error {
	parts, err := readContent(item.Content, member+".content")
	if err != nil {
		return err
	}
	role := dialect.User
	switch item.Role {
	case "assistant":
		role = dialect.Assistant
	case "system", "developer":
		role = dialect.System
	case "user":
	default:
		return reject(member+".role", "must be user, assistant, system or developer")
	}
	for _, part := range parts {
		text, isText := part.(dialect.Text)
		switch {
		case role == dialect.System && !isText:
			return reject(member+".content", "instructions consist of text only")
		case role == dialect.System && !*begun:
			if text.Text != "" {
				t.Instructions = append(t.Instructions, text)
			}
		default:
			c.add(role, part)
		}
	}
	*begun = *begun || role != dialect.System
	return nil
}

// readContent reads a text or a list of parts.
func readContent(raw json.RawMessage, member string) ([]dialect.Part, error) {
	if !isSet(raw) {
		return nil, nil
	}
	if raw[0] == '"' {
		var text string
		if err := decode(raw, &text, member); err != nil {
			return nil, err
		}
		return []dialect.Part{dialect.Text{Text: text}}, nil
	}
	var list []partJSON
	if err := decode(raw, &list, member); err != nil {
		return nil, err
	}
	parts := make([]dialect.Part, 0, len(list))
	for i := range list {
		part, err := readPart(&list[i], fmt.Sprintf("%s[%d]", member, i))
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func readPart(p *partJSON, member string) (dialect.Part, error) {
	switch p.Type {
	case "input_text", "output_text", "text", "summary_text":
		return dialect.Text{Text: p.Text}, nil
	case "refusal":
		return dialect.Text{Text: p.Refusal, Refusal: true}, nil
	case "input_image":
		if p.ImageURL == "" {
			return nil, reject(member, "an image by file id cannot be sent to this model's provider: send its data or its URL")
		}
		image := &dialect.Image{URL: p.ImageURL, Detail: p.Detail, Member: member}
		if mediaType, data, ok := dialect.ParseDataURI(p.ImageURL); ok {
			image.MediaType, image.Data, image.URL = mediaType, data, ""
		}
		return image, nil
	case "input_file":
		file := &dialect.File{Name: p.Filename, URL: p.FileURL, Member: member}
		if p.FileData != "" {
			mediaType, data, ok := dialect.ParseDataURI(p.FileData)
			if !ok {
				mediaType, data = "application/pdf", p.FileData
			}
			file.MediaType, file.Data = mediaType, data
		} else if p.FileURL == "" {
			return nil, reject(member, "a file by id cannot be sent to this model's provider: send its data or its URL")
		}
		return file, nil
	}
	return nil, reject(member+".type", "a part of this type cannot be sent to this model's provider")
}
