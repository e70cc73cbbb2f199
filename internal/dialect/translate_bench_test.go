package dialect_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
	"shunt/internal/dialect/responses"
)

// codingBody returns a Messages request of about 100 kB, in blocks as a coding session has them.
func codingBody(b *testing.B) (body []byte, blocks int) {
	const prose = "You are an interactive agent that helps with software engineering tasks. Prefer small changes, and explain \"why\". "
	const source = "func (s *Server) handle(w http.ResponseWriter, r *http.Request) {\n\tif r.Method != \"POST\" {\n\t\treturn\n\t}\n}\n"
	type object = map[string]any
	var tools, turns []object
	for i := range 20 {
		tools = append(tools, object{"name": fmt.Sprintf("Tool%d", i), "description": strings.Repeat(prose, 5), "input_schema": object{
			"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": []string{"file_path"},
			"properties": object{"file_path": object{"type": "string", "description": "The absolute path"}, "limit": object{"type": "integer"}},
		}})
	}
	for i := range 60 {
		id := fmt.Sprintf("toolu_%d", i)
		turns = append(turns,
			object{"role": "assistant", "content": []object{{"type": "text", "text": prose}, {"type": "tool_use", "id": id, "name": "Tool1", "input": object{"file_path": "/src/server.go", "limit": 40}}}},
			object{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": id, "content": strings.Repeat(source, 8)}}})
	}
	body, err := json.Marshal(object{"model": "sonnet", "max_tokens": 32000, "stream": true, "system": []object{{"type": "text", "text": strings.Repeat(prose, 200)}}, "tools": tools, "messages": turns})
	if err != nil {
		b.Fatal(err)
	}
	return body, len(tools) + 1 + 3*60
}

// DIA-2: a Messages request of 100 kB becomes a Responses request in less than a millisecond, with less than four allocations per
// block.
func BenchmarkMessagesToResponses(b *testing.B) {
	body, blocks := codingBody(b)
	to := &dialect.Target{Model: "gpt-5.5", Session: "s"}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		turn, err := messages.Dialect{}.ReadTurn(body)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := (responses.Dialect{}).Encode(turn, to); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(blocks), "blocks")
}
