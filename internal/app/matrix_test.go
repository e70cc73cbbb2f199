package app_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shunt/internal/dialect"
	"shunt/internal/dialect/chat"
	"shunt/internal/dialect/messages"
	"shunt/internal/dialect/responses"
	"shunt/internal/relay"
	"shunt/internal/sim"
	"shunt/internal/sim/chatgpt"
	"shunt/internal/sim/engine"
	"shunt/internal/sim/keyed"
	"shunt/internal/sim/kimi"
	"shunt/internal/sim/script"
	"shunt/internal/sim/simtest"
)

// speaker is a client of one dialect.
type speaker struct {
	dialect.Inbound
	dialect.Outbound // reads what the client gets
	path             string
	tool, image      string // what goes into a request
}

// pixel is an image of one pixel.
var pixel = base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))

// body returns a request for a model.
func (s *speaker) body(model string, stream bool, image bool) string {
	content := `"describe it"`
	if image {
		content = s.image
	}
	return fmt.Sprintf(map[string]string{
		"messages":  `{"model":%q,"stream":%v,"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":%s}],"tools":[%s]}`,
		"responses": `{"model":%q,"stream":%v,"store":false,"reasoning":{"effort":"high","summary":"auto"},"include":["reasoning.encrypted_content"],"input":[{"type":"message","role":"user","content":%s}],"tools":[%s]}`,
		"chat":      `{"model":%q,"stream":%v,"stream_options":{"include_usage":true},"reasoning_effort":"high","messages":[{"role":"user","content":%s}],"tools":[%s]}`,
	}[s.Inbound.Name()], model, stream, content, s.tool)
}

var speakers = []speaker{
	{
		Inbound: messages.Dialect{}, Outbound: messages.Dialect{}, path: "/v1/messages",
		tool:  `{"name":"look","input_schema":{"type":"object","properties":{"at":{"type":"string"}}}},{"name":"hear","input_schema":{"type":"object"}}`,
		image: `[{"type":"text","text":"describe it"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}]`,
	},
	{
		Inbound: responses.Dialect{}, Outbound: responses.Dialect{}, path: "/v1/responses",
		tool:  `{"type":"function","name":"look","parameters":{"type":"object","properties":{"at":{"type":"string"}}}},{"type":"function","name":"hear","parameters":{"type":"object","properties":{}}}`,
		image: `[{"type":"input_text","text":"describe it"},{"type":"input_image","image_url":"data:image/png;base64,` + pixel + `"}]`,
	},
	{
		Inbound: chat.Dialect{}, Outbound: chat.Dialect{}, path: "/v1/chat/completions",
		tool:  `{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{"at":{"type":"string"}}}}},{"type":"function","function":{"name":"hear","parameters":{"type":"object"}}}`,
		image: `[{"type":"text","text":"describe it"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + pixel + `"}}]`,
	},
}

// scripted is a simulated provider that responds as a test says.
type scripted interface {
	http.Handler
	Script(steps ...script.Step)
	Unplayed() int
	Requests() []engine.Request
}

// upstreamKinds are the upstreams of the matrix: their configuration, and the provider behind each.
var upstreamKinds = []struct {
	name, table, base string
	provider          func() (p scripted, env []string)
}{
	{"messages", `kind = "anthropic"` + "\n" + `auth = "kimi_oauth"`, kimi.BasePath, func() (scripted, []string) {
		p := kimi.New(kimi.Config{Accounts: []kimi.Account{{Name: "a"}}, Models: []string{"gpt-5.5"}})
		return p, []string{"SHUNT_KIMI_ACCOUNTS_DIR", string(p.Credentials("a"))}
	}},
	{"chatgpt", `kind = "responses"` + "\n" + `auth = "chatgpt_oauth"`, chatgpt.BasePath, func() (scripted, []string) {
		p := chatgpt.New(chatgpt.Config{Accounts: []chatgpt.Account{{Name: "a"}}})
		return p, []string{"SHUNT_CODEX_ACCOUNTS_DIR", string(p.Credentials("a"))}
	}},
	{"responses", `kind = "responses"` + "\n" + `auth = "api_key"` + "\n" + `api_key_env = "TEST_KEY"`, "/v1", func() (scripted, []string) {
		return keyed.New(keyed.Config{Keys: map[string]string{"a": simtest.PaidKey}}), nil
	}},
	{"gemini", `kind = "gemini"` + "\n" + `auth = "api_key"` + "\n" + `api_key_env = "TEST_KEY"` + "\n" + `api_key_header = "x_goog_api_key"`, "", func() (scripted, []string) {
		return keyed.New(keyed.Config{Keys: map[string]string{"a": simtest.PaidKey}}), nil
	}},
	{"chat", `kind = "chat"` + "\n" + `auth = "api_key"` + "\n" + `api_key_env = "TEST_KEY"`, "/v1", func() (scripted, []string) {
		return keyed.New(keyed.Config{Keys: map[string]string{"a": simtest.PaidKey}}), nil
	}},
}

var (
	look = script.Call{Name: "look", Input: `{"at":"the sea"}`}
	hear = script.Call{Name: "hear", Input: `{"what":["a","b"]}`}
)

// scenario is what an upstream does, and what every client gets of it.
type scenario struct {
	step      script.Step
	image     bool
	text      string
	reasoning string
	calls     []script.Call
	stop      dialect.StopReason
	status    int               // of an error response; 0: none
	kind      dialect.ErrorKind // of the error
	fails     bool              // a stream ends with an error, without a normal end
}

var scenarios = map[string]scenario{
	"text":        {step: script.Text("hello there"), text: "hello there"},
	"call":        {step: script.Calls(look), calls: []script.Call{look}, stop: dialect.StopToolUse},
	"interleaved": {step: script.Interleaved(look, hear), calls: []script.Call{look, hear}, stop: dialect.StopToolUse},
	"image":       {step: script.Text("a pixel"), image: true, text: "a pixel"},
	"reasoning":   {step: script.Reasoning("first this", "then that"), text: "then that", reasoning: "first this"},
	"refusal":     {step: script.Refusal("I will not"), text: "I will not", stop: dialect.StopRefusal},
	"max tokens":  {step: script.MaxTokens("and so on"), text: "and so on", stop: dialect.StopMaxTokens},
	"overflow":    {step: script.Overflow(), status: 400, kind: dialect.ContextOverflow},
	"before":      {step: script.FailBefore(script.Invalid), status: 400, kind: dialect.InvalidRequest},
	"after":       {step: script.FailAfter("half of", script.ServerError), text: "half of", fails: true, kind: dialect.ServerError},
	"cut":         {step: script.Cut("half of"), text: "half of", fails: true, kind: dialect.ServerError},
}

// DIA-1 to DIA-9, RSP-1, RSP-2, CHT-1, INB-1 to INB-3: every client gets the same of every upstream, streamed or not, whatever
// happens.
func TestMatrix(t *testing.T) {
	for _, kind := range upstreamKinds {
		toml := fmt.Sprintf("[server]\ndefault_provider = \"up\"\n[server.openai_endpoint]\nprovider = \"up\"\n[providers.up]\n%s\nbase_url = \"http://127.0.0.1:8401%s\"\n", kind.table, kind.base)
		for name, c := range scenarios {
			for i := range speakers {
				client := &speakers[i]
				for _, stream := range []bool{true, false} {
					t.Run(fmt.Sprintf("%s/%s/%s/stream=%v", kind.name, client.Inbound.Name(), name, stream), func(t *testing.T) {
						p, env := kind.provider()
						inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, toml, func(w *world) {
							p.Script(c.step, c.step, c.step)
							check(w, client, stream, c.at(kind.name, client.Inbound.Name(), stream))
						}, func(w *world) {
							w.Serve("127.0.0.1:8401", p)
							if env != nil {
								dir := w.TempDir()
								w.Must(os.WriteFile(filepath.Join(dir, "a.json"), []byte(env[1]), 0o600))
								w.Env = append(w.Env, env[0]+"="+dir)
							}
						})
					})
				}
			}
		}
	}
}

// at returns the scenario at one kind of upstream, for one kind of client.
func (c scenario) at(upstream, client string, stream bool) scenario {
	native := upstream == client || upstream == "chatgpt" && client == "responses"
	plain := !stream && (native && upstream != "chatgpt" || upstream == "messages" || upstream == "chat" || upstream == "gemini") // the upstream sends one document
	if c.step.Cut && plain {
		c.fails = false // which is whole
	}
	if upstream == "chat" && !native {
		c.reasoning = "" // an unknown vendor is not asked for any
	}
	return c
}

// A model that no upstream has is a 404 in the client's dialect, which lists the models that the configuration names.
func TestUnknownModel(t *testing.T) {
	const toml = "[server]\ndefault_provider = \"up\"\n[server.openai_endpoint]\nprovider = \"up\"\n" +
		"[providers.up]\nkind = \"anthropic\"\nauth = \"api_key\"\napi_key_env = \"TEST_KEY\"\napi_key_header = \"x_api_key\"\nbase_url = \"" + simtest.ProviderURL + "\"\n" +
		"[[models]]\nid = \"house\"\n[model_map.up]\n\"claude-opus\" = \"claude-opus-4-5\"\n"
	inWorld(t, sim.Config{Accounts: simtest.WithKey(0), Models: []string{"claude-opus-4-5"}}, toml, func(w *world) {
		for i := range speakers {
			client := &speakers[i]
			if client.Inbound.Name() == "messages" {
				continue // it gets the upstream's own words
			}
			r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, simtest.GatewayURL+client.path, strings.NewReader(client.body("nobody-has-it", false, false)))
			w.Must(err)
			response, err := w.Client.Do(r)
			w.Must(err)
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			e, ok := client.ParseError(body)
			if response.StatusCode != http.StatusNotFound || !ok || !strings.Contains(e.Message, "house, claude-opus") {
				w.Errorf("%s: %d %s", client.Inbound.Name(), response.StatusCode, body)
			}
		}
	}, keyNotInStore)
}

// check sends the request of a scenario, and compares what the client gets.
func check(w *world, client *speaker, stream bool, c scenario) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, simtest.GatewayURL+client.path, strings.NewReader(client.body("gpt-5.5", stream, c.image)))
	w.Must(err)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Anthropic-Version": {"2023-06-01"}}
	response, err := w.Client.Do(r)
	w.Must(err)
	defer response.Body.Close()
	body, readErr := io.ReadAll(response.Body)
	if c.status != 0 || c.fails && !stream {
		w.wantError(client, response.StatusCode, body, c)
		return
	}
	if response.StatusCode != http.StatusOK || relay.IsEventStream(response.Header) != stream {
		w.Fatalf("%d %v %s", response.StatusCode, response.Header, body)
	}
	got := assemble(client, stream, body)
	if c.fails {
		native := readErr != nil
		if got.failed == nil && !native || got.finished {
			w.Errorf("the response does not fail: %s", body)
		}
		return
	}
	if readErr != nil || !got.finished || got.failed != nil {
		w.Fatalf("%v, %v: %s", readErr, got.failed, body)
	}
	if got.text != c.text || got.stop != c.stop && !(c.stop == dialect.StopRefusal && got.refused) {
		w.Errorf("text %q, stop %v, want %q, %v: %s", got.text, got.stop, c.text, c.stop, body)
	}
	if got.reasoning != c.reasoning && client.Inbound.Name() != "chat" {
		w.Errorf("reasoning %q, want %q: %s", got.reasoning, c.reasoning, body)
	}
	if len(got.calls) != len(c.calls) {
		w.Fatalf("calls %+v, want %+v: %s", got.calls, c.calls, body)
	}
	for i, want := range c.calls {
		if got.calls[i].Name.Name != want.Name || compact(got.arguments[i]) != compact(want.Input) || got.calls[i].ID == "" {
			w.Errorf("call %+v with %s, want %+v", got.calls[i], got.arguments[i], want)
		}
	}
	if u := got.usage; !u.Known || u.Input+u.CacheRead+u.CacheCreation == 0 || u.Output == 0 {
		w.Errorf("usage %+v: %s", u, body)
	}
	if !strings.Contains(string(body), `"gpt-5.5"`) {
		w.Errorf("DIA-4: the model is missing: %s", body)
	}
}

// wantError checks an error response in the client's dialect.
func (w *world) wantError(client *speaker, status int, body []byte, c scenario) {
	w.Helper()
	e, ok := client.ParseError(body)
	if c.fails {
		if status < 500 || !ok {
			w.Errorf("%d %s", status, body)
		}
		return
	}
	if status != c.status || !ok || e.Kind != c.kind && e.Kind != dialect.UnknownError { // some providers name no kind
		w.Errorf("%d, %+v, want %d, %v: %s", status, e, c.status, c.kind, body)
	}
	if c.kind == dialect.ContextOverflow && client.Inbound.Name() == "messages" && !strings.HasPrefix(e.Message, "prompt is too long: ") {
		w.Errorf("DIA-7: %s", e.Message)
	}
}

// assembled is a whole response.
type assembled struct {
	text, reasoning string
	calls           []*dialect.ToolCall
	arguments       []string
	stop            dialect.StopReason
	usage           dialect.Usage
	refused         bool
	finished        bool
	failed          *dialect.Error
}

// assemble reads what a client got.
func assemble(client *speaker, stream bool, body []byte) (a assembled) {
	reader := client.NewReader(&dialect.Encoded{}, stream)
	call := map[int]int{}
	accept := func(e *dialect.Event) {
		switch e.Kind {
		case dialect.PartStarted:
			if e.Type == dialect.CallPart {
				call[e.Part] = len(a.calls)
				a.calls, a.arguments = append(a.calls, e.Call), append(a.arguments, "")
			}
			a.refused = a.refused || e.Type == dialect.RefusalPart
		case dialect.PartDelta:
			switch e.Type {
			case dialect.TextPart, dialect.RefusalPart:
				a.text += string(e.Text)
			case dialect.ReasoningPart:
				a.reasoning += string(e.Text)
			case dialect.CallPart:
				a.arguments[call[e.Part]] += string(e.Text)
			}
		case dialect.Finished:
			a.finished, a.stop, a.usage = true, e.Stop, e.Usage
		case dialect.Failed:
			a.failed = e.Err
		}
	}
	for _, read := range []func() []dialect.Event{
		func() []dialect.Event { return reader.Read(nil, body) },
		func() []dialect.Event { return reader.End(nil) },
	} {
		for _, e := range read() {
			accept(&e)
		}
	}
	return a
}

func compact(text string) string { return strings.ReplaceAll(text, " ", "") }
