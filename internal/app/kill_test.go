package app_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shunt/internal/app"
	"shunt/internal/clock"
	"shunt/internal/config"
	"shunt/internal/dialect/messages"
	"shunt/internal/family/claude"
	"shunt/internal/identity"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// childConfig has a child process of these tests be a shunt of that configuration, whose clock runs so fast that a tick
// of the state file takes a quarter of a second.
const childConfig = "SHUNT_TEST_CHILD_CONFIG"

func runChild(path string) error {
	cfg, _, err := config.Load(config.Options{Path: path, Env: os.Environ(), Families: app.Families()})
	if err != nil {
		return err
	}
	a, err := app.New(cfg, app.Options{Version: "test", Env: os.Environ(), Clock: clock.Accelerated(60), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr(), known(a, "a"))
	return a.Run(context.Background(), l, nil)
}

// child is a running shunt: where it listens, and what it knew of account a when it started.
type child struct {
	*exec.Cmd
	url   string
	knows float64
}

func startChild(t *testing.T, config, store string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(os.Args[0])}
	c.Env = []string{childConfig + "=" + config, "HOME=" + filepath.Dir(config), "SHUNT_CLAUDE_ACCOUNTS_DIR=" + store}
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	var address string
	if _, err := fmt.Fscan(bufio.NewReader(out), &address, &c.knows); err != nil {
		t.Fatal(err)
	}
	c.url = "http://" + address
	return c
}

// QUO-30: shunt is killed at any moment in front of a provider that goes on, and starts again with what it had saved: what
// was known at the last tick at least.
func TestKilledShuntGoesOn(t *testing.T) {
	provider := sim.New(sim.Config{Accounts: []sim.Account{{Name: "a", FiveHour: sim.Window{Size: 1_000_000}}}})
	upstream, err := sim.Start(provider)
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.Close()
	dir := t.TempDir()
	accounts, configFile, stateFile := filepath.Join(dir, "store"), filepath.Join(dir, "shunt.toml"), filepath.Join(dir, "state.json")
	if err := os.Mkdir(accounts, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		filepath.Join(accounts, "a.json"): string(provider.Credentials("a")),
		configFile: "[server.pool]\nstate_path = '" + stateFile + "'\n[providers.anthropic]\nauth = \"claude_oauth\"\nbase_url = \"" +
			upstream.URL + "\"\n",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	saved := func() float64 {
		q, _, err := quotaFile(stateFile).Load(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return q[identity.OfStoreEntry("claude", "a")].Windows[claude.FiveHour].Utilization
	}
	used := func() float64 { return provider.Limits("a").Windows[messages.FiveHour].Utilization }

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	atLeast := -1.0 // what the file said when it was last looked at
	for round := range 4 {
		c := startChild(t, configFile, accounts)
		if c.knows < atLeast || c.knows > used() {
			t.Errorf("round %d: it knows of %v, where %v was saved and %v is used", round, c.knows, atLeast, used())
		}
		before := used()
		serve := func() {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+sim.MessagesPath, strings.NewReader(simtest.Body(simtest.PlainModel, false)))
			if err != nil {
				t.Fatal(err)
			}
			request.Header = simtest.Minimal.Clone()
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusOK {
				t.Fatalf("round %d: status %d", round, response.StatusCode)
			}
		}
		serve()
		for saved() <= before {
			time.Sleep(10 * time.Millisecond)
			serve()
		}
		atLeast = saved()
		for range rand.N(200) {
			serve()
		}
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}
