package gemini_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"shunt/internal/dialect"
	"shunt/internal/dialect/gemini"
)

var here = dialect.Origin{Family: "gemini", Identity: "a"}

func encode(t *testing.T, turn *dialect.Turn) (body map[string]any, e dialect.Encoded) {
	t.Helper()
	e, err := gemini.Dialect{}.Encode(turn, &dialect.Target{Model: "gemini/x", Origin: here})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(e.Body, &body); err != nil {
		t.Fatalf("%v: %s", err, e.Body)
	}
	return body, e
}

// GEM-1: roles alternate, results are matched by name, and a signature travels with its call.
func TestEncode(t *testing.T) {
	call := func(id, name string) *dialect.ToolCall {
		return &dialect.ToolCall{ID: id, Name: dialect.ToolName{Name: name}, Arguments: `{"a": 1}`}
	}
	_, e := encode(t, &dialect.Turn{
		Stream: true, Instructions: []dialect.Text{{Text: "be short"}}, MaxTokens: 100, Stop: []string{"x"},
		Effort: dialect.Effort{Thinking: dialect.ThinkingOn, Level: "low", Show: true},
		Tools:  []dialect.Tool{{Name: dialect.ToolName{Name: "f"}, Schema: []byte(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}, {Name: dialect.ToolName{Name: "g"}}},
		Choice: dialect.ToolChoice{Mode: dialect.ChooseOne, Name: dialect.ToolName{Name: "f"}},
		Messages: []dialect.Message{
			{Parts: []dialect.Part{dialect.Text{Text: "hi"}, &dialect.Image{MediaType: "image/png", Data: "AA=="}, &dialect.Image{URL: "https://a.example/b"}}},
			{Role: dialect.Assistant, Parts: []dialect.Part{
				&dialect.Reasoning{Opaque: "sig", Origin: here}, dialect.Text{Text: "so"}, call("1", "f"), call("2", "g"),
			}},
			{Parts: []dialect.Part{
				&dialect.ToolResult{CallID: "1", Parts: []dialect.Part{dialect.Text{Text: "one"}}},
				&dialect.ToolResult{CallID: "2", Failed: true, Parts: []dialect.Part{dialect.Text{Text: "two"}}},
			}},
			{Role: dialect.System, Parts: []dialect.Part{dialect.Text{Text: "also"}}},
			{Role: dialect.Assistant, Parts: []dialect.Part{&dialect.Reasoning{Opaque: "other", Origin: dialect.Origin{Family: "claude"}}, call("3", "f")}},
		},
	})
	const want = `{"systemInstruction":{"parts":[{"text":"be short"}]},"contents":[` +
		`{"role":"user","parts":[{"text":"hi"},{"inlineData":{"mimeType":"image/png","data":"AA=="}},{"fileData":{"fileUri":"https://a.example/b"}}]},` +
		`{"role":"model","parts":[{"text":"so"},{"thoughtSignature":"sig","functionCall":{"name":"f","args":{"a":1}}},{"functionCall":{"name":"g","args":{"a":1}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"one"}}},{"functionResponse":{"name":"g","response":{"error":"two"}}},{"text":"also"}]},` +
		`{"role":"model","parts":[{"thoughtSignature":"skip_thought_signature_validator","functionCall":{"name":"f","args":{"a":1}}}]}],` +
		`"tools":[{"functionDeclarations":[{"name":"f","parameters":{"properties":{"a":{"type":"integer"}},"type":"object"}},{"name":"g"}]}],` +
		`"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}},` +
		`"generationConfig":{"maxOutputTokens":100,"stopSequences":["x"],"thinkingConfig":{"includeThoughts":true,"thinkingBudget":1024}}}`
	if diff := cmp.Diff(want, string(e.Body)); diff != "" {
		t.Error(diff)
	}
	if e.Path != "/v1beta/models/gemini%2Fx:streamGenerateContent?alt=sse" || !e.Stream || e.Dropped != 1 || !e.Bound {
		t.Errorf("%s, %+v", e.Path, e)
	}
	if _, err := (gemini.Dialect{}).Encode(&dialect.Turn{Messages: []dialect.Message{{Parts: []dialect.Part{&dialect.File{Member: "messages[0].content[0]"}}}}}, &dialect.Target{}); err == nil ||
		!strings.HasPrefix(err.Error(), "messages[0].content[0]: ") {
		t.Errorf("DIA-5: %v", err)
	}
}

// GEM-1: a schema loses what the API does not know, and what it refers to stands in its place.
func TestSchemas(t *testing.T) {
	for schema, want := range map[string]string{
		`{"$schema":"x","type":"object","additionalProperties":false,"properties":{"const":{"const":"a"},"n":{"type":"integer","exclusiveMinimum":0}}}`: `{"properties":{"const":{"enum":["a"]},"n":{"type":"integer"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}}}`:                                                     `{"properties":{"a":{"type":"string"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`:                                                                                  `{"properties":{"a":{}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"patternProperties":{},"type":"object"}}}}`:                                        `{"properties":{"a":{"items":{"type":"object"},"type":"array"}},"type":"object"}`,
	} {
		body, _ := encode(t, &dialect.Turn{Tools: []dialect.Tool{{Name: dialect.ToolName{Name: "f"}, Schema: []byte(schema)}}})
		got, _ := json.Marshal(body["tools"].([]any)[0].(map[string]any)["functionDeclarations"].([]any)[0].(map[string]any)["parameters"])
		if string(got) != want {
			t.Errorf("%s\ngot  %s\nwant %s", schema, got, want)
		}
	}
	for _, endless := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"anyOf":[{"$ref":"#"},{"$ref":"#"},{"$ref":"#"},{"$ref":"#"}]}`, `{"$ref":"#"}`,
	} {
		if _, e := encode(t, &dialect.Turn{Tools: []dialect.Tool{{Name: dialect.ToolName{Name: "f"}, Schema: []byte(endless)}}}); len(e.Body) > 256<<10 {
			t.Errorf("%s: %d bytes", endless, len(e.Body))
		}
	}
}

// said returns events as one text each.
func said(events []dialect.Event) (all []string) {
	for _, e := range events {
		switch e.Kind {
		case dialect.PartStarted:
			name := ""
			if e.Call != nil {
				name = e.Call.Name.Name
			}
			all = append(all, fmt.Sprint("start ", e.Part, " ", e.Type, " ", name))
		case dialect.PartDelta:
			all = append(all, fmt.Sprint("delta ", e.Part, " ", string(e.Text)))
		case dialect.PartEnded:
			all = append(all, fmt.Sprint("end ", e.Part, " ", e.Opaque))
		case dialect.Finished:
			all = append(all, fmt.Sprint("finished ", e.Stop, " ", e.Usage.Input, " ", e.Usage.CacheRead, " ", e.Usage.Output))
		case dialect.Failed:
			all = append(all, fmt.Sprint("failed ", e.Truncated, " ", e.Err.Message))
		}
	}
	return all
}

func read(stream bool, pieces ...string) []string {
	r := gemini.Dialect{}.NewReader(&dialect.Encoded{}, stream)
	var all []string
	for _, p := range pieces {
		all = append(all, said(r.Read(nil, []byte(p)))...)
	}
	return append(all, said(r.End(nil))...)
}

func candidate(parts, more string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]}` + more + `}],"responseId":"r"` +
		`,"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":2}}`
}

// GEM-1: what a response contains, and why it ends.
func TestReader(t *testing.T) {
	const signed = `{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"s"}`
	for _, c := range []struct {
		body string
		want []string
	}{
		{candidate(`{"text":"hi"}`, `,"finishReason":"STOP"`), []string{"start 0 0 ", "delta 0 hi", "end 0 ", "finished 0 6 4 5"}},
		{candidate(`{"text":"hm","thought":true},{"text":"hi"}`, `,"finishReason":"MAX_TOKENS"`), []string{"start 0 2 ", "delta 0 hm", "end 0 ", "start 1 0 ", "delta 1 hi", "end 1 ", "finished 1 6 4 5"}},
		{candidate(`{"text":"hm","thought":true},`+signed, `,"finishReason":"STOP"`), []string{"start 0 2 ", "delta 0 hm", "end 0 s", "start 1 3 f", `delta 1 {"a":1}`, "end 1 ", "finished 2 6 4 5"}},
		{candidate(signed, `,"finishReason":"STOP"`), []string{"start 0 2 ", "end 0 s", "start 1 3 f", `delta 1 {"a":1}`, "end 1 ", "finished 2 6 4 5"}},
		{candidate(`{"text":"I"}`, `,"finishReason":"SAFETY"`), []string{"start 0 0 ", "delta 0 I", "end 0 ", "finished 3 6 4 5"}},
		{`{"promptFeedback":{"blockReason":"SAFETY"}}`, []string{"finished 3 0 0 0"}},
		{candidate(``, `,"finishReason":"MALFORMED_FUNCTION_CALL"`), []string{"failed false the upstream ended its response because of a call that it could not make, or for a reason that it does not say"}},
		{candidate(`{"text":"hi"}`, ``), []string{"start 0 0 ", "delta 0 hi", "failed true " + dialect.TruncatedMessage}},
		{`{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`, []string{"failed false busy"}},
		{`{"candidates":7}`, []string{"failed false the upstream sent something that is not a response"}},
	} {
		for _, stream := range []bool{true, false} {
			body := c.body
			if stream {
				body = "data: " + body + "\n\n"
			}
			if diff := cmp.Diff(c.want, read(stream, body)); diff != "" {
				t.Errorf("stream %v: %s\n%s", stream, c.body, diff)
			}
		}
	}
}

// DIA-3: the division of a stream into chunks makes no difference.
func TestChunks(t *testing.T) {
	stream := "data: " + candidate(`{"text":"hm \u00fc","thought":true}`, "") + "\r\n\r\ndata: " + candidate(`{"text":"hi"}`, "") + "\n\n: wait\n\ndata: " +
		candidate(`{"functionCall":{"name":"f"}}`, `,"finishReason":"STOP"`) + "\n\n"
	whole := read(true, stream)
	rapid.Check(t, func(t *rapid.T) {
		var pieces []string
		for rest := stream; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if diff := cmp.Diff(whole, read(true, pieces...)); diff != "" {
			t.Error(diff)
		}
	})
}

// GEM-2: an error says when the upstream serves again, and whether a quota per day or per minute is used up.
func TestParseError(t *testing.T) {
	const perDay = `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}]}`
	for body, want := range map[string]dialect.Error{
		`{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}`:                                                                          {Kind: dialect.InvalidRequest, Code: "invalid_argument", Message: "bad"},
		`[{"error":{"code":401,"message":"who","status":"UNAUTHENTICATED"}}]`:                                                                         {Kind: dialect.Authentication, Code: "unauthenticated", Message: "who"},
		`{"error":{"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x","retryDelay":"17.5s"}]}}`:                                      {Kind: dialect.RateLimit, Code: "resource_exhausted", Message: "m", RetryAfter: 17500 * time.Millisecond},
		`{"error":{"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"metadata":{"quotaResetDelay":"1h2m"}}]}}`:                                 {Kind: dialect.RateLimit, Code: "resource_exhausted", Message: "m", RetryAfter: 62 * time.Minute},
		`{"error":{"message":"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`: {Kind: dialect.ContextOverflow, Code: "invalid_argument", Message: "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."},
	} {
		if got, ok := (gemini.Dialect{}).ParseError([]byte(body)); !ok || got != want {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
	}
	got, _ := gemini.Dialect{}.ParseError([]byte(`{"error":{"message":"m","status":"RESOURCE_EXHAUSTED","details":[` + perDay + `]}}`))
	if wait := time.Until(got.Resets); wait <= 0 || wait > 24*time.Hour {
		t.Errorf("a quota per day returns in %v", wait)
	}
	for _, body := range []string{``, `{}`, `[]`, `"x"`, `{"error":7}`} {
		if got, ok := (gemini.Dialect{}).ParseError([]byte(body)); ok {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

// The list of models, without the prefix of their names.
func TestParseModels(t *testing.T) {
	models, err := gemini.Dialect{}.ParseModels([]byte(`{"models":[{"name":"models/gemini-x","displayName":"X"}]}`))
	if want := []dialect.Model{{ID: "gemini-x", DisplayName: "X"}}; err != nil || !cmp.Equal(models, want) {
		t.Errorf("%v, %v", models, err)
	}
	if _, err := (gemini.Dialect{}).ParseModels([]byte(`{}`)); err == nil {
		t.Error("no error")
	}
}

// Upstreams send any bytes.
func FuzzReaders(f *testing.F) {
	f.Add(`data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`+"\n\n", true)
	f.Add(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]}}]}`, false)
	f.Fuzz(func(t *testing.T, body string, stream bool) {
		r := gemini.Dialect{}.NewReader(&dialect.Encoded{}, stream)
		events := r.End(r.Read(nil, []byte(body)))
		if last := events[len(events)-1].Kind; last != dialect.Finished && last != dialect.Failed {
			t.Errorf("the last event is %v", last)
		}
	})
}

// So do errors, and clients send any schema.
func FuzzErrorsAndSchemas(f *testing.F) {
	f.Add([]byte(`{"error":{"message":"m","details":[{"retryDelay":"1s"}]}}`))
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/a"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if e, ok := (gemini.Dialect{}).ParseError(text); ok && (e.RetryAfter < 0 || e.Kind == dialect.NoError) {
			t.Errorf("%+v", e)
		}
		if !json.Valid(text) || len(text) > 4<<10 {
			return
		}
		e, err := gemini.Dialect{}.Encode(&dialect.Turn{Tools: []dialect.Tool{{Name: dialect.ToolName{Name: "f"}, Schema: text}}}, &dialect.Target{Model: "m"})
		if err == nil && !json.Valid(e.Body) {
			t.Errorf("%s", e.Body)
		}
	})
}
