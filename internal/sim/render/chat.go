package render

import (
	"encoding/json"

	"shunt/internal/sim/engine"
	"shunt/internal/sim/script"
)

// Chat is the dialect of POST /v1/chat/completions.
type Chat struct{}

// Read reads a request (see [Dialect]).
func (Chat) Read(body []byte) (r Request, err error) {
	var m struct {
		Model               string          `json:"model"`
		Messages            json.RawMessage `json:"messages"`
		Tools               json.RawMessage `json:"tools"`
		MaxTokens           int64           `json:"max_tokens"`
		MaxCompletionTokens int64           `json:"max_completion_tokens"`
		Stream              bool            `json:"stream"`
		StreamOptions       struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Effort string `json:"reasoning_effort"`
	}
	if json.Unmarshal(body, &m) != nil {
		return r, malformed("We could not parse the JSON body of your request.")
	}
	var turns []chatTurn
	if json.Unmarshal(m.Messages, &turns) != nil || len(turns) == 0 {
		return r, malformed("Invalid 'messages': empty array.")
	}
	if m.Model == "" {
		return r, malformed("you must provide a model parameter")
	}
	r.Model, r.Stream, r.WantsUsage, r.MaxTokens = m.Model, m.Stream, m.StreamOptions.IncludeUsage, max(m.MaxTokens, m.MaxCompletionTokens)
	r.Reasoning = m.Effort != "" && m.Effort != "none"
	r.Digest, r.Tokens = Digest(m.Messages, m.Tools), tokensOf(m.Messages, m.Tools)
	for _, turn := range turns {
		switch turn.Role {
		case "user":
			r.LastUser = textIn(turn.Content, "text")
		case "assistant", "tool":
			r.LastUser = ""
		}
	}
	var tools []struct {
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	_ = json.Unmarshal(m.Tools, &tools) // without tools there is nothing to call
	for _, t := range tools {
		r.Tools = append(r.Tools, script.Tool{Name: t.Function.Name, Schema: t.Function.Parameters})
	}
	if err := checkNames(r.Tools, openAIName); err != nil {
		return r, err
	}
	return r, checkChat(turns)
}

func (r Reply) finishReason() string {
	switch {
	case r.Stop == script.AtMaximum:
		return "length"
	case r.Stop == script.AtFiltered:
		return "content_filter"
	case len(r.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func (u Usage) chat() engine.Object {
	return engine.Object{
		"prompt_tokens": u.Prompt(), "prompt_tokens_details": engine.Object{"cached_tokens": u.CacheRead},
		"completion_tokens": u.Output, "completion_tokens_details": engine.Object{"reasoning_tokens": u.Reasoning},
		"total_tokens": u.Prompt() + u.Output,
	}
}

func (r Reply) chatCall(index int, arguments string) engine.Object {
	return engine.Object{
		"id": r.callID("call_", index), "type": "function",
		"function": engine.Object{"name": r.Calls[index].Name, "arguments": arguments},
	}
}

// Body returns the response (see [Dialect]).
func (Chat) Body(r Reply) any {
	message := engine.Object{"role": "assistant", "content": nil, "refusal": nil}
	if r.Text != "" {
		message["content"] = r.Text
	}
	if r.Refusal != "" {
		message["refusal"] = r.Refusal
	}
	if r.Reasoning != "" {
		message["reasoning_content"] = r.Reasoning
	}
	var calls []engine.Object
	for i, c := range r.Calls {
		calls = append(calls, r.chatCall(i, input(c)))
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	return engine.Object{
		"id": "chatcmpl-" + r.ID, "object": "chat.completion", "created": r.Created, "model": r.Model,
		"choices": []engine.Object{{"index": 0, "message": message, "finish_reason": r.finishReason(), "logprobs": nil}},
		"usage":   r.Usage.chat(),
	}
}

func (r Reply) chunk(delta engine.Object, finish any) engine.Event {
	return r.chunkOf([]engine.Object{{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": nil}}, nil)
}

func (r Reply) chunkOf(choices []engine.Object, usage any) engine.Event {
	chunk := engine.Object{
		"id": "chatcmpl-" + r.ID, "object": "chat.completion.chunk", "created": r.Created, "model": r.Model, "choices": choices,
	}
	if r.WantsUsage {
		chunk["usage"] = usage
	}
	return engine.Data(chunk)
}

// Events returns the response as a stream (see [Dialect]).
func (d Chat) Events(r Reply) (events []engine.Event) {
	_, failure := d.Failure(r.Failure)
	if r.Failure != script.NoFailure && r.When == script.First {
		return []engine.Event{engine.Data(failure)}
	}
	events = append(events, r.chunk(engine.Object{"role": "assistant", "content": ""}, nil))
	for _, p := range []struct{ member, text string }{{"reasoning_content", r.Reasoning}, {"content", r.Text}, {"refusal", r.Refusal}} {
		events = append(events, r.deltas(p.text, func(piece string) engine.Event {
			return r.chunk(engine.Object{p.member: piece}, nil)
		})...)
	}
	events = append(events, r.chatCalls()...)
	switch {
	case r.Failure != script.NoFailure:
		return append(events, engine.Data(failure))
	case r.Cut:
		return events
	}
	events = append(events, r.chunk(engine.Object{}, r.finishReason()))
	if r.WantsUsage {
		events = append(events, r.chunkOf([]engine.Object{}, r.Usage.chat()))
	}
	return append(events, engine.Event{Raw: []byte("data: [DONE]\n\n")})
}

// chatCalls returns the deltas of the calls, one call after the other or in turns.
func (r Reply) chatCalls() (events []engine.Event) {
	var calls [][]engine.Event
	for i, c := range r.Calls {
		first := with(r.chatCall(i, ""), engine.Object{"index": i})
		call := []engine.Event{r.chunk(engine.Object{"tool_calls": []engine.Object{first}}, nil)}
		calls = append(calls, append(call, r.deltas(input(c), func(piece string) engine.Event {
			return r.chunk(engine.Object{"tool_calls": []engine.Object{{"index": i, "function": engine.Object{"arguments": piece}}}}, nil)
		})...))
	}
	return merge(calls, r.Interleaved)
}

// merge returns the elements of the lists, one list after the other or in turns.
func merge[T any](lists [][]T, inTurns bool) (all []T) {
	if !inTurns {
		for _, list := range lists {
			all = append(all, list...)
		}
		return all
	}
	for i, left := 0, true; left; i++ {
		left = false
		for _, list := range lists {
			if i < len(list) {
				all, left = append(all, list[i]), true
			}
		}
	}
	return all
}

// Failure returns an error response (see [Dialect]).
func (Chat) Failure(f script.Failure) (status int, body any) { return openAIError(f) }

// Refusal returns the body of an error response (see [Dialect]).
func (Chat) Refusal(_ int, code, message string) any {
	return openAIRefusal("invalid_request_error", code, message)
}
