package render

import (
	"encoding/json"
	"slices"

	"shunt/internal/sim/engine"
	"shunt/internal/sim/script"
)

// Responses is the dialect of POST /v1/responses.
type Responses struct{}

// Read reads a request (see [Dialect]).
func (Responses) Read(body []byte) (r Request, err error) {
	var m struct {
		Model        string          `json:"model"`
		Input        json.RawMessage `json:"input"`
		Instructions json.RawMessage `json:"instructions"`
		Tools        json.RawMessage `json:"tools"`
		MaxTokens    int64           `json:"max_output_tokens"`
		Stream       bool            `json:"stream"`
		Include      []string        `json:"include"`
		Reasoning    *struct {
			Effort string `json:"effort"`
		} `json:"reasoning"`
	}
	if json.Unmarshal(body, &m) != nil {
		return r, malformed("We could not parse the JSON body of your request.")
	}
	if m.Model == "" {
		return r, malformed("Missing required parameter: 'model'.")
	}
	var text string
	var items []responsesItem
	if json.Unmarshal(m.Input, &text) != nil && json.Unmarshal(m.Input, &items) != nil {
		return r, malformed("Invalid type for 'input'.")
	}
	r.Model, r.Stream, r.MaxTokens = m.Model, m.Stream, m.MaxTokens
	r.Reasoning = m.Reasoning != nil && m.Reasoning.Effort != "none"
	r.WantsSeals = slices.Contains(m.Include, "reasoning.encrypted_content")
	r.Digest, r.Tokens = Digest(m.Input, m.Instructions, m.Tools), tokensOf(m.Input, m.Instructions, m.Tools)
	r.LastUser = text
	r.Tools = responsesTools(m.Tools, "")
	for _, item := range items {
		switch {
		case item.Type == "reasoning":
			if item.Encrypted != "" {
				r.Seals = append(r.Seals, item.Encrypted)
			}
		case item.Type == "additional_tools":
			r.Tools = append(r.Tools, responsesTools(item.Tools, "")...)
		case item.Role == "user":
			r.LastUser = textIn(item.Content, "input_text")
		case item.Role != "developer" && item.Role != "system":
			r.LastUser = ""
		}
	}
	if err := checkNames(r.Tools, openAIName); err != nil {
		return r, err
	}
	return r, checkItems(items)
}

// responsesTools returns the tools that a client offers in the namespace.
func responsesTools(raw json.RawMessage, namespace string) (tools []script.Tool) {
	var list []struct {
		Type       string          `json:"type"`
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
		Tools      json.RawMessage `json:"tools"` // of a namespace
	}
	_ = json.Unmarshal(raw, &list) // without tools there is nothing to call
	for _, t := range list {
		switch t.Type {
		case "namespace":
			tools = append(tools, responsesTools(t.Tools, t.Name)...)
		case "function", "custom":
			tools = append(tools, script.Tool{Namespace: namespace, Name: t.Name, Custom: t.Type == "custom", Schema: t.Parameters})
		}
	}
	return tools
}

func (u Usage) responses() engine.Object {
	return engine.Object{
		"input_tokens": u.Prompt(), "input_tokens_details": engine.Object{"cached_tokens": u.CacheRead},
		"output_tokens": u.Output, "output_tokens_details": engine.Object{"reasoning_tokens": u.Reasoning},
		"total_tokens": u.Prompt() + u.Output,
	}
}

// response returns the response object with the status and the output.
func (r Reply) response(status string, output []engine.Object) engine.Object {
	o := engine.Object{
		"id": "resp_" + r.ID, "object": "response", "created_at": r.Created, "status": status, "model": r.Model,
		"output": output, "error": nil, "incomplete_details": nil, "usage": nil, "parallel_tool_calls": true, "store": false,
		"tool_choice": "auto", "tools": []any{}, "metadata": engine.Object{},
	}
	switch status {
	case "incomplete":
		reason := "max_output_tokens"
		if r.Stop == script.AtFiltered {
			reason = "content_filter"
		}
		o["incomplete_details"] = engine.Object{"reason": reason}
		o["usage"] = r.Usage.responses()
	case "completed":
		o["usage"] = r.Usage.responses()
	case "failed":
		_, _, code, message := openAIFailure(r.Failure)
		o["error"] = engine.Object{"code": code, "message": message}
	}
	return o
}

// item is an output item in its final form, with what is needed to stream it.
type item struct {
	done  engine.Object
	parts []part // of a message
	input string // of a call
}

type part struct {
	kind string // output_text or refusal
	text string
}

func (p part) object(text string) engine.Object {
	if p.kind == "refusal" {
		return engine.Object{"type": p.kind, "refusal": text}
	}
	return engine.Object{"type": p.kind, "text": text, "annotations": []any{}, "logprobs": []any{}}
}

// items returns the output of the reply.
func (r Reply) items() (list []item) {
	if r.Reasoning != "" {
		done := engine.Object{
			"type": "reasoning", "id": "rs_" + r.ID, "summary": []engine.Object{{"type": "summary_text", "text": r.Reasoning}},
		}
		if r.WantsSeals && r.Seal != "" {
			done["encrypted_content"] = r.Seal
		}
		list = append(list, item{done: done})
	}
	var parts []part
	if r.Text != "" {
		parts = append(parts, part{"output_text", r.Text})
	}
	if r.Refusal != "" {
		parts = append(parts, part{"refusal", r.Refusal})
	}
	if parts != nil {
		var content []engine.Object
		for _, p := range parts {
			content = append(content, p.object(p.text))
		}
		list = append(list, item{parts: parts, done: engine.Object{
			"type": "message", "id": "msg_" + r.ID, "status": r.itemStatus(), "role": "assistant", "content": content,
		}})
	}
	for i, c := range r.Calls {
		call := engine.Object{"call_id": r.callID("call_", i), "name": c.Name, "status": r.itemStatus()}
		if c.Namespace != "" {
			call["namespace"] = c.Namespace
		}
		if c.Custom {
			call["type"], call["id"], call["input"] = "custom_tool_call", r.itemID("ctc_", i), c.Input
			list = append(list, item{done: call, input: c.Input})
		} else {
			call["type"], call["id"], call["arguments"] = "function_call", r.itemID("fc_", i), input(c)
			list = append(list, item{done: call, input: input(c)})
		}
	}
	return list
}

func (r Reply) itemID(prefix string, index int) string {
	return prefix + r.ID + string(rune('a'+index%26))
}

func (r Reply) itemStatus() string {
	if r.Stop != script.Done {
		return "incomplete"
	}
	return "completed"
}

// Body returns the response (see [Dialect]).
func (Responses) Body(r Reply) any {
	output := []engine.Object{}
	for _, i := range r.items() {
		output = append(output, i.done)
	}
	return r.response(r.itemStatus(), output)
}

// Failure returns an error response (see [Dialect]).
func (Responses) Failure(f script.Failure) (status int, body any) { return openAIError(f) }

// Refusal returns the body of an error response (see [Dialect]).
func (Responses) Refusal(_ int, code, message string) any {
	return openAIRefusal("invalid_request_error", code, message)
}
