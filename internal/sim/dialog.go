package sim

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
)

// maxDialog is the size in bytes at which a session compacts its conversation: it begins anew.
const maxDialog = 400 << 10

// dialog is a session's side of the conversation, as Claude Code sends it: all of it, with every turn.
type dialog struct {
	session string
	userID  string
	system  []byte // raw JSON
	tools   []byte
	said    []byte // raw JSON elements of messages, comma-separated
	rng     *rand.Rand
}

// newDialog makes a conversation whose system prompt and tools are about size bytes long.
func newDialog(session, accountUUID string, size int, rng *rand.Rand) *dialog {
	d := &dialog{session: session, rng: rng}
	userID := object{"device_id": randomHex(rng, 32), "account_uuid": accountUUID, "session_id": session}
	d.userID = string(mustJSON(userID))
	d.system = mustJSON([]object{
		{"type": "text", "text": "You are a simulated coding assistant."},
		{"type": "text", "text": d.filler(size / 4), "cache_control": object{"type": "ephemeral"}},
	})
	var tools []object
	const toolSize = 3 << 10
	for i := range max(1, size*3/4/toolSize) {
		tools = append(tools, object{
			"name":        fmt.Sprintf("Tool%d", i),
			"description": d.filler(toolSize),
			"input_schema": object{
				"type": "object", "properties": object{"path": object{"type": "string"}}, "required": []string{"path"},
			},
		})
	}
	d.tools = mustJSON(tools)
	return d
}

// filler is text of about size bytes.
func (d *dialog) filler(size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(vocabulary[d.rng.IntN(len(vocabulary))])
		b.WriteByte(' ')
	}
	return b.String()
}

// say adds a message of the user of about size bytes. It compacts when the conversation has grown too long.
func (d *dialog) say(size int) {
	if len(d.said) > maxDialog {
		d.said = nil
	}
	d.add("user", object{"type": "text", "text": d.filler(size)})
}

// hear adds the answer to the conversation.
func (d *dialog) hear(a Answer) {
	content := []object{}
	if a.Thinking != "" {
		content = append(content, object{"type": "thinking", "thinking": a.Thinking, "signature": a.Signature})
	}
	d.add("assistant", append(content, object{"type": "text", "text": a.Text})...)
}

func (d *dialog) add(role string, content ...object) {
	if len(d.said) > 0 {
		d.said = append(d.said, ',')
	}
	d.said = append(d.said, mustJSON(object{"role": role, "content": content})...)
}

// body is the request body of the next turn, its members in the order of Claude Code's.
func (d *dialog) body(model string, stream bool) []byte {
	b := make([]byte, 0, len(d.said)+len(d.system)+len(d.tools)+1024)
	b = fmt.Appendf(b, `{"model":%s,"messages":[%s],"system":%s,"tools":%s,`, mustJSON(model), d.said, d.system, d.tools)
	b = fmt.Appendf(b, `"metadata":%s,"max_tokens":32000,"thinking":{"type":"adaptive"},`, mustJSON(object{"user_id": d.userID}))
	b = append(b, `"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`...)
	if stream {
		b = append(b, `,"stream":true`...)
	}
	return append(b, '}')
}

// headers are those that Claude Code was seen to send. The user agent says that this is not it.
func (d *dialog) headers(token string) http.Header {
	return http.Header{
		"Authorization":               {"Bearer " + token},
		"Content-Type":                {"application/json"},
		"Accept":                      {"application/json"},
		"Accept-Encoding":             {"gzip, deflate, br, zstd"},
		"User-Agent":                  {"shunt-sim/1 (simulated coding session)"},
		"X-App":                       {"cli"},
		"Anthropic-Version":           {"2023-06-01"},
		"Anthropic-Beta":              {"claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,prompt-caching-scope-2026-01-05,effort-2025-11-24"},
		sessionHeader:                 {d.session},
		"X-Stainless-Lang":            {"js"},
		"X-Stainless-Package-Version": {"0.70.0"},
		"X-Stainless-Runtime":         {"node"},
		"X-Stainless-Retry-Count":     {"0"},
		"X-Stainless-Timeout":         {"600"},
	}
}
