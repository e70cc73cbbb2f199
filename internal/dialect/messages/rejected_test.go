package messages_test

import (
	"strings"
	"testing"

	"shunt/internal/dialect"
	"shunt/internal/dialect/messages"
)

// DIA-5: what the API itself would reject, and no other dialect can express, is rejected by its name.
func TestReadTurnRejects(t *testing.T) {
	const with = `{"model":"m","messages":[{"role":"user","content":"hi"}],`
	for body, want := range map[string]string{
		with + `"max_tokens":-1}`:                            "max_tokens: must be a whole number above 0",
		with + `"max_tokens":"8"}`:                           "max_tokens: must be a whole number above 0",
		with + `"stop_sequences":["a",1]}`:                   "stop_sequences: must be strings",
		with + `"stop_sequences":"a"}`:                       "stop_sequences: must be an array",
		with + `"system":[{"type":"image","source":{}}]}`:    "system[0]: must be a text",
		with + `"tools":[{"name":"a"},{"input_schema":{}}]}`: "tools[1].name: this field is required",
		with + `"tools":[{"name":"a","input_schema":[]}]}`:   "tools[0].input_schema: must be an object",
		with + `"tool_choice":{"type":"some"}}`:              "tool_choice.type: must be auto, any, tool or none",
		with + `"tool_choice":{"type":"tool"}}`:              "tool_choice.name: this field is required",
		with + `"thinking":{"type":"on"}}`:                   "thinking.type: must be enabled, adaptive or disabled",
		with + `"output_config":{"format":{"type":"xml"}}}`:  "output_config.format.type: must be json_schema",
		with + `"output_format":{"type":"json_schema"}}`:     "output_format.schema: must be an object",
		`{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":"c"}]}]}`: "messages[0].content[0]: the input of a tool_use must be an object",
		`{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a"}]}]}`:                        "messages[0].content[0]: a tool_use needs a name",
	} {
		if _, err := (messages.Dialect{}).ReadTurn([]byte(body)); err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", body, err, want)
		}
	}
	const null = with + `"max_tokens":null,"stop_sequences":null,"tool_choice":null,"thinking":null,"output_config":{"format":null},"output_format":null}`
	if _, err := (messages.Dialect{}).ReadTurn([]byte(null)); err != nil {
		t.Error(err)
	}
}

// RSP-1: a text of which nothing arrives has no block, in a stream or in a document.
func TestEmptyTextHasNoBlock(t *testing.T) {
	for _, stream := range []bool{true, false} {
		w := messages.Dialect{}.NewWriter(dialect.ResponseOptions{Turn: &dialect.Turn{Model: "m", Stream: stream}})
		var out []byte
		for _, e := range []dialect.Event{
			{Kind: dialect.PartStarted, Part: 0},
			{Kind: dialect.PartEnded, Part: 0},
			{Kind: dialect.PartStarted, Part: 1},
			{Kind: dialect.PartDelta, Part: 1, Text: []byte("hi")},
			{Kind: dialect.PartEnded, Part: 1},
			{Kind: dialect.Finished},
		} {
			out = w.Write(out, &e)
		}
		if n := strings.Count(string(out), `"type":"text"`); n != 1 || stream && strings.Contains(string(out), `"index":1`) {
			t.Errorf("%d texts: %s", n, out)
		}
	}
}

// RSP-3b: what bears shunt's mark and cannot be opened is of no use to anybody.
func TestCutsBrokenEnvelopes(t *testing.T) {
	body := `{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"shunt1_broken!"},{"type":"text","text":"b"}]}]}`
	if _, dropped := (messages.Dialect{}).AppendCuts(nil, []byte(body), dialect.Origin{Family: "f"}); dropped != 1 {
		t.Errorf("%d parts are cut", dropped)
	}
}
