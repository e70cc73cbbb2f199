package messages_test

import (
	"bytes"
	"encoding/json"
	"fmt"

	"shunt/internal/dialect/messages"
)

var api messages.Dialect

// codingTurn is a request body of about the size, in bytes, shaped like a turn of a coding session: the order of members,
// tool schemas of many short strings, tool results of source code full of escapes.
func codingTurn(size int) []byte {
	const source = "func (s *Server) handle(w http.ResponseWriter, r *http.Request) {\n\tif r.Method != \"POST\" {\n\t\thttp.Error(w, `{\"error\": \"no\"}`, 405)\n\t\treturn\n\t}\n}\n"
	const prose = "You are an interactive agent that helps with software engineering tasks. Prefer small changes, and explain \"why\" rather than \"what\". "
	tool := `{"name":"Edit","description":` + string(quoted(prose+prose+prose)) + `,"input_schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":` +
		`{"file_path":{"description":"The absolute path to the file","type":"string"},"old_string":{"description":"The text to replace","type":"string"},` +
		`"replace_all":{"description":"Replace all occurrences","default":false,"type":"boolean"}},"required":["file_path","old_string"],"additionalProperties":false}}`

	var messages, tools bytes.Buffer
	for i := 0; tools.Len() < size/4; i++ {
		if i > 0 {
			tools.WriteByte(',')
		}
		tools.WriteString(tool)
	}
	for i := 0; messages.Len()+tools.Len() < size*3/4; i++ {
		if i > 0 {
			messages.WriteByte(',')
		}
		fmt.Fprintf(&messages, `{"role":"assistant","content":[{"type":"text","text":%s},{"type":"tool_use","id":"toolu_%d","name":"Read","input":{"file_path":"/src/server.go","limit":40}}]},`+
			`{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":%s}]}`, quoted(prose), i, i, quoted(source+source+source+source))
	}
	system := bytes.Repeat([]byte(prose), max(1, (size-messages.Len()-tools.Len())/len(prose)))
	return fmt.Appendf(nil, `{"model":"claude-sonnet-4-5","messages":[%s],"system":[{"type":"text","text":%s,"cache_control":{"type":"ephemeral"}}],"tools":[%s],`+
		`"metadata":{"user_id":"{\"device_id\":\"%064x\",\"account_uuid\":\"%s\",\"session_id\":\"%s\"}"},"max_tokens":32000,"thinking":{"type":"adaptive"},`+
		`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"stream":true}`,
		messages.Bytes(), quoted(string(system)), tools.Bytes(), 7, uuid, uuid)
}

func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return b
}
