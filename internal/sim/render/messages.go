package render

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"shunt/internal/sim/engine"
	"shunt/internal/sim/script"
)

// Messages is the dialect of POST /v1/messages.
type Messages struct{}

// Read reads a request (see [Dialect]).
func (Messages) Read(body []byte) (r Request, err error) {
	var m struct {
		Model     string          `json:"model"`
		Messages  json.RawMessage `json:"messages"`
		System    json.RawMessage `json:"system"`
		Tools     json.RawMessage `json:"tools"`
		MaxTokens int64           `json:"max_tokens"`
		Stream    bool            `json:"stream"`
		Thinking  struct {
			Type string `json:"type"`
		} `json:"thinking"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return r, malformed("The request body is not valid JSON: " + err.Error())
	}
	var turns []messagesTurn
	if json.Unmarshal(m.Messages, &turns) != nil || len(turns) == 0 {
		return r, malformed("messages: at least one message is required")
	}
	if m.Model == "" {
		return r, malformed("model: Field required")
	}
	r.Model, r.Stream, r.MaxTokens = m.Model, m.Stream, m.MaxTokens
	r.Reasoning = m.Thinking.Type == "enabled" || m.Thinking.Type == "adaptive"
	r.Digest, r.Tokens = Digest(m.Messages, m.System, m.Tools), tokensOf(m.Messages, m.System, m.Tools)
	for _, turn := range turns {
		switch {
		case turn.Role == "user" && !hasResult(turn):
			r.LastUser = textIn(turn.Content, "text")
		case turn.Role != "system":
			r.LastUser = ""
		}
	}
	var tools []struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"input_schema"`
	}
	_ = json.Unmarshal(m.Tools, &tools) // without tools there is nothing to call
	for _, t := range tools {
		r.Tools = append(r.Tools, script.Tool{Name: t.Name, Schema: t.Schema})
	}
	if err := checkNames(r.Tools, messagesName); err != nil {
		return r, err
	}
	return r, checkMessages(turns)
}

func hasResult(turn messagesTurn) bool {
	var blocks []messagesBlock
	_ = json.Unmarshal(turn.Content, &blocks) // a string has no blocks
	return slices.ContainsFunc(blocks, func(b messagesBlock) bool { return b.Type == "tool_result" })
}

func (r Reply) messagesStop() string {
	switch {
	case r.Stop == script.AtMaximum:
		return "max_tokens"
	case r.Stop == script.AtFiltered, r.Refusal != "":
		return "refusal"
	case len(r.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (u Usage) messages() engine.Object {
	return engine.Object{
		"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheCreation, "cache_read_input_tokens": u.CacheRead,
		"output_tokens": u.Output,
	}
}

func (r Reply) message(content []engine.Object, stop any, usage Usage) engine.Object {
	return engine.Object{
		"id": "msg_" + r.ID, "type": "message", "role": "assistant", "model": r.Model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": usage.messages(),
	}
}

// Body returns the response (see [Dialect]).
func (Messages) Body(r Reply) any {
	content := []engine.Object{}
	if r.Reasoning != "" {
		content = append(content, engine.Object{"type": "thinking", "thinking": r.Reasoning, "signature": r.Seal})
	}
	for _, text := range []string{r.Text, r.Refusal} {
		if text != "" {
			content = append(content, engine.Object{"type": "text", "text": text})
		}
	}
	for i, c := range r.Calls {
		content = append(content, engine.Object{
			"type": "tool_use", "id": r.callID("toolu_", i), "name": c.Name, "input": object(c),
		})
	}
	return r.message(content, r.messagesStop(), r.Usage)
}

// messagesStream builds the events of a stream of Messages.
type messagesStream struct {
	Reply
	events []engine.Event
	blocks int
}

func (s *messagesStream) add(name string, data engine.Object) {
	data["type"] = name
	s.events = append(s.events, engine.Named(name, data))
}

// block adds a content block with the text in deltas of the kind.
func (s *messagesStream) block(start engine.Object, kind, field, text, signature string) {
	index := s.blocks
	s.blocks++
	delta := func(kind, field, value string) engine.Event {
		return engine.Named("content_block_delta", engine.Object{
			"type": "content_block_delta", "index": index, "delta": engine.Object{"type": kind, field: value},
		})
	}
	s.add("content_block_start", engine.Object{"index": index, "content_block": start})
	if index == 0 {
		s.events = append(s.events, engine.Event{Raw: []byte("event: ping\ndata: {\"type\": \"ping\"}\n\n")})
	}
	s.events = append(s.events, s.deltas(text, func(piece string) engine.Event { return delta(kind, field, piece) })...)
	if signature != "" {
		s.events = append(s.events, delta("signature_delta", "signature", signature))
	}
	s.add("content_block_stop", engine.Object{"index": index})
}

// Events returns the response as a stream (see [Dialect]).
func (d Messages) Events(r Reply) []engine.Event {
	s := &messagesStream{Reply: r}
	if r.Failure != script.NoFailure && r.When == script.First {
		_, body := d.Failure(r.Failure)
		return []engine.Event{engine.Named("error", body)}
	}
	start := r.Usage
	start.Output = 1
	s.add("message_start", engine.Object{"message": r.message([]engine.Object{}, nil, start)})
	if r.Reasoning != "" {
		s.block(engine.Object{"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", r.Reasoning, r.Seal)
	}
	for _, text := range []string{r.Text, r.Refusal} {
		if text != "" {
			s.block(engine.Object{"type": "text", "text": ""}, "text_delta", "text", text, "")
		}
	}
	for i, c := range r.Calls {
		text := input(c)
		if c.Input == "" {
			text = "" // an empty input has no delta
		}
		s.block(engine.Object{"type": "tool_use", "id": r.callID("toolu_", i), "name": c.Name, "input": engine.Object{}}, "input_json_delta", "partial_json", text, "")
	}
	switch {
	case r.Failure != script.NoFailure:
		_, body := d.Failure(r.Failure)
		s.events = append(s.events, engine.Named("error", body))
	case !r.Cut:
		s.add("message_delta", engine.Object{
			"delta": engine.Object{"stop_reason": r.messagesStop(), "stop_sequence": nil}, "usage": r.Usage.messages(),
		})
		s.add("message_stop", engine.Object{})
	}
	return s.events
}

// Failure returns an error response (see [Dialect]).
func (d Messages) Failure(f script.Failure) (status int, body any) {
	status, kind, message := d.Error(f)
	return status, d.Refusal(status, kind, message)
}

// Error returns the status, the type and the message of a failure.
func (Messages) Error(f script.Failure) (status int, kind, message string) {
	switch f {
	case script.TooLong:
		return http.StatusBadRequest, "invalid_request_error", fmt.Sprintf("prompt is too long: %d tokens > %d maximum", script.TooLongTokens, script.TooLongMaximum)
	case script.Overloaded:
		return statusOverloaded, "overloaded_error", "Overloaded"
	case script.RateLimited:
		return http.StatusTooManyRequests, "rate_limit_error", rateLimitText
	case script.Invalid:
		return http.StatusBadRequest, "invalid_request_error", invalidText
	}
	return http.StatusInternalServerError, "api_error", "Internal server error"
}

// Refusal returns the body of an error response (see [Dialect]); the code is its type.
func (Messages) Refusal(_ int, code, message string) any {
	return engine.Object{"type": "error", "error": engine.Object{"type": code, "message": message}}
}
