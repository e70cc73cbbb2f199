package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shunt/internal/sim"
)

// LOG-3, LOG-4, LOG-6: the whole command, with a program at the other end of its pipes that reads the address and writes the
// code. No token reaches any output, then or later.
func TestLoginOverPipes(t *testing.T) {
	for _, mode := range []string{modeOAuth, modeSetupToken} {
		provider := sim.New(sim.Config{Accounts: []sim.Account{{Name: "a"}}})
		server, err := sim.Start(provider)
		if err != nil {
			t.Fatal(err)
		}
		home := t.TempDir()
		env := []string{
			"HOME=" + home, "SSH_CONNECTION=remote",
			"SHUNT_CLAUDE_AUTHORIZE_URL=" + server.URL + sim.AuthorizePath, "SHUNT_CLAUDE_TOKEN_URL=" + server.URL + sim.TokenPath,
		}
		args := []string{"login", "claude", "--name", "work", "--mode", mode}
		if mode == modeOAuth {
			args = append(args, "--manual")
		}
		code, out := converse(t, args, env, func(line string) (code string) {
			if !strings.HasPrefix(strings.TrimSpace(line), server.URL) {
				return ""
			}
			code, err := sim.Browser{Account: "a"}.Authorize(t.Context(), strings.TrimSpace(line))
			if err != nil {
				t.Error(err)
			}
			return code
		})
		if code != 0 || !strings.Contains(out, "Stored in ") {
			t.Errorf("%s: exit code %d\n%s", mode, code, out)
		}
		for _, args := range [][]string{{"accounts", "list"}, {"accounts", "list", "--json"}, {"accounts", "remove", "other", "work"}} {
			if args[1] == "remove" {
				text, err := os.ReadFile(filepath.Join(home, ".shunt", "accounts", "claude", "work.json"))
				if err != nil || strings.Count(string(text), "sk-ant-") == 0 {
					t.Errorf("%s: %s (%v)", mode, text, err)
				}
			}
			_, more := converse(t, args, env, func(string) string { return "" })
			out += more
		}
		if strings.Contains(out, "sk-ant-") || strings.Contains(out, "code-a-") {
			t.Errorf("%s: LOG-6: a secret is shown:\n%s", mode, out)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

// converse runs a command over pipes. Respond receives each line that the command prints and returns what to write to its
// standard input, if anything. Converse returns everything that the command printed.
func converse(t *testing.T, args, env []string, respond func(line string) string) (code int, out string) {
	t.Helper()
	stdinRead, stdinWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan int, 1)
	go func() {
		done <- Main(System{Args: args, Env: env, Stdin: stdinRead, Stdout: outWrite, Stderr: outWrite})
		outWrite.Close()
	}()
	var all strings.Builder
	for lines := bufio.NewReader(outRead); ; {
		line, err := lines.ReadString('\n')
		all.WriteString(line)
		if text := respond(line); text != "" {
			fmt.Fprintln(stdinWrite, text)
		}
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []*os.File{stdinWrite, stdinRead, outRead} {
		f.Close()
	}
	return <-done, all.String()
}

// A line is read to its end and not further.
func TestReadLine(t *testing.T) {
	r := strings.NewReader("1\n\nlast")
	for _, want := range []string{"1", "", "last"} {
		if got, err := readLine(r); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if got, err := readLine(r); err != io.EOF {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := readLine(strings.NewReader(strings.Repeat("x", maxLine+1))); err == nil {
		t.Error("a line without an end was read")
	}
}
