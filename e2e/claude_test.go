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
)

// claude is one user of Claude Code: a home and a working directory, in which conversations go on.
type claude struct {
	home, work string
	env        []string
}

const model = "claude-sonnet-4-5"

// newClaude is a user whose Claude Code talks to the base URL with the token as its bearer.
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

// loopback is what must never go through a proxy of the machine.
const loopback = "127.0.0.1,localhost,::1"

// turn is what Claude Code made of one prompt.
type turn struct {
	stdout, stderr string
	code           int
}

// running is a turn that is going on.
type running struct {
	stdout lockedBuffer // what it shows so far
	over   chan turn    // the result, when Claude Code has ended
}

// start begins a turn. A minute is the end of its patience.
func (c *claude) start(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	cmd := exec.CommandContext(ctx, claudePath, append([]string{"-p", "--model", model}, args...)...)
	r := &running{over: make(chan turn, 1)}
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
		r.over <- turn{strings.TrimSpace(r.stdout.String()), strings.TrimSpace(stderr.String()), cmd.ProcessState.ExitCode()}
	}()
	return r
}

// ask begins a conversation, and reply goes on with it.
func (c *claude) ask(t *testing.T, prompt string, args ...string) turn {
	t.Helper()
	return <-c.start(t, append(args, prompt)...).over
}

func (c *claude) reply(t *testing.T, prompt string) turn {
	t.Helper()
	return <-c.start(t, "--continue", prompt).over
}
