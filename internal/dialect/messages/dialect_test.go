package messages_test

import (
	"fmt"
	"net/http"
	"testing"

	"shunt/internal/dialect"
	"shunt/internal/dialect/dialecttest"
)

func TestDialect(t *testing.T) {
	dialecttest.Run(t, dialecttest.Example{
		Inbound: api, Outbound: api,
		Header: http.Header{"X-Claude-Code-Session-Id": {"s-1"}}, Session: "s-1",
		Body: `{"model":"claude-sonnet-4-5","max_tokens":64,"messages":[{"role":"user","content":"hi"}],"stream":true,` +
			`"metadata":{"user_id":"{\"account_uuid\":\"` + uuid + `\",\"session_id\":\"s-1\"}"}} `,
		Model: "claude-sonnet-4-5",
		Response: `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":11,` +
			`"cache_creation_input_tokens":22,"cache_read_input_tokens":33,"output_tokens":44}}`,
		Stream: messageStart + textDelta + messageDelta + messageStop, Usage: fullUsage,
		Continued: messageStart + textDelta,
	})
}

// A client's body becomes an upstream's by a few edits: its model, and the UUID of the account that serves it.
func Example() {
	body := []byte(`{"model":"opus","messages":[]}`)
	var d dialect.Inbound = api
	request, err := d.Scan(body)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, edit := range d.AppendEdits(nil, &request, "claude-opus-4-5", "") {
		fmt.Printf("%s becomes %s\n", body[edit.Start:edit.End], edit.With)
	}
	fmt.Printf("%s\n", d.AppendError(nil, &dialect.Error{Kind: dialect.NotFound, Message: "no such model"}, ""))
	// Output:
	// "opus" becomes "claude-opus-4-5"
	// {"type":"error","error":{"type":"not_found_error","message":"no such model"}}
}
