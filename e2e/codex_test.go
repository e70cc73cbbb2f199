package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// codex is a user of Codex, with a home and a working directory in which conversations continue.
type codex struct {
	home, work string
	env        []string
}

// codexModel is a model for which Codex sends its tools as plain functions.
const codexModel = "gpt-5.5"

// newCodex returns a user whose Codex sends requests to the base URL with the token as its bearer token. More are lines of its
// configuration, before any table.
func newCodex(t *testing.T, baseURL, token, model string, more ...string) *codex {
	t.Helper()
	home, work := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(home, "config.toml"), fmt.Appendf(nil, `model = %q
model_provider = "shunt"
%s
[model_providers.shunt]
name = "shunt"
base_url = %q
wire_api = "responses"
env_key = "SHUNT_TOKEN"
request_max_retries = 0
stream_max_retries = 1
stream_idle_timeout_ms = 30000
`, model, strings.Join(more, "\n"), baseURL))
	return &codex{home, work, []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CODEX_HOME=" + home, "TERM=xterm", "SHUNT_TOKEN=" + token,
		// Whatever it sends elsewhere fails at once.
		"HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=" + loopback, "no_proxy=" + loopback,
	}}
}

// codexTurn is Codex's output for a prompt.
type codexTurn struct {
	messages []string // of the assistant
	commands []string // that it ran, with their output
	failure  string   // of the turn; empty if it was completed
	events   string   // all of the output
	code     int
}

// last returns the last message of the assistant.
func (c codexTurn) last() string {
	if len(c.messages) == 0 {
		return ""
	}
	return c.messages[len(c.messages)-1]
}

// prompt starts a conversation, and followUp continues it.
func (c *codex) prompt(t *testing.T, text string) codexTurn {
	t.Helper()
	return c.run(t, "exec", "--skip-git-repo-check", "--json", "-s", "danger-full-access", text)
}

func (c *codex) followUp(t *testing.T, text string) codexTurn {
	t.Helper()
	return c.run(t, "exec", "resume", "--last", "--skip-git-repo-check", "--json", text)
}

// run runs Codex with a timeout of a minute.
func (c *codex) run(t *testing.T, args ...string) codexTurn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, codexPath, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.work, c.env, &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("codex: %v", err)
	}
	got := parseCodex(t, stdout.String())
	got.code = cmd.ProcessState.ExitCode()
	if t.Failed() || got.code != 0 {
		t.Logf("codex exited with %d\n%s\n%s", got.code, got.events, stderr.String())
	}
	return got
}

// parseCodex reads the JSON lines that Codex prints.
func parseCodex(t *testing.T, output string) codexTurn {
	t.Helper()
	got := codexTurn{events: output}
	for line := range strings.Lines(output) {
		var e struct {
			Type  string
			Error struct{ Message string }
			Item  struct {
				Type, Text, Command string
				Output              string `json:"aggregated_output"`
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("codex printed %q", line)
		}
		switch {
		case e.Type == "turn.failed":
			got.failure = e.Error.Message
		case e.Type == "item.completed" && e.Item.Type == "agent_message":
			got.messages = append(got.messages, e.Item.Text)
		case e.Type == "item.completed" && e.Item.Type == "command_execution":
			got.commands = append(got.commands, e.Item.Command+"\n"+e.Item.Output)
		}
	}
	return got
}
