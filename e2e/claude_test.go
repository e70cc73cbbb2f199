package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"shunt/internal/observe/observetest"
)

// claude is a user of Claude Code, with a home and a working directory in which conversations continue.
type claude struct {
	home, work string
	env        []string
}

const model = "claude-sonnet-4-5"

// newClaude returns a user whose Claude Code sends requests to the base URL with the token as its bearer token.
func newClaude(t *testing.T, baseURL, token string) *claude {
	t.Helper()
	home, work := t.TempDir(), t.TempDir()
	return &claude{home, work, []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8",
		"ANTHROPIC_BASE_URL=" + baseURL, "ANTHROPIC_AUTH_TOKEN=" + token,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1",
		"NO_PROXY=" + loopback, "no_proxy=" + loopback,
	}}
}

// loopback lists the hosts for which to bypass a proxy of the machine.
const loopback = "127.0.0.1,localhost,::1"

// turn is Claude Code's output for a prompt.
type turn struct {
	stdout, stderr string
	code           int
}

// running is a turn in progress.
type running struct {
	stdout observetest.Log // the output so far
	done   chan turn       // receives the result when Claude Code exits
}

// start begins a turn, with a timeout of one minute.
func (c *claude) start(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	cmd := exec.CommandContext(ctx, claudePath, append([]string{"-p", "--model", model}, args...)...)
	r := &running{done: make(chan turn, 1)}
	var stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.work, c.env, &r.stdout, &stderr
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	go func() {
		defer cancel()
		err := cmd.Wait()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			stderr.WriteString(err.Error())
		}
		r.done <- turn{strings.TrimSpace(r.stdout.String()), strings.TrimSpace(stderr.String()), cmd.ProcessState.ExitCode()}
	}()
	return r
}

// prompt starts a conversation, and followUp continues it.
func (c *claude) prompt(t *testing.T, text string, args ...string) turn {
	t.Helper()
	return <-c.start(t, append(args, text)...).done
}

func (c *claude) followUp(t *testing.T, text string) turn {
	t.Helper()
	return <-c.start(t, "--continue", text).done
}
