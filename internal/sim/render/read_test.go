package render_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"shunt/internal/sim/engine"
	"shunt/internal/sim/render"
	"shunt/internal/sim/script"
)

var dialects = map[string]render.Dialect{
	"messages": render.Messages{}, "responses": render.Responses{}, "chat": render.Chat{}, "gemini": render.Gemini{},
}

func TestRead(t *testing.T) {
	for name, body := range map[string]string{
		"messages": `{"model":"m","stream":true,"max_tokens":9,"thinking":{"type":"enabled"},"tools":[{"name":"f"}],"messages":[
			{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]},{"role":"assistant","content":"y"},
			{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},{"role":"system","content":"s"}]}`,
		"responses": `{"model":"m","stream":true,"max_output_tokens":9,"reasoning":{},"tools":[{"type":"function","name":"f"}],"input":[
			{"type":"reasoning","id":"rs_1","encrypted_content":"seal"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
			{"type":"function_call_output","call_id":"c","output":""},
			{"role":"user","content":[{"type":"input_text","text":"one"},{"type":"input_text","text":"two"}]},
			{"role":"developer","content":"s"}]}`,
		"chat": `{"model":"m","stream":true,"max_completion_tokens":9,"reasoning_effort":"high","tools":[{"type":"function","function":{"name":"f"}}],"messages":[
			{"role":"assistant","tool_calls":[{"id":"c"},{"id":"d"}]},{"role":"tool","tool_call_id":"d"},{"role":"tool","tool_call_id":"c"},
			{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},
			{"role":"system","content":"s"}]}`,
		"gemini": `{"generationConfig":{"maxOutputTokens":9,"thinkingConfig":{"includeThoughts":true}},"tools":[{"functionDeclarations":[{"name":"f"}]}],
			"contents":[{"role":"user","parts":[{"text":"one"},{"text":"two"}]}]}`,
	} {
		r, err := dialects[name].Read([]byte(body))
		if err != nil || r.LastUser != "one\ntwo" || r.MaxTokens != 9 || !r.Reasoning || len(r.Tools) != 1 || r.Tools[0].Name != "f" || r.Tokens == 0 {
			t.Errorf("%s: got %+v (%v)", name, r, err)
		}
		if want := map[bool][]string{true: {"seal"}}[name == "responses"]; !slices.Equal(r.Seals, want) {
			t.Errorf("%s: seals are %q", name, r.Seals)
		}
	}
}

// Each dialect rejects what its API rejects.
func TestRejected(t *testing.T) {
	for _, c := range []struct{ dialect, body, want string }{
		{"messages", `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c"}]},{"role":"user","content":"x"}]}`, "without `tool_result`"},
		{"messages", `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c"}]}]}`, "without `tool_result`"},
		{"messages", `{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}]}`, "unexpected `tool_use_id`"},
		{"messages", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`, "non-empty"},
		{"messages", `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a:b"}]}]}`, "pattern"},
		{"messages", `{"model":"m","tools":[{"name":"a b"}],"messages":[{"role":"user","content":"x"}]}`, "pattern"},
		{"messages", `{"model":"m","messages":[]}`, "at least one"},
		{"messages", `{"messages":[{}]}`, "model"},
		{"responses", `{"model":"m","input":[{"type":"function_call","call_id":"c"}]}`, "No tool output"},
		{"responses", `{"model":"m","input":[{"type":"function_call_output","call_id":"c"}]}`, "No tool call"},
		{"responses", `{"model":"m","input":[{"type":"reasoning","id":"x"}]}`, "begins with 'rs'"},
		{"responses", `{"model":"m","input":[{"type":"function_call","call_id":"` + strings.Repeat("c", 65) + `"}]}`, "maximum length 64"},
		{"responses", `{"model":"m","input":"x","tools":[{"type":"function","name":"` + strings.Repeat("f", 65) + `"}]}`, "pattern"},
		{"responses", `{"model":"m","input":5}`, "input"},
		{"responses", `{"input":"x"}`, "model"},
		{"chat", `{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c"}]},{"role":"user","content":"x"}]}`, "followed by tool messages"},
		{"chat", `{"model":"m","messages":[{"role":"tool","tool_call_id":"c"}]}`, "must be a response"},
		{"chat", `{"messages":[{"role":"user","content":"x"}]}`, "model"},
		{"chat", `{"model":"m","messages":[]}`, "messages"},
		{"gemini", `{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"user","parts":[{"text":"x"}]}]}`, "alternate"},
		{"gemini", `{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"f"}}]}]}`, "number of function response parts"},
		{"gemini", `{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f"}}]}]}`, "followed by a function response"},
		{"gemini", `{"contents":[{"parts":[]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"properties":{"const":{"type":"array","items":{"$ref":"#"}}}}}]}]}`, "$ref"},
		{"gemini", `{"contents":[]}`, "contents"},
	} {
		if _, err := dialects[c.dialect].Read([]byte(c.body)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.body, err, c.want)
		}
	}
	for name, d := range dialects {
		if _, err := d.Read([]byte("{")); err == nil {
			t.Errorf("%s accepts damaged JSON", name)
		}
	}
}

// An input that ends in the middle, as at the limit on tokens, is sent as it is where it is text, and as nothing elsewhere.
func TestDamagedInput(t *testing.T) {
	step := script.Calls(script.Call{Name: "f", Input: `{"x": "a`}).Stopping(script.AtMaximum)
	for name, d := range dialects {
		body, err := json.Marshal(d.Body(render.NewReply(engine.New(engine.Config{}), render.Request{Model: "m"}, step)))
		if err != nil {
			t.Fatal(err)
		}
		raw := strings.Contains(string(body), `{\"x\": \"a`)
		if want := name == "responses" || name == "chat"; raw != want {
			t.Errorf("%s: got %s", name, body)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result"}]}],"input":[{}],"contents":[{"parts":[{"functionCall":{}}]}]}`))
	f.Fuzz(func(_ *testing.T, body []byte) {
		for _, d := range dialects {
			_, _ = d.Read(body)
		}
	})
}
