package dialect_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/dialect"
)

// bodies are requests of a dialect, in which the words in capitals are places for more: members, tools, parts of the user's
// message, items of the assistant's, and results of calls.
var bodies = map[string]string{
	"messages":  `{"model":"m","max_tokens":64,"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}TOOL]MEMBERS,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}PART]},{"role":"assistant","content":[{"type":"text","text":"yes"}ITEM]},{"role":"user","content":[RESULT{"type":"text","text":"go"}]}]}`,
	"responses": `{"model":"m","tools":[{"type":"function","name":"f"}TOOL]MEMBERS,"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}PART]},{"role":"assistant","content":"yes"}ITEMRESULT,{"role":"user","content":"go"}]}`,
	"chat":      `{"model":"m","tools":[{"type":"function","function":{"name":"f"}}TOOL]MEMBERS,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}PART]},{"role":"assistant","content":"yes"ITEM}RESULT,{"role":"user","content":"go"}]}`,
}

// features are what a request may have besides, by the client's dialect: where it is in the body, the text there, and the text
// there in the body that it is compared with. A feature in two places has its texts joined by a plus sign.
var features = map[string]map[string][3]string{
	"messages": {
		"system": {"MEMBERS", `,"system":"s"`}, "cache_control": {"PART", `,{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`, `,{"type":"text","text":"x"}`},
		"metadata": {"MEMBERS", `,"metadata":{"user_id":"u"}`}, "service_tier": {"MEMBERS", `,"service_tier":"auto"`},
		"temperature": {"MEMBERS", `,"temperature":0.5`}, "top_p": {"MEMBERS", `,"top_p":0.5`}, "top_k": {"MEMBERS", `,"top_k":5`},
		"stop_sequences": {"MEMBERS", `,"stop_sequences":["x"]`}, "thinking": {"MEMBERS", `,"thinking":{"type":"enabled","budget_tokens":2000}`},
		"effort": {"MEMBERS", `,"output_config":{"effort":"high"}`}, "format": {"MEMBERS", `,"output_config":{"format":{"type":"json_schema","schema":{}}}`},
		"tool_choice": {"MEMBERS", `,"tool_choice":{"type":"any"}`}, "one call": {"MEMBERS", `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`},
		"web search": {"TOOL", `,{"type":"web_search_20250305","name":"web_search"}`}, "other server tools": {"TOOL", `,{"type":"code_execution_20250522","name":"code_execution"}`},
		"strict tool": {"TOOL", `,{"name":"g","strict":true}`, `,{"name":"g"}`},
		"image":       {"PART", `,{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`},
		"document":    {"PART", `,{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AA=="}}`},
		"title of a text": {
			"PART", `,{"type":"document","title":"t","source":{"type":"text","media_type":"text/plain","data":"d"}}`,
			`,{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"}}`,
		},
		"thinking of this account": {"ITEM", `,{"type":"thinking","thinking":"t","signature":"{{seal family identity - o}}"}`},
		"thinking of another":      {"ITEM", `,{"type":"thinking","thinking":"t","signature":"{{seal other identity - o}}"}`},
		"thinking of the client":   {"ITEM", `,{"type":"thinking","thinking":"t","signature":"EqQB"}`},
		"search blocks": {
			"ITEM", `,{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`,
		},
		"failed result": {
			"ITEM+RESULT", `,{"type":"tool_use","id":"c","name":"f","input":{}}+{"type":"tool_result","tool_use_id":"c","content":"r","is_error":true},`,
			`,{"type":"tool_use","id":"c","name":"f","input":{}}+{"type":"tool_result","tool_use_id":"c","content":"r"},`,
		},
		"image in a result": {
			"ITEM+RESULT", `,{"type":"tool_use","id":"c","name":"f","input":{}}+{"type":"tool_result","tool_use_id":"c","content":[{"type":"image","source":{"type":"url","url":"https://pictures.example"}}]},`,
			`,{"type":"tool_use","id":"c","name":"f","input":{}}+{"type":"tool_result","tool_use_id":"c","content":[]},`,
		},
	},
	"responses": {
		"instructions": {"MEMBERS", `,"instructions":"s"`}, "max_output_tokens": {"MEMBERS", `,"max_output_tokens":99`}, "temperature": {"MEMBERS", `,"temperature":0.5`},
		"top_p": {"MEMBERS", `,"top_p":0.5`}, "prompt_cache_key": {"MEMBERS", `,"prompt_cache_key":"k"`}, "effort": {"MEMBERS", `,"reasoning":{"effort":"high"}`},
		"verbosity": {"MEMBERS", `,"text":{"verbosity":"low"}`}, "json_schema": {"MEMBERS", `,"text":{"format":{"type":"json_schema","name":"n","schema":{}}}`},
		"json_object": {"MEMBERS", `,"text":{"format":{"type":"json_object"}}`},
		"format's name": {
			"MEMBERS", `,"text":{"format":{"type":"json_schema","name":"n","description":"d","schema":{},"strict":true}}`, `,"text":{"format":{"type":"json_schema","schema":{}}}`,
		},
		"metadata": {"MEMBERS", `,"metadata":{"a":"b"}`}, "service_tier": {"MEMBERS", `,"service_tier":"auto"`}, "truncation": {"MEMBERS", `,"truncation":"auto"`},
		"tool_choice": {"MEMBERS", `,"tool_choice":"required"`}, "one call": {"MEMBERS", `,"parallel_tool_calls":false`}, "web search": {"TOOL", `,{"type":"web_search"}`},
		"built-in tools": {"TOOL", `,{"type":"code_interpreter","container":{"type":"auto"}}`}, "custom tool": {"TOOL", `,{"type":"custom","name":"p"}`},
		"grammar":     {"TOOL", `,{"type":"custom","name":"p","format":{"type":"grammar"}}`, `,{"type":"custom","name":"p"}`},
		"strict tool": {"TOOL", `,{"type":"function","name":"g","strict":true}`, `,{"type":"function","name":"g"}`},
		"image":       {"PART", `,{"type":"input_image","image_url":"https://pictures.example"}`},
		"detail":      {"PART", `,{"type":"input_image","image_url":"https://pictures.example","detail":"low"}`, `,{"type":"input_image","image_url":"https://pictures.example"}`},
		"file":        {"PART", `,{"type":"input_file","file_data":"data:application/pdf;base64,AA==","filename":"f"}`},
		"refusal": {
			"ITEM", `,{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}`, `,{"role":"assistant","content":[{"type":"output_text","text":"no"}]}`,
		},
		"reasoning of this account": {"ITEM", `,{"type":"reasoning","summary":[{"type":"summary_text","text":"t"}],"encrypted_content":"{{seal family identity - o}}"}`},
		"reasoning of another":      {"ITEM", `,{"type":"reasoning","summary":[],"encrypted_content":"{{seal other identity - o}}"}`},
		"reasoning of the client":   {"ITEM", `,{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}`},
		"search items":              {"ITEM", `,{"type":"web_search_call","id":"ws","action":{"query":"q"}}`},
		"image in a result": {
			"ITEM+RESULT", `,{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}+,{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"https://pictures.example"}]}`,
			`,{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}+,{"type":"function_call_output","call_id":"c","output":[]}`,
		},
	},
	"chat": {
		"instructions": {"ITEM", `},{"role":"system","content":"s"`}, "max_tokens": {"MEMBERS", `,"max_tokens":99`}, "temperature": {"MEMBERS", `,"temperature":0.5`},
		"top_p": {"MEMBERS", `,"top_p":0.5`}, "stop": {"MEMBERS", `,"stop":"x"`}, "prompt_cache_key": {"MEMBERS", `,"prompt_cache_key":"k"`},
		"effort": {"MEMBERS", `,"reasoning_effort":"high"`}, "seed": {"MEMBERS", `,"seed":1`}, "penalties": {"MEMBERS", `,"presence_penalty":1,"frequency_penalty":1`},
		"logit_bias": {"MEMBERS", `,"logit_bias":{"1":1}`}, "user": {"MEMBERS", `,"user":"u"`}, "metadata": {"MEMBERS", `,"metadata":{"a":"b"}`},
		"service_tier": {"MEMBERS", `,"service_tier":"auto"`}, "prediction": {"MEMBERS", `,"prediction":{"type":"content","content":"c"}`},
		"json_schema":   {"MEMBERS", `,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{}}}`},
		"json_object":   {"MEMBERS", `,"response_format":{"type":"json_object"}`},
		"format's name": {"MEMBERS", `,"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{}}}`, `,"response_format":{"type":"json_schema","json_schema":{"schema":{}}}`},
		"tool_choice":   {"MEMBERS", `,"tool_choice":"required"`}, "one call": {"MEMBERS", `,"parallel_tool_calls":false`}, "web search": {"MEMBERS", `,"web_search_options":{}`},
		"built-in tools": {"TOOL", `,{"type":"builtin_function","function":{"name":"$web_search"}}`}, "custom tool": {"TOOL", `,{"type":"custom","custom":{"name":"p"}}`},
		"grammar":     {"TOOL", `,{"type":"custom","custom":{"name":"p","format":{"type":"grammar"}}}`, `,{"type":"custom","custom":{"name":"p"}}`},
		"strict tool": {"TOOL", `,{"type":"function","function":{"name":"g","strict":true}}`, `,{"type":"function","function":{"name":"g"}}`},
		"image":       {"PART", `,{"type":"image_url","image_url":{"url":"https://pictures.example"}}`},
		"detail":      {"PART", `,{"type":"image_url","image_url":{"url":"https://pictures.example","detail":"low"}}`, `,{"type":"image_url","image_url":{"url":"https://pictures.example"}}`},
		"file":        {"PART", `,{"type":"file","file":{"file_data":"AA==","filename":"f"}}`},
		"refusal":     {"ITEM", `},{"role":"assistant","refusal":"no"`, `},{"role":"assistant","content":"no"`},
		"reasoning":   {"ITEM", `,"reasoning_content":"r"`},
		"image in a result": {
			"ITEM+RESULT", `,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]+,{"role":"tool","tool_call_id":"c","content":[{"type":"image_url","image_url":{"url":"https://pictures.example"}}]}`,
			`,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]+,{"role":"tool","tool_call_id":"c","content":[]}`,
		},
	},
}

// dropped lists the features that each pair of dialects drops, even if the upstream accepts everything that its dialect has.
var dropped = map[string]string{
	"messages to responses": "cache_control, metadata, other server tools, search blocks, service_tier, stop_sequences, thinking of another, " +
		"thinking of the client, title of a text, top_k",
	"messages to chat": "cache_control, metadata, other server tools, search blocks, service_tier, thinking of another, thinking of the client, " +
		"title of a text, top_k, web search",
	"responses to messages": "built-in tools, detail, format's name, json_object, metadata, prompt_cache_key, reasoning of another, " +
		"reasoning of the client, refusal, search items, service_tier, strict tool, truncation, verbosity",
	"responses to chat": "built-in tools, metadata, prompt_cache_key, reasoning of another, reasoning of the client, refusal, search items, " +
		"service_tier, truncation, verbosity, web search",
	"chat to messages": "built-in tools, detail, format's name, json_object, logit_bias, metadata, penalties, prediction, prompt_cache_key, " +
		"reasoning, refusal, seed, service_tier, strict tool, user",
	"chat to responses": "built-in tools, logit_bias, metadata, penalties, prediction, reasoning, seed, service_tier, stop, user",
}

// DIA-1, DIA-5: what a pair of dialects drops is what is listed, and nothing else.
func TestDropped(t *testing.T) {
	to := &dialect.Target{Model: "m", Origin: dialect.Origin{Family: "family", Identity: "identity"}, Accepts: dialect.Accepts{
		Sampling: true, ReasoningEffort: true, ReturnsReasoning: true, WebSearch: true,
	}}
	encode := func(client, upstream, place, text string) []byte {
		body := bodies[client]
		texts := strings.Split(text, "+")
		for i, p := range strings.Split(place, "+") {
			if i < len(texts) {
				body = strings.Replace(body, p, texts[i], 1)
			}
		}
		for _, p := range []string{"MEMBERS", "TOOL", "PART", "ITEM", "RESULT"} {
			body = strings.Replace(body, p, "", 1)
		}
		turn, err := inbound[client].ReadTurn(unseal([]byte(body)))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		encoded, err := outbound[upstream].Encode(turn, to)
		if err != nil {
			t.Fatalf("%s for %s: %v", body, upstream, err)
		}
		return encoded.Body
	}
	for client := range features {
		for upstream := range bodies {
			if client == upstream {
				continue // the bytes pass
			}
			var found []string
			for _, name := range slices.Sorted(maps.Keys(features[client])) {
				f := features[client][name]
				if bytes.Equal(encode(client, upstream, f[0], f[1]), encode(client, upstream, f[0], f[2])) {
					found = append(found, name)
				}
			}
			pair := client + " to " + upstream
			if diff := cmp.Diff(dropped[pair], strings.Join(found, ", ")); diff != "" {
				t.Errorf("%s (-want +got): %s", pair, diff)
			}
		}
	}
}
