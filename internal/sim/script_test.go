package sim_test

import (
	"strings"
	"testing"

	"shunt/internal/sim"
	"shunt/internal/sim/script"
)

// A script replaces the provider's own responses, in a stream and in a plain response.
func TestScript(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		const prompt = `"model":"claude-sonnet-4-5","max_tokens":900,"messages":[{"role":"user","content":"x"}]}`
		call := script.Call{ID: "toolu_1", Name: "f", Input: `{"x": "a b c d e f"}`}
		for name, c := range map[string]struct {
			step          script.Step
			plain, stream int
			texts         []string
		}{
			"text":           {script.Text("some text"), 200, 200, []string{"some text", `"stop_reason":"end_turn"`}},
			"calls":          {script.Calls(call, script.Call{Name: "g"}), 200, 200, []string{`"id":"toolu_1"`, `"name":"g"`, `"stop_reason":"tool_use"`}},
			"custom":         {script.Calls(script.Call{Name: "f", Input: "patch", Custom: true}), 200, 200, []string{"input", "patch"}},
			"refusal":        {script.Refusal("I refuse"), 200, 200, []string{"I refuse", `"stop_reason":"refusal"`}},
			"maximum":        {script.MaxTokens("part"), 200, 200, []string{`"stop_reason":"max_tokens"`}},
			"cached":         {script.Text("x").WithCached(3), 200, 200, []string{`"cache_read_input_tokens":3`}},
			"overflow":       {script.Overflow(), 400, 400, []string{"prompt is too long: 212345 tokens > 200000 maximum"}},
			"failure before": {script.FailBefore(script.Overloaded), 529, 529, []string{"overloaded_error"}},
			"failure first":  {script.FailFirst(script.Overloaded), 529, 200, []string{"overloaded_error"}},
			"failure after":  {script.FailAfter("part", script.ServerError), 500, 200, []string{"api_error"}},
			"invalid":        {script.FailBefore(script.Invalid), 400, 400, []string{"invalid_request_error"}},
		} {
			r.Script(c.step, c.step)
			plain, stream := r.do("a", sim.MessagesPath, "{"+prompt), r.do("a", sim.MessagesPath, `{"stream":true,`+prompt)
			if plain.StatusCode != c.plain || stream.StatusCode != c.stream {
				r.Errorf("%s: status %d, in a stream %d", name, plain.StatusCode, stream.StatusCode)
			}
			for _, text := range c.texts {
				if !strings.Contains(plain.body, text) || !strings.Contains(stream.body, text) {
					r.Errorf("%s: %s is not in %s or %s", name, text, plain.body, stream.body)
				}
			}
		}
		r.Script(script.Cut("part"))
		if cut := r.do("a", sim.MessagesPath, `{"stream":true,`+prompt); strings.Contains(cut.body, "message_delta") || !strings.Contains(cut.body, "part") {
			r.Errorf("got %s", cut.body)
		}
	})
}

// The provider calls the shell of a client that asks it to run a command, once.
func TestRun(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		const prompt = `{"model":"claude-sonnet-4-5","max_tokens":900,"tools":[{"name":"Bash","input_schema":{"properties":{"command":{"type":"string"}}}}],"messages":[{"role":"user","content":"run: ls"}%s]}`
		r.do("a", sim.MessagesPath, strings.Replace(prompt, "%s", "", 1)).want(r, 200, `"input":{"command":"ls"}`, `"stop_reason":"tool_use"`)
		const result = `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"file"}]}`
		r.do("a", sim.MessagesPath, strings.Replace(prompt, "%s", result, 1)).want(r, 200, "[sim text", `"stop_reason":"end_turn"`)
		r.do("a", sim.MessagesPath, strings.Replace(prompt, "%s", strings.Replace(result, `"tool_use_id":"toolu_1"`, `"tool_use_id":"other"`, 1), 1)).want(r, 400, "tool_use_id")
	})
}
