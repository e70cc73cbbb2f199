package chat

import (
	"encoding/json"
	"fmt"
	"strings"

	"shunt/internal/dialect"
)

// messageJSON is any message.
type messageJSON struct {
	Role             string          `json:"role"`
	Content          json.RawMessage `json:"content"`
	Refusal          string          `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ToolCalls        []callJSON      `json:"tool_calls"`
	ToolCallID       string          `json:"tool_call_id"`
	FunctionCall     json.RawMessage `json:"function_call"`
	Audio            json.RawMessage `json:"audio"`
}

// callJSON is any call.
type callJSON struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
	Custom struct {
		Name  string `json:"name"`
		Input string `json:"input"`
	} `json:"custom"`
}

// partJSON is any part of a message.
type partJSON struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL struct {
		URL    string `json:"url"`
		Detail string `json:"detail"`
	} `json:"image_url"`
	File struct {
		ID   string `json:"file_id"`
		Data string `json:"file_data"`
		Name string `json:"filename"`
	} `json:"file"`
}

// conversation collects the parts of messages, which are not in normal form yet.
type conversation struct {
	turn     *dialect.Turn
	messages []dialect.Message
	begun    bool // a message of the user or the assistant has come: what follows is in the middle of the conversation
}

func (c *conversation) add(role dialect.Role, part dialect.Part) {
	if text, ok := part.(dialect.Text); !ok || text.Text != "" {
		c.messages = append(c.messages, dialect.Message{Role: role, Parts: []dialect.Part{part}})
	}
}

func readMessages(t *dialect.Turn, list []json.RawMessage) error {
	c := conversation{turn: t}
	for i, raw := range list {
		member := fmt.Sprintf("messages[%d]", i)
		var m messageJSON
		if err := decode(raw, &m, member); err != nil {
			return err
		}
		if err := c.message(&m, member); err != nil {
			return err
		}
	}
	t.Messages = dialect.Normalize(c.messages)
	return nil
}

func (c *conversation) message(m *messageJSON, member string) error {
	parts, err := readContent(m.Content, member+".content")
	if err != nil {
		return err
	}
	switch m.Role {
	case "system", "developer":
		return c.instructions(parts, member)
	case "user":
		if !isSet(m.Content) {
			return reject(member+".content", "this field is required")
		}
		for _, part := range parts {
			c.add(dialect.User, part)
		}
	case "assistant":
		if err := c.assistant(m, parts, member); err != nil {
			return err
		}
	case "tool":
		if m.ToolCallID == "" {
			return reject(member+".tool_call_id", "this field is required")
		}
		c.add(dialect.User, &dialect.ToolResult{CallID: m.ToolCallID, Parts: parts})
	case "function":
		return reject(member+".role", "the deprecated role function cannot be sent to this model's provider: use tool")
	default:
		return reject(member+".role", "must be system, developer, user, assistant or tool")
	}
	c.begun = true
	return nil
}

func (c *conversation) instructions(parts []dialect.Part, member string) error {
	for _, part := range parts {
		text, ok := part.(dialect.Text)
		switch {
		case !ok:
			return reject(member+".content", "instructions consist of text only")
		case c.begun:
			c.add(dialect.System, text)
		case text.Text != "":
			c.turn.Instructions = append(c.turn.Instructions, text)
		}
	}
	return nil
}

func (c *conversation) assistant(m *messageJSON, parts []dialect.Part, member string) error {
	switch {
	case isSet(m.FunctionCall):
		return reject(member+".function_call", "this deprecated field cannot be sent to this model's provider: use tool_calls")
	case isSet(m.Audio):
		return reject(member+".audio", "audio by id cannot be sent to this model's provider")
	}
	if text := firstText(m.ReasoningContent, m.Reasoning); text != "" {
		c.add(dialect.Assistant, &dialect.Reasoning{Text: text})
	}
	for _, part := range parts {
		if _, ok := part.(dialect.Text); !ok {
			return reject(member+".content", "a message of the assistant consists of text only")
		}
		c.add(dialect.Assistant, part)
	}
	c.add(dialect.Assistant, dialect.Text{Text: m.Refusal, Refusal: true})
	for i := range m.ToolCalls {
		call, err := readCall(&m.ToolCalls[i], fmt.Sprintf("%s.tool_calls[%d]", member, i))
		if err != nil {
			return err
		}
		c.add(dialect.Assistant, call)
	}
	return nil
}

// firstText returns the first of some values that is a text with something in it.
func firstText(values ...json.RawMessage) string {
	for _, raw := range values {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

func readCall(call *callJSON, member string) (*dialect.ToolCall, error) {
	c := &dialect.ToolCall{ID: call.ID, Name: dialect.ToolName{Name: call.Function.Name}, Arguments: call.Function.Arguments}
	kind := "function"
	switch call.Type {
	case "function", "": // some clients leave it out
		if strings.TrimSpace(c.Arguments) == "" {
			c.Arguments = "{}"
		}
	case "custom":
		kind, c.Custom, c.Name.Name, c.Arguments = "custom", true, call.Custom.Name, call.Custom.Input
	default:
		return nil, reject(member+".type", "must be function or custom")
	}
	switch {
	case c.ID == "":
		return nil, reject(member+".id", "this field is required")
	case c.Name.Name == "":
		return nil, reject(member+"."+kind+".name", "this field is required")
	}
	return c, nil
}

// readContent reads a text, a list of parts, or nothing.
func readContent(raw json.RawMessage, member string) ([]dialect.Part, error) {
	if !isSet(raw) {
		return nil, nil
	}
	switch raw[0] {
	case '"':
		var text string
		if err := decode(raw, &text, member); err != nil || text == "" {
			return nil, err
		}
		return []dialect.Part{dialect.Text{Text: text}}, nil
	case '[':
	default:
		return nil, reject(member, "must be a string or an array")
	}
	var list []json.RawMessage
	if err := decode(raw, &list, member); err != nil {
		return nil, err
	}
	parts := make([]dialect.Part, 0, len(list))
	for i, raw := range list {
		member := fmt.Sprintf("%s[%d]", member, i)
		var p partJSON
		if err := decode(raw, &p, member); err != nil {
			return nil, err
		}
		part, err := readPart(&p, member)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func readPart(p *partJSON, member string) (dialect.Part, error) {
	switch p.Type {
	case "text":
		return dialect.Text{Text: p.Text}, nil
	case "refusal":
		return dialect.Text{Text: p.Refusal, Refusal: true}, nil
	case "image_url":
		return readImage(p, member)
	case "file":
		return readFile(p, member)
	}
	return nil, reject(member+".type", "a part of this type cannot be sent to this model's provider")
}

func readImage(p *partJSON, member string) (dialect.Part, error) {
	image := &dialect.Image{URL: p.ImageURL.URL, Detail: p.ImageURL.Detail, Member: member}
	switch {
	case image.URL == "":
		return nil, reject(member+".image_url.url", "this field is required")
	case strings.HasPrefix(image.URL, "data:"):
		mediaType, data, ok := dialect.ParseDataURI(image.URL)
		if !ok {
			return nil, reject(member+".image_url.url", "is not a data URI in base64")
		}
		image.MediaType, image.Data, image.URL = mediaType, data, ""
	}
	return image, nil
}

func readFile(p *partJSON, member string) (dialect.Part, error) {
	switch {
	case p.File.Data == "" && p.File.ID != "":
		return nil, reject(member+".file.file_id", "a file by id cannot be sent to this model's provider: send its data")
	case p.File.Data == "":
		return nil, reject(member+".file.file_data", "this field is required")
	}
	file := &dialect.File{Name: p.File.Name, MediaType: "application/pdf", Data: p.File.Data, Member: member}
	if strings.HasPrefix(file.Data, "data:") {
		mediaType, data, ok := dialect.ParseDataURI(file.Data)
		if !ok {
			return nil, reject(member+".file.file_data", "is not a data URI in base64")
		}
		file.MediaType, file.Data = mediaType, data
	}
	return file, nil
}
