package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// block is one content block of a message.
type block struct {
	Type    string `json:"type"`
	Text    string `json:"text,omitempty"`
	ID      string `json:"id,omitempty"`
	Name    string `json:"name,omitempty"`
	Input   any    `json:"input,omitempty"`
	ToolUse string `json:"tool_use_id,omitempty"`
	Content string `json:"content,omitempty"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema any    `json:"input_schema"`
}

// request has its members in the order in which Claude Code writes them; what routing needs stands at both ends.
type request struct {
	Model     string            `json:"model"`
	Messages  []message         `json:"messages"`
	System    []block           `json:"system"`
	Tools     []tool            `json:"tools"`
	Metadata  map[string]string `json:"metadata"`
	MaxTokens int               `json:"max_tokens"`
	Stream    bool              `json:"stream"`
}

// requestBody returns a body of size bytes in the shape of a coding session's turn: a system prompt, tools with their
// schemas, and a conversation that grows until the size is reached. The same size gives the same bytes.
func requestBody(size int) []byte {
	text := prose{rand.New(rand.NewPCG(1, 2))}
	r := request{
		Model:     "claude-sonnet-4-5",
		System:    []block{{Type: "text", Text: text.lines(min(27_000, size/5))}},
		Metadata:  map[string]string{"user_id": `{"device_id":"6f1ed002ab5595859014ebf0951522d9","account_uuid":"11111111-1111-4111-8111-111111111111","session_id":"0b0e9f9c-54a5-4bb5-8c85-6cf2a3b2f7d5"}`},
		MaxTokens: 32_000,
		Stream:    true,
	}
	for budget := min(80_000, size*2/3); budget > 0; budget -= 4_000 {
		r.Tools = append(r.Tools, tool{
			Name:        fmt.Sprintf("Tool%d", len(r.Tools)),
			Description: text.lines(min(3_000, budget/2)),
			InputSchema: map[string]any{
				"type":       "object",
				"properties": map[string]any{"path": map[string]string{"type": "string", "description": text.lines(80)}},
				"required":   []string{"path"},
			},
		})
	}
	r.Messages = []message{{"user", []block{{Type: "text", Text: ""}}}}
	for missing := size - len(encode(r)); missing > 12_000; missing = size - len(encode(r)) {
		id := fmt.Sprintf("toolu_%024d", len(r.Messages))
		r.Messages = append(r.Messages,
			message{"assistant", []block{{Type: "text", Text: text.lines(300)}, {Type: "tool_use", ID: id, Name: "Tool0", Input: map[string]string{"path": "/src/main.go"}}}},
			message{"user", []block{{Type: "tool_result", ToolUse: id, Content: text.lines(min(40_000, missing/2))}}})
	}
	// Letters need no escape, so the rest fits exactly; "text" itself appears with its first letter.
	rest := size - len(encode(r))
	if rest > len(`,"text":""`) {
		r.Messages[0].Content[0].Text = strings.Repeat("x", rest-len(`,"text":""`))
	}
	return encode(r)
}

func encode(r request) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		panic(err) // strings and numbers always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// prose writes text that escapes about as often as source code in a JSON string does.
type prose struct{ *rand.Rand }

func (p prose) lines(size int) string {
	words := [...]string{"return", "fmt.Errorf(\"read %s: %w\", name, err)", "if err != nil {", "\t", "the", "conversation", "which governs", "of a request", "session", "account", "window", "// keep the newest reading", "}", "é", "<result>", "cooldown"}
	var b strings.Builder
	for b.Len() < size {
		for range 4 + p.IntN(8) {
			b.WriteString(words[p.IntN(len(words))])
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
	return b.String()
}
