package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shunt/internal/clock"
	"shunt/internal/identity"
	"shunt/internal/pool"
	"shunt/internal/sim"
)

// start runs the command line and returns its standard output to read from, and its exit code when it has ended.
func start(t *testing.T, args ...string) (*os.File, <-chan int) {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	complaints, err := os.CreateTemp(t.TempDir(), "stderr")
	if err != nil {
		t.Fatal(err)
	}
	exit := make(chan int, 1)
	go func() {
		code := Main(System{Args: args, Stdout: in, Stderr: complaints})
		in.Close()
		exit <- code
	}()
	t.Cleanup(func() {
		if text, err := os.ReadFile(complaints.Name()); err != nil || len(text) > 0 {
			t.Logf("stderr: %s %v", text, err)
		}
		complaints.Close()
		out.Close()
	})
	return out, exit
}

// emptyTemp gives the test a directory for temporary files, and has it end with nothing in there and no goroutine left.
func emptyTemp(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		goleak.VerifyNone(t, before)
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left over: %v %v", left, err)
		}
	})
}

// CLI-3: sessions are served, at least one moves, none sees a failure, and a signal ends it all with nothing left over.
func TestDemo(t *testing.T) {
	emptyTemp(t)
	out, exit := start(t, "demo", "--accelerate", "300", "--sessions", "3")
	totals := regexp.MustCompile(`(\d+) requests, none failed, (\d+) moves?`)
	var text strings.Builder
	ended := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if m := totals.FindStringSubmatch(lines.Text()); m != nil && m[2] != "0" && !ended {
			ended = true
			if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if code := <-exit; code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{
		`(?m)^  export ANTHROPIC_BASE_URL=http://127\.0\.0\.1:\d+$`,
		`(?m)^  export ANTHROPIC_AUTH_TOKEN=any$`,
		`(?m)^That was .* simulated.*, none failed, `,
		`(?m)^  cedar answered \d+ requests? with `,
	} {
		if !regexp.MustCompile(want).MatchString(text.String()) {
			t.Errorf("no line like %s", want)
		}
	}
	last := totals.FindAllStringSubmatch(text.String(), -1)
	if len(last) == 0 {
		t.Fatalf("no totals in:\n%s", text.String())
	}
	served := 0
	for _, m := range regexp.MustCompile(`(?m)^  \w+ answered (\d+) request`).FindAllStringSubmatch(text.String(), -1) {
		n, _ := strconv.Atoi(m[1])
		served += n
	}
	if total, _ := strconv.Atoi(last[len(last)-1][1]); total == 0 || served != total {
		t.Errorf("%d requests in all, %d by account", total, served)
	}
	if t.Failed() {
		t.Log(text.String())
	}
}

func TestDemoEndsByItself(t *testing.T) {
	emptyTemp(t)
	out, exit := start(t, "demo", "--duration", "100ms", "--sessions", "0", "--accelerate", "1")
	text, err := io.ReadAll(out)
	if code := <-exit; code != 0 || err != nil || !strings.Contains(string(text), "0 requests, none failed, 0 moves") {
		t.Errorf("exit code %d, %v:\n%s", code, err, text)
	}
}

func TestDemoWithoutReader(t *testing.T) {
	emptyTemp(t)
	out, exit := start(t, "demo", "--sessions", "0")
	out.Close()
	if code := <-exit; code != exitFailed {
		t.Errorf("exit code %d", code)
	}
}

// CLI-3: a session that sees a failure makes the demo fail.
func TestDemoFails(t *testing.T) {
	emptyTemp(t)
	st, err := openStage(stageOptions{clock: clock.Accelerated(100), sessions: 1, logLevel: slog.LevelError})
	if err != nil {
		t.Fatal(err)
	}
	st.provider.Inject("", sim.Failure(400, "invalid_request_error", "the provider's own words"))
	ctx, cancel := context.WithCancel(t.Context())
	screen := &untilFailure{end: cancel}
	err = (&demoCommand{Accelerate: 100, Sessions: 1}).play(ctx, st, screen)
	if err == nil || !strings.Contains(err.Error(), "the provider's own words") {
		t.Errorf("the verdict is %v", err)
	}
	if err := st.close(); err != nil {
		t.Error(err)
	}
}

// untilFailure is a screen on which a demo ends with the first failure.
type untilFailure struct{ end func() }

func (s *untilFailure) interval() time.Duration { return time.Millisecond }

func (s *untilFailure) show(f *frame) error {
	if f.failures > 0 {
		s.end()
	}
	return nil
}

func (s *untilFailure) open([]string) error { return nil }

func (s *untilFailure) close(*frame, []string) error { return nil }

func TestDemoUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--accelerate", "0"},
		{"--accelerate", "1001"},
		{"--accelerate", "NaN"},
		{"--accelerate", "fast"},
		{"--sessions", "-1"},
		{"--sessions", "101"},
		{"--duration", "-1s"},
		{"more"},
	} {
		emptyTemp(t)
		out, exit := start(t, append([]string{"demo"}, args...)...)
		text, err := io.ReadAll(out)
		if code := <-exit; code != exitUsage || err != nil || len(text) > 0 {
			t.Errorf("%v: exit code %d, %v: %s", args, code, err, text)
		}
	}
}

// The first nine sessions have their homes on the three accounts in turn, as the seed promises.
func TestDemoSeed(t *testing.T) {
	provider := sim.New(sim.Config{Seed: demoSeed, Accounts: stageAccounts(1)})
	var members []pool.Member
	for _, name := range provider.Accounts() {
		members = append(members, pool.NewMember(pool.Account{Name: name, Key: identity.OfAccount("claude", provider.UUID(name), "")}, &pool.Health{}))
	}
	for n := range 9 {
		id := sim.Coder{Seed: demoSeed, Name: strconv.Itoa(n + 1)}.Session()
		order := pool.Order(members, pool.Query{Request: pool.Request{Session: pool.SessionOf(id)}}, time.Now())
		if home := order[0].Member.Name; home != provider.Accounts()[n%3] {
			t.Errorf("session %d is at home on %s", n+1, home)
		}
	}
}

func TestWarningTap(t *testing.T) {
	var told []string
	var file strings.Builder
	log := slog.New(warningTap{
		slog.NewTextHandler(&file, &slog.HandlerOptions{Level: slog.LevelError}),
		func(text string) { told = append(told, text) },
	})
	log.Info("unheard of")
	log.With("provider", "anthropic").WithGroup("x").Warn("condition began", "condition", "no disk")
	log.Error("went wrong", "error", errors.New("why"))
	if len(told) != 2 || told[0] != "condition began: no disk" || told[1] != "went wrong: why" {
		t.Errorf("told: %q", told)
	}
	if strings.Count(file.String(), "\n") != 1 || !strings.Contains(file.String(), "went wrong") {
		t.Errorf("the file: %s", file.String())
	}
}
