package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// request has its members in the order in which Claude Code writes them: what routing needs is at both ends.
type request struct {
	Model     string    `json:"model"`
	Messages  []message `json:"messages"`
	System    []block   `json:"system"`
	Tools     []tool    `json:"tools"`
	Metadata  metadata  `json:"metadata"`
	MaxTokens int       `json:"max_tokens"`
	Stream    bool      `json:"stream,omitempty"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is one content block of a message or of the system prompt.
type block struct {
	Type      string            `json:"type"`
	Text      string            `json:"text,omitempty"`
	Thinking  string            `json:"thinking,omitempty"`
	Signature string            `json:"signature,omitempty"`
	ID        string            `json:"id,omitempty"`
	Name      string            `json:"name,omitempty"`
	Input     map[string]string `json:"input,omitempty"`
	ToolUse   string            `json:"tool_use_id,omitempty"`
	Content   string            `json:"content,omitempty"`
	Cache     *cache            `json:"cache_control,omitempty"`
}

type cache struct {
	Type string `json:"type"`
}

type metadata struct {
	UserID string `json:"user_id"`
}

// The identities in a body are those of a client whose account is not in any gateway's pool.
const (
	clientAccount = "11111111-1111-4111-8111-111111111111"
	someSession   = "0b0e9f9c-54a5-4bb5-8c85-6cf2a3b2f7d5"
)

// Sizes in bytes of what precedes the conversation. The first turn of Claude Code 2.1.197 was observed to have
// 116.5 kB: 28 of system prompt, 81 of 24 tools, 7 of messages, with 2 180 quotes in all, of which 438 are escaped. How many
// there are determines what a scan of the body costs.
const (
	systemSize = 28_000
	toolsSize  = 80_000
	firstTurn  = 115_000
	toolCount  = 20
)

// systemShare and toolsShare return their sizes in a body of some size. A small body is mostly envelope.
func systemShare(size int) int {
	if size < firstTurn {
		return size / 8
	}
	return systemSize
}

func toolsShare(size int) int {
	if size < firstTurn {
		return size / 2
	}
	return toolsSize
}

// requestBody returns a body of exactly size bytes in the shape of a coding session's turn: a system prompt, tools with
// their schemas, and a conversation that grows until the size is reached. The same arguments give the same bytes.
func requestBody(size int, stream bool) []byte {
	w := newWriter()
	r := request{
		Model: "claude-sonnet-4-5",
		System: []block{
			{Type: "text", Text: "You help a person with software, from the command line."},
			{Type: "text", Text: w.prose(systemShare(size)), Cache: &cache{"ephemeral"}},
		},
		Tools:     w.tools(toolsShare(size)),
		Metadata:  metadata{fmt.Sprintf(`{"device_id":"6f1ed002ab5595859014ebf0951522d9","account_uuid":%q,"session_id":%q}`, clientAccount, someSession)},
		MaxTokens: 32_000,
		Stream:    stream,
	}
	r.Messages = []message{{"user", []block{{Type: "text", Text: "x"}}}}
	missing := size - len(encode(r))
	for missing > 8_000 {
		turn := w.turn(len(r.Messages), missing/2)
		r.Messages = append(r.Messages, turn...)
		for _, m := range turn {
			missing -= len(encode(m)) + len(",")
		}
	}
	r.Messages[0].Content[0].Text += w.plain(missing)
	return encode(r)
}

// turn is one use of a tool, with a result of at most limit bytes before it is encoded.
func (w *writer) turn(number, limit int) []message {
	id := fmt.Sprintf("toolu_%024d", number)
	uses := [...]block{
		{Name: "Read", Input: map[string]string{"path": w.path()}},
		{Name: "Shell", Input: map[string]string{"command": `grep -rn "func (p \*Pool)" internal | head -20`, "description": w.prose(40)}},
		{Name: "Edit", Input: map[string]string{"path": w.path(), "old_string": w.code(400), "new_string": w.code(500)}},
	}
	use := uses[w.IntN(len(uses))]
	use.Type, use.ID = "tool_use", id
	return []message{
		{"assistant", []block{
			{Type: "thinking", Thinking: w.prose(300), Signature: w.base64(400)},
			{Type: "text", Text: w.prose(200)},
			use,
		}},
		{"user", []block{{Type: "tool_result", ToolUse: id, Content: w.code(min(500+w.IntN(7_500), limit))}}},
	}
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // requests always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
