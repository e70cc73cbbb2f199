package chat

import (
	"encoding/json"
	"errors"
	"fmt"

	"shunt/internal/dialect"
)

// requestJSON is a request as clients write it. What they may write in more than one form is raw.
type requestJSON struct {
	Model               string            `json:"model"`
	Messages            []json.RawMessage `json:"messages"`
	Stream              bool              `json:"stream"`
	StreamOptions       *streamJSON       `json:"stream_options"`
	Tools               []json.RawMessage `json:"tools"`
	ToolChoice          json.RawMessage   `json:"tool_choice"`
	ParallelToolCalls   *bool             `json:"parallel_tool_calls"`
	WebSearchOptions    json.RawMessage   `json:"web_search_options"`
	MaxTokens           *int              `json:"max_tokens"`
	MaxCompletionTokens *int              `json:"max_completion_tokens"`
	Temperature         *float64          `json:"temperature"`
	TopP                *float64          `json:"top_p"`
	Stop                json.RawMessage   `json:"stop"`
	ReasoningEffort     string            `json:"reasoning_effort"`
	ResponseFormat      *formatJSON       `json:"response_format"`
	PromptCacheKey      string            `json:"prompt_cache_key"`

	// What cannot be translated.
	N            *int            `json:"n"`
	Logprobs     bool            `json:"logprobs"`
	TopLogprobs  int             `json:"top_logprobs"`
	Modalities   []string        `json:"modalities"`
	Audio        json.RawMessage `json:"audio"`
	Functions    json.RawMessage `json:"functions"`
	FunctionCall json.RawMessage `json:"function_call"`
}

type streamJSON struct {
	IncludeUsage bool `json:"include_usage"`
}

type formatJSON struct {
	Type   string `json:"type"`
	Schema *struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"schema"`
		Strict      bool            `json:"strict"`
	} `json:"json_schema"`
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
	wrong, isType := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case isType && wrong.Field != "":
		name := wrong.Field
		if member != "" {
			name = member + "." + name
		}
		return reject(name, "must not be a JSON %s", wrong.Value)
	case member != "":
		return reject(member, "does not have the expected form")
	case isType:
		return dialect.ErrBodyNotObject
	}
	return dialect.ErrBodyMalformed
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// ReadTurn implements [dialect.Inbound] (INB-3).
func (Dialect) ReadTurn(body []byte) (*dialect.Turn, error) {
	var r requestJSON
	if err := decode(body, &r, ""); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	t := &dialect.Turn{
		Model: r.Model, Stream: r.Stream, Temperature: r.Temperature, TopP: r.TopP, CacheKey: r.PromptCacheKey,
		OneCall:     r.ParallelToolCalls != nil && !*r.ParallelToolCalls,
		StreamUsage: r.StreamOptions != nil && r.StreamOptions.IncludeUsage,
		Effort:      dialect.EffortOf(r.ReasoningEffort),
	}
	t.Effort.Show = t.Effort.On()
	for _, limit := range [...]*int{r.MaxTokens, r.MaxCompletionTokens} { // the second one is the newer name
		if limit != nil {
			t.MaxTokens = *limit
		}
	}
	var err error
	if t.Stop, err = readStop(r.Stop); err != nil {
		return nil, err
	}
	if t.Format, err = readFormat(r.ResponseFormat); err != nil {
		return nil, err
	}
	if t.Tools, err = readTools(r.Tools); err != nil {
		return nil, err
	}
	if isSet(r.WebSearchOptions) {
		t.Tools = append(t.Tools, dialect.Tool{Kind: dialect.SearchTool, Name: dialect.ToolName{Name: "web_search"}})
	}
	if t.Choice, err = readChoice(r.ToolChoice); err != nil {
		return nil, err
	}
	if err := readMessages(t, r.Messages); err != nil {
		return nil, err
	}
	return t, nil
}

// check rejects what cannot be translated, and limits that make no sense.
func (r *requestJSON) check() error {
	switch {
	case r.Model == "":
		return dialect.ErrModelMissing
	case r.Messages == nil:
		return reject("messages", "this field is required")
	case r.N != nil && *r.N != 1:
		return reject("n", "only one choice can be requested of this model")
	case r.Logprobs:
		return reject("logprobs", "this model's provider does not return them")
	case r.TopLogprobs != 0:
		return reject("top_logprobs", "this model's provider does not return them")
	case isSet(r.Functions):
		return reject("functions", "this deprecated field cannot be sent to this model's provider: use tools")
	case isSet(r.FunctionCall):
		return reject("function_call", "this deprecated field cannot be sent to this model's provider: use tool_choice")
	case isSet(r.Audio):
		return reject("audio", "this model's provider does not return audio")
	}
	for i, modality := range r.Modalities {
		if modality != "text" {
			return reject(fmt.Sprintf("modalities[%d]", i), "this model's provider returns text only")
		}
	}
	for _, limit := range [...]struct {
		name  string
		value *int
	}{{"max_tokens", r.MaxTokens}, {"max_completion_tokens", r.MaxCompletionTokens}} {
		if limit.value != nil && *limit.value < 1 {
			return reject(limit.name, "must be at least 1")
		}
	}
	return nil
}

// readStop reads a sequence or a list of them.
func readStop(raw json.RawMessage) (stops []string, err error) {
	if !isSet(raw) {
		return nil, nil
	}
	if raw[0] == '"' {
		stops = make([]string, 1)
		return stops, decode(raw, &stops[0], "stop")
	}
	if err := decode(raw, &stops, "stop"); err != nil || len(stops) == 0 {
		return nil, err
	}
	return stops, nil
}

func readFormat(f *formatJSON) (*dialect.Format, error) {
	if f == nil {
		return nil, nil
	}
	switch f.Type {
	case "text":
		return nil, nil
	case "json_object":
		return &dialect.Format{}, nil
	case "json_schema":
		if f.Schema == nil {
			return nil, reject("response_format.json_schema", "this field is required")
		}
		if len(f.Schema.Schema) == 0 || f.Schema.Schema[0] != '{' {
			return nil, reject("response_format.json_schema.schema", "must be an object")
		}
		return &dialect.Format{Name: f.Schema.Name, Description: f.Schema.Description, Schema: f.Schema.Schema, Strict: f.Schema.Strict}, nil
	}
	return nil, reject("response_format.type", "must be text, json_object or json_schema")
}
