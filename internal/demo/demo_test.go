package demo

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shunt/internal/identity"
	"shunt/internal/pool"
	"shunt/internal/sim"
)

// checkLeftovers gives the test a directory for temporary files and checks that the test leaves no file and no goroutine.
func checkLeftovers(t *testing.T) {
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

// CLI-3: the sessions' requests are served, at least one session moves, none sees a failure, and nothing is left over.
func TestRun(t *testing.T) {
	checkLeftovers(t)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		defer in.Close()
		ended <- Run(ctx, Options{Version: "test", Speed: 300, Sessions: 3, LogLevel: slog.LevelWarn, Out: in})
	}()
	totals := regexp.MustCompile(`(\d+) requests, none failed, (\d+) moves?`)
	var text strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if m := totals.FindStringSubmatch(lines.Text()); m != nil && m[2] != "0" {
			cancel()
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		`(?m)^  export ANTHROPIC_BASE_URL=http://127\.0\.0\.1:\d+$`,
		`(?m)^  export ANTHROPIC_AUTH_TOKEN=any$`,
		`(?m)^Simulated .*, none failed, `,
		`(?m)^  cedar served \d+ requests? with `,
	} {
		if !regexp.MustCompile(want).MatchString(text.String()) {
			t.Errorf("no line matches %s", want)
		}
	}
	last := totals.FindAllStringSubmatch(text.String(), -1)
	if len(last) == 0 {
		t.Fatalf("no totals in:\n%s", text.String())
	}
	served := 0
	for _, m := range regexp.MustCompile(`(?m)^  \w+ served (\d+) request`).FindAllStringSubmatch(text.String(), -1) {
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

// CLI-3: a session that sees a failure makes the demo fail.
func TestRunReportsFailure(t *testing.T) {
	checkLeftovers(t)
	s, err := openSimulation(Options{Speed: 100, Sessions: 1, LogLevel: slog.LevelError})
	if err != nil {
		t.Fatal(err)
	}
	s.provider.Inject("", sim.Failure(400, "invalid_request_error", "bad request from the test"))
	ctx, cancel := context.WithCancel(t.Context())
	err = s.run(ctx, &untilFailure{end: cancel})
	if err == nil || !strings.Contains(err.Error(), "bad request from the test") {
		t.Errorf("err = %v", err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

// untilFailure is a screen that ends the demo at the first failure.
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

// The seed gives the first nine sessions their homes on the three accounts in turn.
func TestSeed(t *testing.T) {
	provider := sim.New(sim.Config{Seed: seed, Accounts: demoAccounts(1)})
	var members []pool.Member
	for _, name := range provider.Accounts() {
		members = append(members, pool.NewMember(pool.Account{Name: name, Key: identity.OfAccount("claude", provider.UUID(name), "")}, &pool.Health{}))
	}
	for n := range 9 {
		id := sim.Session{Seed: seed, Name: strconv.Itoa(n + 1)}.ID()
		order := pool.Order(members, pool.Query{Criteria: pool.Criteria{Session: pool.SessionOf(id)}}, time.Now())
		if home := order[0].Member.Name; home != provider.Accounts()[n%3] {
			t.Errorf("session %d is at home on %s", n+1, home)
		}
	}
}

// OBS-1: a log record at warning or above is also shown, in one line; the file keeps to its own level.
func TestWarningTap(t *testing.T) {
	var shown []string
	var file strings.Builder
	log := slog.New(warningTap{
		slog.NewTextHandler(&file, &slog.HandlerOptions{Level: slog.LevelError}),
		func(text string) { shown = append(shown, text) },
	})
	log.Info("not shown")
	log.With("provider", "anthropic").WithGroup("x").Warn("condition began", "condition", "no disk")
	log.Error("went wrong", "error", errors.New("why"))
	if len(shown) != 2 || shown[0] != "condition began: no disk" || shown[1] != "went wrong: why" {
		t.Errorf("shown: %q", shown)
	}
	if strings.Count(file.String(), "\n") != 1 || !strings.Contains(file.String(), "went wrong") {
		t.Errorf("the file: %s", file.String())
	}
}
