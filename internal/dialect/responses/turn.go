package responses

import (
	"encoding/json"
	"fmt"

	"shunt/internal/dialect"
)

// requestJSON is a request as clients write it. What they may write in more than one form is raw.
type requestJSON struct {
	Model              string          `json:"model"`
	Stream             bool            `json:"stream"`
	Instructions       string          `json:"instructions"`
	Input              json.RawMessage `json:"input"`
	Tools              []toolJSON      `json:"tools"`
	ToolChoice         json.RawMessage `json:"tool_choice"`
	ParallelToolCalls  *bool           `json:"parallel_tool_calls"`
	MaxOutputTokens    int             `json:"max_output_tokens"`
	Temperature        *float64        `json:"temperature"`
	TopP               *float64        `json:"top_p"`
	PromptCacheKey     string          `json:"prompt_cache_key"`
	PreviousResponseID string          `json:"previous_response_id"`
	Conversation       json.RawMessage `json:"conversation"`
	Prompt             json.RawMessage `json:"prompt"`
	Background         bool            `json:"background"`
	Reasoning          *struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
	} `json:"reasoning"`
	Include []string `json:"include"`
	Text    *struct {
		Format *formatJSON `json:"format"`
	} `json:"text"`
}

type formatJSON struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Strict      *bool           `json:"strict"`
}

// itemJSON is any item of the input.
type itemJSON struct {
	Type             string          `json:"type"`
	Role             string          `json:"role"`
	Content          json.RawMessage `json:"content"`
	ID               string          `json:"id"`
	CallID           string          `json:"call_id"`
	Name             string          `json:"name"`
	Namespace        string          `json:"namespace"`
	Arguments        string          `json:"arguments"`
	Input            string          `json:"input"`
	Output           json.RawMessage `json:"output"`
	Summary          []textJSON      `json:"summary"`
	EncryptedContent string          `json:"encrypted_content"`
	Tools            []toolJSON      `json:"tools"`
}

type textJSON struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// partJSON is any part of a message or of a result.
type partJSON struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL string `json:"image_url"`
	Detail   string `json:"detail"`
	FileID   string `json:"file_id"`
	FileData string `json:"file_data"`
	FileURL  string `json:"file_url"`
	Filename string `json:"filename"`
}

// reject returns an error about a member (DIA-5).
func reject(member, format string, args ...any) error {
	return &dialect.RequestError{Message: member + ": " + fmt.Sprintf(format, args...)}
}

// decode reads JSON and names the member that does not have the expected form.
func decode(raw []byte, into any, member string) error {
	err := json.Unmarshal(raw, into)
	if err == nil {
		return nil
	}
	if wrong, ok := err.(*json.UnmarshalTypeError); ok && wrong.Field != "" {
		name := wrong.Field
		if member != "" {
			name = member + "." + name
		}
		return reject(name, "must not be a JSON %s", wrong.Value)
	}
	if member == "" {
		return &dialect.RequestError{Message: "the request body is not well-formed JSON"}
	}
	return reject(member, "does not have the expected form")
}

// ReadTurn implements [dialect.Inbound] (INB-1).
func (Dialect) ReadTurn(body []byte) (*dialect.Turn, error) {
	var r requestJSON
	if err := decode(body, &r, ""); err != nil {
		return nil, err
	}
	switch {
	case r.PreviousResponseID != "":
		return nil, reject("previous_response_id", "shunt stores no responses: send the whole conversation in input")
	case isSet(r.Conversation):
		return nil, reject("conversation", "shunt stores no conversations: send the whole conversation in input")
	case isSet(r.Prompt):
		return nil, reject("prompt", "a stored prompt cannot be used with this model")
	case r.Background:
		return nil, reject("background", "shunt stores no responses: send the request without it")
	}
	t := &dialect.Turn{
		Model: r.Model, Stream: r.Stream, MaxTokens: max(r.MaxOutputTokens, 0), Temperature: r.Temperature, TopP: r.TopP,
		CacheKey: r.PromptCacheKey, OneCall: r.ParallelToolCalls != nil && !*r.ParallelToolCalls,
	}
	if r.Instructions != "" {
		t.Instructions = append(t.Instructions, dialect.Text{Text: r.Instructions})
	}
	t.Tools = appendTools(t.Tools, r.Tools, "")
	if err := readInput(t, r.Input); err != nil {
		return nil, err
	}
	readChoice(t, r.ToolChoice)
	if r.Reasoning != nil {
		t.Effort = dialect.EffortOf(r.Reasoning.Effort)
		t.Effort.Show = t.Effort.On()
	}
	if r.Text != nil && r.Text.Format != nil {
		switch f := r.Text.Format; f.Type {
		case "json_schema":
			t.Format = &dialect.Format{Name: f.Name, Description: f.Description, Schema: f.Schema, Strict: f.Strict != nil && *f.Strict}
		case "json_object":
			t.Format = &dialect.Format{}
		}
	}
	return t, nil
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
