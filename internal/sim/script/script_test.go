package script_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"shunt/internal/sim/script"
)

func TestDefault(t *testing.T) {
	schema := func(s string) json.RawMessage { return json.RawMessage(s) }
	bash := script.Tool{Name: "Bash", Schema: schema(`{"properties":{"command":{"type":"string"},"description":{"type":"string"},"timeout":{"type":"number"}},"required":["command","description"]}`)}
	for name, c := range map[string]struct {
		user  string
		tools []script.Tool
		want  script.Call // zero: a text
	}{
		"a shell with a description": {
			"please\n  run: ls -l \nthanks",
			[]script.Tool{{Name: "Read"}, bash},
			script.Call{Name: "Bash", Input: `{"command":"ls -l","description":"Run a command"}`},
		},
		"a shell with an argument vector": {
			"run: ls",
			[]script.Tool{{Name: "shell", Schema: schema(`{"properties":{"command":{"type":"array"}},"required":["command"]}`)}},
			script.Call{Name: "shell", Input: `{"command":["sh","-c","ls"]}`},
		},
		"cmd": {
			"run: ls",
			[]script.Tool{{Name: "exec_command", Schema: schema(`{"properties":{"cmd":{"type":"string"}},"required":["cmd"]}`)}},
			script.Call{Name: "exec_command", Input: `{"cmd":"ls"}`},
		},
		"a program": {
			"run: ls",
			[]script.Tool{{Namespace: "functions", Name: "exec", Custom: true}},
			script.Call{Namespace: "functions", Name: "exec", Custom: true, Input: `const r = await tools.exec_command({"cmd":"ls"}); text(JSON.stringify(r));`},
		},
		"a program in a translated namespace": {
			"run: ls",
			[]script.Tool{{Name: "functions__exec"}},
			script.Call{Name: "functions__exec", Input: `{"input":"const r = await tools.exec_command({\"cmd\":\"ls\"}); text(JSON.stringify(r));"}`},
		},
		"no shell":  {"run: ls", []script.Tool{{Name: "Read"}}, script.Call{}},
		"no marker": {"dry-run: ls", []script.Tool{bash}, script.Call{}},
		"a result":  {"", []script.Tool{bash}, script.Call{}},
	} {
		step := script.Default(script.Prompt{Digest: "d", LastUser: c.user, Tools: c.tools}, 10, rand.New(rand.NewPCG(1, 2)))
		switch {
		case c.want == script.Call{}:
			if err := script.Verify(step.Text, "text", "d"); err != nil || len(step.Calls) > 0 {
				t.Errorf("%s: got %+v (%v)", name, step, err)
			}
		case len(step.Calls) != 1 || step.Calls[0] != c.want:
			t.Errorf("%s: got %+v, want %+v", name, step.Calls, c.want)
		}
	}
}

func TestDefaultLimits(t *testing.T) {
	prompt := script.Prompt{Digest: "d", MaxTokens: 3, Reasoning: true}
	step := script.Default(prompt, 10, rand.New(rand.NewPCG(1, 2)))
	if step.Stop != script.AtMaximum || script.Tokens(step.Text) != 3 || step.Reasoning == "" {
		t.Errorf("got %+v", step)
	}
	prompt.Reasoning = false
	if got := script.Reasoning("thought", "text").For(prompt); got.Reasoning != "" || got.Text != "text" {
		t.Errorf("got %+v", got)
	}
}

func TestQueue(t *testing.T) {
	var q script.Queue
	if _, ok := q.Next(); ok {
		t.Error("an empty queue has a step")
	}
	q.Add(script.Text("1"), script.Text("2").WithCut().WithCached(5))
	first, _ := q.Next()
	second, _ := q.Next()
	if first.Text != "1" || !second.Cut || second.Cached != 5 || q.Len() != 0 {
		t.Errorf("got %+v, %+v, %d left", first, second, q.Len())
	}
}
