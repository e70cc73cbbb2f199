package chat_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect"
)

// DIA-5, INB-3: what cannot be translated is rejected by the name of its member, and nothing of its value is repeated.
func TestRejected(t *testing.T) {
	message := func(m string) string { return `{"messages":[{"role":"user","content":"a"},` + m + `]}` }
	part := func(p string) string {
		return message(`{"role":"user","content":[{"type":"text","text":"a"},` + p + `]}`)
	}
	call := func(c string) string { return message(`{"role":"assistant","tool_calls":[` + c + `]}`) }
	with := func(member string) string { return `{"messages":[{"role":"user","content":"a"}],` + member + `}` }
	for body, member := range map[string]string{
		`{"prompt":"secret"}`:                                          "messages",
		`{"messages":null}`:                                            "messages",
		`{"messages":"secret"}`:                                        "messages",
		`{"messages":["secret"]}`:                                      "messages[0]",
		message(`{"role":"secret","content":"a"}`):                     "messages[1].role",
		message(`{"role":"function","name":"secret","content":"a"}`):   "messages[1].role",
		message(`{"content":"secret"}`):                                "messages[1].role",
		message(`{"role":"user"}`):                                     "messages[1].content",
		message(`{"role":"user","content":{"secret":1}}`):              "messages[1].content",
		message(`{"role":"user","content":["secret"]}`):                "messages[1].content[0]",
		part(`{"type":"input_audio","input_audio":{"data":"secret"}}`): "messages[1].content[1].type",
		part(`{"text":"secret"}`):                                      "messages[1].content[1].type",
		part(`{"type":"text","text":1}`):                               "messages[1].content[1].text",
		part(`{"type":"image_url","image_url":"secret"}`):              "messages[1].content[1].image_url",
		part(`{"type":"image_url","image_url":{"detail":"secret"}}`):   "messages[1].content[1].image_url.url",
		part(`{"type":"image_url","image_url":{"url":"data:secret"}}`): "messages[1].content[1].image_url.url",
		part(`{"type":"file","file":{"file_id":"secret"}}`):            "messages[1].content[1].file.file_id",
		part(`{"type":"file","file":{"filename":"secret"}}`):           "messages[1].content[1].file.file_data",
		part(`{"type":"file","file":{"file_data":"data:secret"}}`):     "messages[1].content[1].file.file_data",
		message(`{"role":"system","content":[{"type":"image_url","image_url":{"url":"https://secret"}}]}`): "messages[1].content",
		message(`{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"https://s"}}]}`):   "messages[1].content",
		message(`{"role":"assistant","function_call":{"name":"secret","arguments":"{}"}}`):                 "messages[1].function_call",
		message(`{"role":"assistant","audio":{"id":"secret"}}`):                                            "messages[1].audio",
		message(`{"role":"tool","content":"secret"}`):                                                      "messages[1].tool_call_id",
		call(`{"type":"function","function":{"name":"secret"}}`):                                           "messages[1].tool_calls[0].id",
		call(`{"id":"secret","type":"function","function":{}}`):                                            "messages[1].tool_calls[0].function.name",
		call(`{"id":"secret","type":"custom","custom":{}}`):                                                "messages[1].tool_calls[0].custom.name",
		call(`{"id":"c","type":"secret"}`):                                                                 "messages[1].tool_calls[0].type",
		call(`{"id":"c","type":"function","function":{"name":"f","arguments":{"secret":1}}}`):              "messages[1].tool_calls.function.arguments",
		with(`"n":2`):                                       "n",
		with(`"n":0`):                                       "n",
		with(`"logprobs":true`):                             "logprobs",
		with(`"top_logprobs":3`):                            "top_logprobs",
		with(`"modalities":["text","audio"]`):               "modalities[1]",
		with(`"audio":{"voice":"secret"}`):                  "audio",
		with(`"functions":[{"name":"secret"}]`):             "functions",
		with(`"function_call":"auto"`):                      "function_call",
		with(`"max_tokens":0`):                              "max_tokens",
		with(`"max_completion_tokens":-1`):                  "max_completion_tokens",
		with(`"max_tokens":"secret"`):                       "max_tokens",
		with(`"stop":{"secret":1}`):                         "stop",
		with(`"stream":"secret"`):                           "stream",
		with(`"stream_options":{"include_usage":"secret"}`): "stream_options.include_usage",
		with(`"reasoning_effort":1`):                        "reasoning_effort",
		with(`"response_format":{"type":"secret"}`):         "response_format.type",
		with(`"response_format":{"type":"json_schema"}`):    "response_format.json_schema",
		with(`"response_format":{"type":"json_schema","json_schema":{"name":"secret"}}`):      "response_format.json_schema.schema",
		with(`"tools":[{"function":{"name":"secret"}}]`):                                      "tools[0].type",
		with(`"tools":[{"type":"function","function":{}}]`):                                   "tools[0].function.name",
		with(`"tools":[{"type":"custom","custom":{}}]`):                                       "tools[0].custom.name",
		with(`"tools":[{"type":"function","function":{"name":"f","parameters":["secret"]}}]`): "tools[0].function.parameters",
		with(`"tools":["secret"]`):                                                            "tools[0]",
		with(`"tool_choice":"secret"`):                                                        "tool_choice",
		with(`"tool_choice":{"type":"secret"}`):                                               "tool_choice",
		with(`"tool_choice":{"type":"function"}`):                                             "tool_choice.function.name",
		with(`"tool_choice":["secret"]`):                                                      "tool_choice",
	} {
		_, err := api.ReadTurn([]byte(`{"model":"m",` + body[1:]))
		if err == nil || !strings.HasPrefix(err.Error(), member+": ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", body, err, member)
		}
	}
	for body, want := range map[string]error{
		``: dialect.ErrBodyMalformed, `{`: dialect.ErrBodyMalformed, `[]`: dialect.ErrBodyNotObject, `{"messages":[]}`: dialect.ErrModelMissing,
	} {
		if _, err := api.ReadTurn([]byte(body)); err != want {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// INB-3: what is only advice, and what is built into a vendor's API, is left out.
func TestLeftOut(t *testing.T) {
	turn, err := api.ReadTurn([]byte(`{"model":"m","messages":[{"role":"user","content":"a","name":"n"},{"role":"assistant","content":null,"refusal":null,"audio":null,"function_call":null}],
		"service_tier":"auto","metadata":{"a":"b"},"user":"u","seed":1,"store":true,"logit_bias":{"1":1},"presence_penalty":1,"frequency_penalty":1,"prediction":{"type":"content"},
		"n":1,"logprobs":false,"modalities":["text"],"audio":null,"stop":[],"max_tokens":null,"response_format":{"type":"text"},"tools":[{"type":"builtin_function","function":{"name":"$web_search"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &dialect.Turn{Model: "m", Messages: []dialect.Message{{Role: dialect.User, Parts: []dialect.Part{dialect.Text{Text: "a"}}}}}
	if diff := cmp.Diff(want, turn); diff != "" {
		t.Error(diff)
	}
}

// INB-3: every form of a choice.
func TestChoice(t *testing.T) {
	one := dialect.ToolChoice{Mode: dialect.ChooseOne, Name: dialect.ToolName{Name: "f"}}
	for choice, want := range map[string]dialect.ToolChoice{
		`null`: {}, `"auto"`: {}, `"required"`: {Mode: dialect.ChooseAny}, `"none"`: {Mode: dialect.ChooseNone},
		`{"type":"function","function":{"name":"f"}}`:                             one,
		`{"type":"custom","custom":{"name":"f"}}`:                                 one,
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[]}}`: {Mode: dialect.ChooseAny},
		`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[]}}`:     {},
	} {
		turn, err := api.ReadTurn([]byte(`{"model":"m","messages":[],"tool_choice":` + choice + `}`))
		if err != nil || turn.Choice != want {
			t.Errorf("%s: %+v, %v", choice, turn, err)
		}
	}
}

// INB-3: results are paired with their calls, of whichever type, and the newer name of a limit counts.
func TestConversation(t *testing.T) {
	turn, err := api.ReadTurn([]byte(`{"model":"m","max_completion_tokens":7,"max_tokens":9,"reasoning_effort":"none","web_search_options":{},"messages":[
		{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"f","arguments":" "}},{"id":"d","type":"custom","custom":{"name":"p","input":"x"}}]},
		{"role":"tool","tool_call_id":"d","content":"2"},{"role":"tool","tool_call_id":"c","content":null},{"role":"tool","tool_call_id":"e","content":"3"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &dialect.Turn{
		Model: "m", MaxTokens: 7, Effort: dialect.Effort{Thinking: dialect.ThinkingOff, Level: "none"},
		Tools: []dialect.Tool{{Kind: dialect.SearchTool, Name: dialect.ToolName{Name: "web_search"}}},
		Messages: []dialect.Message{
			{Role: dialect.Assistant, Parts: []dialect.Part{
				&dialect.ToolCall{ID: "c", Name: dialect.ToolName{Name: "f"}, Arguments: "{}"},
				&dialect.ToolCall{ID: "d", Name: dialect.ToolName{Name: "p"}, Arguments: "x", Custom: true},
			}},
			{Role: dialect.User, Parts: []dialect.Part{
				&dialect.ToolResult{CallID: "c"}, &dialect.ToolResult{CallID: "d", Parts: []dialect.Part{dialect.Text{Text: "2"}}, Custom: true}, dialect.Text{Text: "3"},
			}},
		},
	}
	if diff := cmp.Diff(want, turn); diff != "" {
		t.Error(diff)
	}
}

// FAM-3: what an upstream does not accept is not in its request.
func TestAccepts(t *testing.T) {
	temperature := 0.5
	turn := &dialect.Turn{
		Model: "m", MaxTokens: 40_000, Temperature: &temperature, CacheKey: "k", Effort: dialect.Effort{Thinking: dialect.ThinkingOn, Level: "xhigh"},
		Tools: []dialect.Tool{{Kind: dialect.SearchTool}}, Choice: dialect.ToolChoice{Mode: dialect.ChooseAny}, OneCall: true,
	}
	for _, c := range []struct {
		accepts         dialect.Accepts
		present, absent []string
	}{
		{dialect.Accepts{}, []string{`"max_tokens":32000`, `"temperature":0.5`}, []string{"reasoning_effort", "max_completion_tokens", "stream", "tool", "prompt_cache_key", "store"}},
		{dialect.Accepts{OmitMaxTokens: true}, nil, []string{"max_tokens"}},
		{dialect.Accepts{MaxOutputTokens: 50_000, MaxCompletionTokens: true}, []string{`"max_completion_tokens":40000`}, []string{"max_tokens"}},
		{dialect.Accepts{ReasoningEffort: true, Efforts: []string{"low", "max"}}, []string{`"reasoning_effort":"low"`}, nil},
	} {
		e, err := api.Encode(turn, &dialect.Target{Model: "m", Accepts: c.accepts})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range c.present {
			if !strings.Contains(string(e.Body), text) {
				t.Errorf("%+v: %s is not in %s", c.accepts, text, e.Body)
			}
		}
		for _, text := range c.absent {
			if strings.Contains(string(e.Body), text) {
				t.Errorf("%+v: %s in %s", c.accepts, text, e.Body)
			}
		}
	}
}

// DIA-5: what a chat upstream cannot be told is rejected by the client's name for it.
func TestNotSent(t *testing.T) {
	for _, part := range []dialect.Part{
		&dialect.File{URL: "https://secret.example", Member: "m"},
		&dialect.File{MediaType: "text/plain", Data: "secret!", Member: "m"},
	} {
		for _, message := range []dialect.Message{
			{Role: dialect.User, Parts: []dialect.Part{part}},
			{Role: dialect.User, Parts: []dialect.Part{&dialect.ToolResult{CallID: "c", Parts: []dialect.Part{part}}}},
			{Role: dialect.Assistant, Parts: []dialect.Part{part}},
			{Role: dialect.Assistant, Parts: []dialect.Part{&dialect.Image{URL: "https://secret.example", Member: "m"}}},
		} {
			_, err := api.Encode(&dialect.Turn{Messages: []dialect.Message{message}}, &dialect.Target{Model: "m"})
			if err == nil || !strings.HasPrefix(err.Error(), "m: ") || strings.Contains(err.Error(), "secret") {
				t.Errorf("%+v: %v", message, err)
			}
		}
	}
}
