package responses_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect"
)

// DIA-5, INB-1: what cannot be translated is rejected by the name of its member, and nothing of its value is repeated.
func TestRejected(t *testing.T) {
	for body, member := range map[string]string{
		`{"input":"hi","previous_response_id":"resp_secret"}`:                                                           "previous_response_id",
		`{"input":"hi","conversation":{"id":"secret"}}`:                                                                 "conversation",
		`{"input":"hi","prompt":{"id":"secret"}}`:                                                                       "prompt",
		`{"input":"hi","background":true}`:                                                                              "background",
		`{"input":[{"type":"item_reference","id":"secret"}]}`:                                                           "input[0]",
		`{"input":[{"role":"user","content":"a"},{"type":"compaction_trigger"}]}`:                                       "input[1].type",
		`{"input":[{"type":"secret"}]}`:                                                                                 "input[0].type",
		`{"input":[{"role":"secret","content":"a"}]}`:                                                                   "input[0].role",
		`{"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_audio"}]}]}`:               "input[0].content[1].type",
		`{"input":[{"role":"user","content":[{"type":"input_image","file_id":"secret"}]}]}`:                             "input[0].content[0]",
		`{"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_file","file_id":"secret"}]}]}`: "input[0].output[0]",
		`{"input":[{"role":"developer","content":[{"type":"input_image","image_url":"https://secret.example"}]}]}`:      "input[0].content",
		`{"input":[{"type":"function_call","arguments":{"secret":1}}]}`:                                                 "input[0].arguments",
		`{"input":{"secret":1}}`:                                                                                        "input",
		`{"input":"hi","max_output_tokens":"secret"}`:                                                                   "max_output_tokens",
		`{"input":"hi","tools":[{"type":1}]}`:                                                                           "tools.type",
	} {
		_, err := api.ReadTurn([]byte(`{"model":"m",` + body[1:]))
		if err == nil || !strings.HasPrefix(err.Error(), member+": ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", body, err, member)
		}
	}
}

// INB-1: what is only advice, and what is built into the API, is left out.
func TestLeftOut(t *testing.T) {
	turn, err := api.ReadTurn([]byte(`{"model":"m","input":[{"role":"user","content":"a","id":"i"},{"type":"web_search_call","id":"ws"},{"type":"reasoning","encrypted_content":"gAAA"}],
		"service_tier":"auto","metadata":{"a":"b"},"truncation":"auto","top_logprobs":0,"text":{"verbosity":"low","format":{"type":"text"}},
		"tools":[{"type":"mcp","server_label":"s"},{"type":"code_interpreter","container":{"type":"auto"}},{"type":"file_search","filters":{"type":"eq","key":"k","value":1}},{"type":"computer_use_preview"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &dialect.Turn{Model: "m", Messages: []dialect.Message{{Role: dialect.User, Parts: []dialect.Part{dialect.Text{Text: "a"}}}}}
	if diff := cmp.Diff(want, turn); diff != "" {
		t.Error(diff)
	}
}

// INB-1: every form of a choice.
func TestChoice(t *testing.T) {
	one := func(namespace, name string) dialect.ToolChoice {
		return dialect.ToolChoice{Mode: dialect.ChooseOne, Name: dialect.ToolName{Namespace: namespace, Name: name}}
	}
	for choice, want := range map[string]dialect.ToolChoice{
		`null`: {}, `"auto"`: {}, `"required"`: {Mode: dialect.ChooseAny}, `"none"`: {Mode: dialect.ChooseNone},
		`{"type":"function","name":"f"}`:                        one("", "f"),
		`{"type":"custom","name":"p"}`:                          one("", "p"),
		`{"type":"function","namespace":"n","name":"f"}`:        one("n", "f"),
		`{"type":"web_search_preview"}`:                         one("", "web_search"),
		`{"type":"allowed_tools","mode":"required","tools":[]}`: {Mode: dialect.ChooseAny},
		`{"type":"allowed_tools","mode":"auto","tools":[]}`:     {},
		`{"type":"file_search"}`:                                {},
		`["function"]`:                                          {},
	} {
		turn, err := api.ReadTurn([]byte(`{"model":"m","input":"a","tool_choice":` + choice + `}`))
		if err != nil || turn.Choice != want {
			t.Errorf("%s: %+v, %v", choice, turn, err)
		}
	}
}

// INB-1: pairing is by position. IDs may repeat, and of two results for one call the first counts.
func TestPairing(t *testing.T) {
	const call, result = `{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`, `{"type":"function_call_output","call_id":"c","output":`
	turn, err := api.ReadTurn([]byte(`{"model":"m","input":[` + call + `,` + result + `"1"},` + result + `"2"},` + call + `,` + result + `"3"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	for _, m := range turn.Messages {
		for _, part := range m.Parts {
			if r, ok := part.(*dialect.ToolResult); ok {
				results = append(results, r.Parts[0].(dialect.Text).Text)
			}
		}
	}
	if len(turn.Messages) != 4 || strings.Join(results, " ") != "1 3" {
		t.Errorf("%d messages with results %v", len(turn.Messages), results)
	}
}

// GPT-5, FAM-3: what an upstream does not accept is not in its request.
func TestAccepts(t *testing.T) {
	temperature := 0.5
	turn := &dialect.Turn{Model: "m", MaxTokens: 100, Temperature: &temperature, TopP: &temperature, Stop: []string{"x"}}
	for _, c := range []struct {
		accepts         dialect.Accepts
		present, absent []string
	}{
		{dialect.Accepts{OmitMaxTokens: true}, []string{`"store":false`, `"stream":true`, `"instructions":""`}, []string{"max_output_tokens", "temperature", "top_p", "previous_response_id", "stream_options", "stop"}},
		{dialect.Accepts{Sampling: true}, []string{`"max_output_tokens":100`, `"temperature":0.5`, `"top_p":0.5`}, nil},
		{dialect.Accepts{MaxOutputTokens: 64}, []string{`"max_output_tokens":64`}, []string{"temperature"}},
	} {
		e, err := api.Encode(turn, &dialect.Target{Model: "m", Accepts: c.accepts})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range c.present {
			if !strings.Contains(string(e.Body), text) {
				t.Errorf("%+v: no %s in %s", c.accepts, text, e.Body)
			}
		}
		for _, text := range c.absent {
			if strings.Contains(string(e.Body), text) {
				t.Errorf("%+v: %s in %s", c.accepts, text, e.Body)
			}
		}
	}
}
