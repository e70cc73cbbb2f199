package sim

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"

	"shunt/internal/sim/engine"
	"shunt/internal/sim/script"
)

// compactAt is the size of the messages in bytes at which a session drops them and starts over, as compacting does.
const compactAt = 400 << 10

// conversation is a session's conversation, which Claude Code sends as a whole with every turn.
type conversation struct {
	session  string
	userID   string
	system   []byte // raw JSON
	tools    []byte
	messages []byte // raw JSON elements, comma-separated
	rng      *rand.Rand
}

// newConversation returns a conversation whose system prompt and tools take about size bytes.
func newConversation(session, accountUUID string, size int, rng *rand.Rand) *conversation {
	c := &conversation{session: session, rng: rng}
	userID := object{"device_id": engine.Hex(rng, 32), "account_uuid": accountUUID, "session_id": session}
	c.userID = string(engine.JSON(userID))
	c.system = engine.JSON([]object{
		{"type": "text", "text": "You are a simulated coding assistant."},
		{"type": "text", "text": c.filler(size / 4), "cache_control": object{"type": "ephemeral"}},
	})
	var tools []object
	const toolSize = 3 << 10
	for i := range max(1, size*3/4/toolSize) {
		tools = append(tools, object{
			"name":        fmt.Sprintf("Tool%d", i),
			"description": c.filler(toolSize),
			"input_schema": object{
				"type": "object", "properties": object{"path": object{"type": "string"}}, "required": []string{"path"},
			},
		})
	}
	c.tools = engine.JSON(tools)
	return c
}

// filler returns about size bytes of text.
func (c *conversation) filler(size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(script.Vocabulary[c.rng.IntN(len(script.Vocabulary))])
		b.WriteByte(' ')
	}
	return b.String()
}

// appendUser appends a user message of about size bytes. It compacts the conversation first if that has grown too long.
func (c *conversation) appendUser(size int) {
	if len(c.messages) > compactAt {
		c.messages = nil
	}
	c.append("user", object{"type": "text", "text": c.filler(size)})
}

// appendAssistant appends the response to the conversation.
func (c *conversation) appendAssistant(r Response) {
	content := []object{}
	if r.Thinking != "" {
		content = append(content, object{"type": "thinking", "thinking": r.Thinking, "signature": r.Signature})
	}
	c.append("assistant", append(content, object{"type": "text", "text": r.Text})...)
}

func (c *conversation) append(role string, content ...object) {
	if len(c.messages) > 0 {
		c.messages = append(c.messages, ',')
	}
	c.messages = append(c.messages, engine.JSON(object{"role": role, "content": content})...)
}

// body returns the body of the next request, with its members in Claude Code's order.
func (c *conversation) body(model string, stream bool) []byte {
	b := make([]byte, 0, len(c.messages)+len(c.system)+len(c.tools)+1024)
	b = fmt.Appendf(b, `{"model":%s,"messages":[%s],"system":%s,"tools":%s,`, engine.JSON(model), c.messages, c.system, c.tools)
	b = fmt.Appendf(b, `"metadata":%s,"max_tokens":32000,"thinking":{"type":"adaptive"},`, engine.JSON(object{"user_id": c.userID}))
	b = append(b, `"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`...)
	if stream {
		b = append(b, `,"stream":true`...)
	}
	return append(b, '}')
}

// headers returns the headers that Claude Code has been observed to send. Only the user agent names the simulator.
func (c *conversation) headers(token string) http.Header {
	return http.Header{
		"Authorization":               {"Bearer " + token},
		"Content-Type":                {"application/json"},
		"Accept":                      {"application/json"},
		"Accept-Encoding":             {"gzip, deflate, br, zstd"},
		"User-Agent":                  {"shunt-sim/1 (simulated coding session)"},
		"X-App":                       {"cli"},
		"Anthropic-Version":           {"2023-06-01"},
		"Anthropic-Beta":              {"claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,prompt-caching-scope-2026-01-05,effort-2025-11-24"},
		sessionHeader:                 {c.session},
		"X-Stainless-Lang":            {"js"},
		"X-Stainless-Package-Version": {"0.70.0"},
		"X-Stainless-Runtime":         {"node"},
		"X-Stainless-Retry-Count":     {"0"},
		"X-Stainless-Timeout":         {"600"},
	}
}
