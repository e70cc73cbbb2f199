package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"shunt/internal/sim"
	"shunt/internal/sim/script"
)

// weather is the tool of the tests, and a call of it.
var (
	weatherSchema = map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}}
	weatherCall   = script.Call{Name: "weather", Input: `{"city":"Oslo"}`}
)

// isOslo reports whether arguments are those of the call.
func isOslo(arguments string) bool {
	var a struct{ City string }
	return json.Unmarshal([]byte(arguments), &a) == nil && a.City == "Oslo"
}

// onClaude starts a gateway whose OpenAI endpoints are served by Claude accounts, and returns a client of it.
func onClaude(t *testing.T) (*provider, openai.Client) {
	t.Helper()
	p := startProvider(t, sim.Config{Accounts: subscriptions("a")})
	g := startConfigured(t, p, newStore(t, p, "a"), fmt.Sprintf("[server.openai_endpoint]\nprovider = \"anthropic\"\n[providers.anthropic]\nbase_url = %q\n%s\n", p.url, pool))
	return p, openai.NewClient(option.WithBaseURL(g.url+"/v1"), option.WithAPIKey("any"), option.WithMaxRetries(0))
}

// INB-2: OpenAI's library reads a tool call, a text, reasoning and an error from the Responses endpoint on Claude accounts, streamed
// and not.
func TestResponsesLibraryOnClaude(t *testing.T) {
	p, client := onClaude(t)
	params := responses.ResponseNewParams{
		Model:     model,
		Input:     responses.ResponseNewParamsInputUnion{OfString: openai.String("what is the weather?")},
		Tools:     []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "weather", Parameters: weatherSchema, Strict: openai.Bool(false)}}},
		Reasoning: shared.ReasoningParam{Effort: shared.ReasoningEffortHigh, Summary: shared.ReasoningSummaryAuto},
	}
	check := func(r *responses.Response, want string) {
		t.Helper()
		calls := 0
		for _, item := range r.Output {
			if call, ok := item.AsAny().(responses.ResponseFunctionToolCall); ok {
				calls++
				if call.Name != "weather" || !isOslo(call.Arguments) || call.CallID == "" {
					t.Errorf("%+v", call)
				}
			}
		}
		if (want == "") != (calls == 1) || r.OutputText() != want || r.Status != "completed" || r.Model != model || r.Usage.TotalTokens == 0 {
			t.Errorf("%d calls, text %q, %s %s, %d tokens", calls, r.OutputText(), r.Status, r.Model, r.Usage.TotalTokens)
		}
	}
	p.Script(script.Calls(weatherCall), script.Text("hello"))
	for _, want := range []string{"", "hello"} {
		r, err := client.Responses.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		check(r, want)
	}
	p.Script(script.Calls(weatherCall), script.Reasoning("thinking", "hello"))
	for _, want := range []string{"", "hello"} {
		stream := client.Responses.NewStreaming(t.Context(), params)
		var arguments, text string
		var completed *responses.Response
		next := int64(0)
		for stream.Next() {
			event := stream.Current()
			if event.Type != "ping" && event.SequenceNumber != next {
				t.Errorf("%s has the number %d, want %d", event.Type, event.SequenceNumber, next)
			}
			next = event.SequenceNumber + 1
			switch e := event.AsAny().(type) {
			case responses.ResponseFunctionCallArgumentsDeltaEvent:
				arguments += e.Delta
			case responses.ResponseTextDeltaEvent:
				text += e.Delta
			case responses.ResponseCompletedEvent:
				completed = &e.Response
			}
		}
		if stream.Err() != nil || completed == nil {
			t.Fatalf("%v, completed %v", stream.Err(), completed)
		}
		check(completed, want)
		if text != want || want == "" && !isOslo(arguments) {
			t.Errorf("text %q, arguments %q", text, arguments)
		}
	}
	p.Script(script.Overflow())
	_, err := client.Responses.New(t.Context(), params)
	if failed := (*openai.Error)(nil); !errors.As(err, &failed) || failed.StatusCode != 400 || failed.Code != "context_length_exceeded" {
		t.Errorf("DIA-7: %v", err)
	}
}

// INB-3: OpenAI's library reads two tool calls, a text, usage and an error from the Chat endpoint on Claude accounts.
func TestChatLibraryOnClaude(t *testing.T) {
	p, client := onClaude(t)
	params := openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("be short"), openai.UserMessage("what is the weather?")},
		Tools:    []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "weather", Parameters: weatherSchema})},
	}
	check := func(c *openai.ChatCompletion, calls int, text, reason string) {
		t.Helper()
		if len(c.Choices) != 1 || len(c.Choices[0].Message.ToolCalls) != calls || c.Choices[0].Message.Content != text || c.Choices[0].FinishReason != reason || c.Model != model {
			t.Fatalf("%+v", c)
		}
		for _, call := range c.Choices[0].Message.ToolCalls {
			if call.Function.Name != "weather" || !isOslo(call.Function.Arguments) || call.ID == "" {
				t.Errorf("%+v", call)
			}
		}
	}
	steps := []script.Step{script.Interleaved(weatherCall, weatherCall), script.Text("hello")}
	p.Script(steps...)
	for i, reason := range []string{"tool_calls", "stop"} {
		c, err := client.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		check(c, 2*(1-i), []string{"", "hello"}[i], reason)
		if c.Usage.TotalTokens == 0 {
			t.Error("no usage")
		}
	}
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	p.Script(steps...)
	for i, reason := range []string{"tool_calls", "stop"} {
		stream := client.Chat.Completions.NewStreaming(t.Context(), params)
		var all openai.ChatCompletionAccumulator
		for stream.Next() {
			all.AddChunk(stream.Current())
		}
		if stream.Err() != nil {
			t.Fatal(stream.Err())
		}
		check(&all.ChatCompletion, 2*(1-i), []string{"", "hello"}[i], reason)
		if all.Usage.TotalTokens == 0 {
			t.Error("no usage in the stream")
		}
	}
	params.N = openai.Int(2)
	_, err := client.Chat.Completions.New(t.Context(), params)
	if failed := (*openai.Error)(nil); !errors.As(err, &failed) || failed.StatusCode != 400 {
		t.Errorf("DIA-5: %v", err)
	}
}

// RSP-1: Anthropic's library reads thinking, a tool call, a text and an error from ChatGPT accounts, streamed and not.
func TestMessagesLibraryOnChatGPT(t *testing.T) {
	p, base, dir := startChatGPT(t, "a")
	claude := startProvider(t, sim.Config{Accounts: subscriptions("x")})
	g := startConfigured(t, claude, newStore(t, claude, "x"), chatgptPool(base), "SHUNT_CODEX_ACCOUNTS_DIR="+dir, "SHUNT_SERVER__DEFAULT_PROVIDER=chatgpt")
	client := anthropic.NewClient(anthropicoption.WithBaseURL(g.url), anthropicoption.WithAuthToken("any"), anthropicoption.WithMaxRetries(0))
	params := anthropic.MessageNewParams{
		Model: model, MaxTokens: 4000,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("what is the weather?"))},
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name: "weather", InputSchema: anthropic.ToolInputSchemaParam{Properties: weatherSchema["properties"], Required: []string{"city"}},
		}}},
		Thinking: anthropic.ThinkingConfigParamOfEnabled(2000),
	}
	check := func(m *anthropic.Message) {
		t.Helper()
		var kinds []string
		for _, block := range m.Content {
			kinds = append(kinds, block.Type)
			if block.Type == "tool_use" && (block.Name != "weather" || !isOslo(string(block.Input))) {
				t.Errorf("%+v", block)
			}
		}
		if fmt.Sprint(kinds) != "[thinking text tool_use]" || m.StopReason != "tool_use" || m.Model != model || m.Usage.InputTokens == 0 || m.Usage.OutputTokens == 0 {
			t.Errorf("%v, %s, %s, %+v", kinds, m.StopReason, m.Model, m.Usage)
		}
	}
	step := script.Reasoning("hmm", "let me look")
	step.Calls = []script.Call{weatherCall}
	p.Script(step, step)
	m, err := client.Messages.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	check(m)
	stream := client.Messages.NewStreaming(t.Context(), params)
	var all anthropic.Message
	for stream.Next() {
		if err := all.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if stream.Err() != nil {
		t.Fatal(stream.Err())
	}
	check(&all)
	p.Script(script.Overflow())
	if _, err := client.Messages.New(t.Context(), params); err == nil || !strings.Contains(err.Error(), "prompt is too long") {
		t.Errorf("DIA-7: %v", err)
	}
	count, err := client.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: model, Messages: params.Messages})
	if err != nil || count.InputTokens < 5 {
		t.Errorf("DIA-10: %+v, %v", count, err)
	}
}
