package keyed_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"shunt/internal/sim/enginetest"
	"shunt/internal/sim/keyed"
	"shunt/internal/sim/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type rig struct {
	*enginetest.Client
	p *keyed.Provider
}

func bubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	r := &rig{}
	enginetest.Run(t, func() http.Handler {
		r.p = keyed.New(keyed.Config{Keys: map[string]string{"k": "secret"}, Models: []string{"m"}})
		return r.p
	}, func(c *enginetest.Client) {
		r.Client = c
		test(r)
	})
}

const (
	chatBody      = `{"model":"m","messages":[{"role":"user","content":"hello"}],"reasoning_effort":"low"%s}`
	responsesBody = `{"model":"m","input":"hello","reasoning":{"effort":"low"}%s}`
	geminiBody    = `{"contents":[{"role":"user","parts":[{"text":"hello"}]}],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`
)

// api is one of the provider's dialects.
type api struct {
	name          string
	plain, stream func(r *rig) enginetest.Reply
	last          string // the end of a whole stream
}

func bearer(path, body string) func(r *rig) enginetest.Reply {
	return func(r *rig) enginetest.Reply { return r.Do(path, body, "Authorization", "Bearer secret") }
}

func google(method string) func(r *rig) enginetest.Reply {
	return func(r *rig) enginetest.Reply {
		return r.Do(keyed.GeminiPath+"m:"+method, geminiBody, "X-Goog-Api-Key", "secret")
	}
}

var apis = []api{
	{"responses", bearer(keyed.ResponsesPath, fmt.Sprintf(responsesBody, "")), bearer(keyed.ResponsesPath, fmt.Sprintf(responsesBody, `,"stream":true`)), "response.completed"},
	{"chat", bearer(keyed.ChatPath, fmt.Sprintf(chatBody, "")), bearer(keyed.ChatPath, fmt.Sprintf(chatBody, `,"stream":true,"stream_options":{"include_usage":true}`)), "[DONE]"},
	{"gemini", google("generateContent"), google("streamGenerateContent?alt=sse"), `"finishReason":"STOP"`},
}

// Every step has its words in every dialect, in a stream and in a plain response.
func TestSteps(t *testing.T) {
	call := script.Call{ID: "call_1", Name: "f", Input: `{"x": "a b c d e f"}`}
	for name, c := range map[string]struct {
		step     script.Step
		status   int               // of a plain response
		stream   int               // of a stream; 0 = 200
		texts    map[string]string // by dialect
		anywhere string            // in every dialect
		whole    bool              // the stream ends as after success
	}{
		"text":      {step: script.Text("some text"), status: 200, anywhere: "some text", whole: true},
		"reasoning": {step: script.Reasoning("a thought", "text"), status: 200, anywhere: "a thought", whole: true},
		"call":      {step: script.Calls(call), status: 200, anywhere: `"name":"f"`, texts: map[string]string{"gemini": "thoughtSignature"}, whole: true},
		"refusal":   {step: script.Refusal("I refuse"), status: 200, anywhere: "I refuse", texts: map[string]string{"gemini": "SAFETY"}},
		"maximum": {
			step: script.MaxTokens("part"), status: 200, anywhere: "part",
			texts: map[string]string{"responses": "max_output_tokens", "chat": `"finish_reason":"length"`, "gemini": "MAX_TOKENS"},
		},
		"filter": {
			step: script.Text("part").Stopping(script.AtFiltered), status: 200, anywhere: "part",
			texts: map[string]string{"responses": "content_filter", "chat": "content_filter", "gemini": "SAFETY"},
		},
		"overflow": {
			step: script.Overflow(), status: 400, stream: 400,
			texts: map[string]string{"responses": "context_length_exceeded", "chat": "context_length_exceeded", "gemini": "exceeds the maximum number of tokens"},
		},
		"failure before": {step: script.FailBefore(script.Overloaded), status: 503, stream: 503, anywhere: "overloaded"},
		"failure first":  {step: script.FailFirst(script.ServerError), status: 500, anywhere: "error"},
		"failure after":  {step: script.FailAfter("part", script.ServerError), status: 500, anywhere: "error"},
		"rate limit": {
			step: script.FailBefore(script.RateLimited), status: 429, stream: 429,
			texts: map[string]string{"responses": "rate_limit_exceeded", "chat": "rate_limit_exceeded", "gemini": `"retryDelay":"17s"`},
		},
		"cut": {step: script.Cut("part"), status: 200, anywhere: "part"},
	} {
		bubble(t, func(r *rig) {
			for _, api := range apis {
				r.p.Script(c.step, c.step)
				plain, stream := api.plain(r), api.stream(r)
				for _, reply := range []enginetest.Reply{plain, stream} {
					for _, text := range []string{c.anywhere, c.texts[api.name]} {
						reply.Want(r, reply.Status, text)
					}
				}
				want := c.stream
				if want == 0 {
					want = 200
				}
				if plain.Status != c.status || stream.Status != want {
					r.Errorf("%s, %s: status %d, in a stream %d", name, api.name, plain.Status, stream.Status)
				}
				if stream.Status == 200 && c.whole {
					stream.Want(r, 200, api.last)
				}
				if name == "cut" && slices.Contains(stream.Names(), "response.completed") {
					r.Errorf("the stream is whole: %s", stream.Body)
				}
			}
		})
	}
}

// The calls of a Chat stream are told apart by their index, and the usage follows the finish.
func TestInterleavedChat(t *testing.T) {
	bubble(t, func(r *rig) {
		input := `{"x": "a b c d e f g h"}`
		r.p.Script(script.Interleaved(script.Call{Name: "f", Input: input}, script.Call{Name: "g", Input: input}))
		events := apis[1].stream(r).Events(r)
		var order []int
		arguments := map[int]string{}
		for _, e := range events[1 : len(events)-2] {
			call := e["choices"].([]any)[0].(map[string]any)["delta"].(map[string]any)["tool_calls"].([]any)[0].(map[string]any)
			index := int(call["index"].(float64))
			order = append(order, index)
			arguments[index] += call["function"].(map[string]any)["arguments"].(string)
		}
		if arguments[0] != input || arguments[1] != input || !slices.Equal(order[:4], []int{0, 1, 0, 1}) {
			r.Errorf("got %v in the order %v", arguments, order)
		}
		if finish := events[len(events)-2]["choices"].([]any)[0].(map[string]any)["finish_reason"]; finish != "tool_calls" {
			r.Errorf("finish is %v", finish)
		}
		if usage, ok := events[len(events)-1]["usage"].(map[string]any); !ok || usage["prompt_tokens"] == 0 {
			r.Errorf("usage is %v", usage)
		}
	})
}

func TestKeys(t *testing.T) {
	bubble(t, func(r *rig) {
		r.Do(keyed.ChatPath, fmt.Sprintf(chatBody, "")).Want(r, 401, "invalid_api_key")
		r.Do(keyed.GeminiPath+"m:generateContent", geminiBody, "Authorization", "Bearer secret").Want(r, 401, "UNAUTHENTICATED")
		r.Do(keyed.ModelsPath, "", "Authorization", "Bearer secret").Want(r, 200, `"id":"m"`)
		bearer(keyed.ChatPath, `{"model":"other","messages":[{"role":"user","content":"x"}]}`)(r).Want(r, 404, "model_not_found")
		bearer("/v1/other", "{}")(r).Want(r, 404)
		google("countTokens")(r).Want(r, 200, "totalTokens")
		google("streamGenerateContent")(r).Want(r, 400, "alt=sse")
		if got := r.p.RequestsTo(keyed.ModelsPath)[0].Account; got != "k" {
			r.Errorf("account is %q", got)
		}
	})
}

// The signature of a call must come back with it.
func TestThoughtSignature(t *testing.T) {
	bubble(t, func(r *rig) {
		history := func(signature string) enginetest.Reply {
			return r.Do(keyed.GeminiPath+"m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}`+
				signature+`}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]}`, "X-Goog-Api-Key", "secret")
		}
		history("").Want(r, 400, "thought_signature")
		history(`,"thoughtSignature":"`+base64.StdEncoding.EncodeToString([]byte("thought:1"))+`"`).Want(r, 200)
		history(`,"thoughtSignature":"skip_thought_signature_validator"`).Want(r, 200)
	})
}
