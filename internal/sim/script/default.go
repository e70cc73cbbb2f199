package script

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Prompt is what [Default] knows about a request.
type Prompt struct {
	Digest    string // identifies the prompt; the checksummed texts name it
	LastUser  string // the text of the last turn if it is the user's and not a tool's result
	Tools     []Tool
	Reasoning bool  // the client requested reasoning
	MaxTokens int64 // 0: no limit
}

// Tool is a tool that the client offers.
type Tool struct {
	Namespace string // empty: none, or the dialect does not have them
	Name      string
	Custom    bool            // its input is free text
	Schema    json.RawMessage // JSON schema of the input; empty for a custom tool
}

// marker begins a line of the user that makes [Default] run the rest of the line as a command.
const marker = "run: "

// Default returns the response to a prompt without a script. If the user's last message has a line "run: COMMAND" and the
// client has a tool that looks like a shell, it calls that tool. Otherwise it responds with a checksummed text of the given
// number of words (see [Verify]), shortened to the prompt's limit.
func Default(p Prompt, words int, r *rand.Rand) Step {
	if command, ok := commandOf(p.LastUser); ok {
		if call, ok := shellCall(p.Tools, command); ok {
			return Calls(call)
		}
	}
	var s Step
	if p.MaxTokens > 0 && int64(words) > p.MaxTokens {
		words, s.Stop = int(p.MaxTokens), AtMaximum
	}
	if p.Reasoning {
		s.Reasoning = Checksummed("thinking", p.Digest, words/2, r)
	}
	s.Text = Checksummed("text", p.Digest, words, r)
	return s
}

// For returns the step as a response to the prompt: without reasoning unless the client requested it.
func (s Step) For(p Prompt) Step {
	if !p.Reasoning {
		s.Reasoning = ""
	}
	return s
}

func commandOf(text string) (string, bool) {
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), marker); ok {
			return command, true
		}
	}
	return "", false
}

// shells are the names of the shell-like tools of coding clients, the preferred first.
var shells = []string{"Bash", "exec_command", "shell_command", "local_shell", "shell", "bash"}

// shellCall returns a call of the client's shell that runs the command, with what the tool's schema requires.
func shellCall(tools []Tool, command string) (Call, bool) {
	for _, name := range shells {
		if i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name && !t.Custom }); i >= 0 {
			return Call{Namespace: tools[i].Namespace, Name: name, Input: shellInput(tools[i].Schema, command)}, true
		}
	}
	for _, t := range tools {
		if t.Custom && t.Name == "exec" {
			return Call{Namespace: t.Namespace, Name: t.Name, Input: program(command), Custom: true}, true
		}
		if strings.HasSuffix(t.Name, "__exec") {
			return Call{Namespace: t.Namespace, Name: t.Name, Input: encode(map[string]any{"input": program(command)})}, true
		}
	}
	return Call{}, false
}

// program returns the JavaScript that runs the command, for clients whose only tool runs programs that call tools.
func program(command string) string {
	return "const r = await tools.exec_command(" + encode(map[string]any{"cmd": command}) + "); text(JSON.stringify(r));"
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("script: %v", err))
	}
	return string(data)
}

// shellInput fills in the members of a shell's input: the command, as a string or as an argument vector, and a text for each
// other required string.
func shellInput(schema json.RawMessage, command string) string {
	var s struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(schema, &s) // an unknown schema has no properties, and the command alone is sent
	input := map[string]any{}
	for _, name := range s.Required {
		if s.Properties[name].Type == "string" {
			input[name] = "Run a command"
		}
	}
	member := "command"
	if _, ok := s.Properties["cmd"]; ok {
		member = "cmd"
	}
	input[member] = command
	if s.Properties[member].Type == "array" {
		input[member] = []string{"sh", "-c", command}
	}
	return encode(input)
}
