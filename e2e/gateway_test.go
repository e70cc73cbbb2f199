package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shunt/internal/observe"
	"shunt/internal/observe/observetest"
)

// gateway is a running `shunt run` with its own home.
type gateway struct {
	url      string
	requests string // the request log

	cmd        *exec.Cmd
	log        observetest.Log
	terminated sync.Once     // a second signal would kill it
	exited     chan struct{} // closed when it has exited
}

// pool configures the provider as a pool of the stored accounts.
const pool = `auth = "claude_oauth"`

// startGateway starts shunt in front of a provider, with the lines in [providers.anthropic], and waits until it serves. At the end
// of the test it checks that shunt exits cleanly and has not logged a token.
func startGateway(t *testing.T, p *provider, accounts store, lines string, env ...string) *gateway {
	t.Helper()
	return startConfigured(t, p, accounts, fmt.Sprintf("[providers.anthropic]\nbase_url = %q\n%s\n", p.url, lines), env...)
}

// startConfigured is like startGateway, with all tables of the configuration except [server] and [log].
func startConfigured(t *testing.T, p *provider, accounts store, tables string, env ...string) *gateway {
	t.Helper()
	return startServer(t, p, accounts, "", tables, env...)
}

// startServer is like startConfigured, with lines in [server].
func startServer(t *testing.T, p *provider, accounts store, lines, tables string, env ...string) *gateway {
	t.Helper()
	home := t.TempDir()
	address := freeAddress(t)
	g := &gateway{
		url:      "http://" + address,
		requests: filepath.Join(home, "requests.jsonl"),
		exited:   make(chan struct{}),
	}
	config := filepath.Join(home, "shunt.toml")
	writeFile(t, config, fmt.Appendf(nil, "[server]\nbind = %q\n%s\n[log]\nrequests = \"requests.jsonl\"\n\n%s", address, lines, tables))

	g.cmd = exec.Command(shuntPath, "run", "--config", config)
	g.cmd.Dir, g.cmd.Stderr = home, &g.log
	var stdout bytes.Buffer
	g.cmd.Stdout = &stdout
	g.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "NO_PROXY=" + loopback, "no_proxy=" + loopback,
		"SHUNT_CLAUDE_ACCOUNTS_DIR=" + string(accounts), "SHUNT_CLAUDE_TOKEN_URL=" + p.url + "/v1/oauth/token",
	}, env...)
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = g.cmd.Wait() // stop checks the exit code
		close(g.exited)
	}()
	t.Cleanup(func() {
		g.stop(t)
		if stdout.Len() > 0 {
			t.Errorf("shunt wrote to standard output: %s", &stdout)
		}
		if log := g.log.String(); strings.Contains(log, "sk-ant-") {
			t.Errorf("shunt logged a token:\n%s", log)
		} else if t.Failed() {
			t.Logf("log of shunt:\n%s", log)
		}
	})
	g.waitReady(t)
	return g
}

// freeAddress returns an address with a free port below the ephemeral range, so that no connection takes it before shunt does.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
}

func (g *gateway) waitReady(t *testing.T) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		if resp, err := http.Get(g.url + "/health"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-g.exited:
			t.Fatalf("shunt exited: %v\n%s", g.cmd.ProcessState, g.log.String())
		case <-deadline:
			t.Fatal("shunt does not become ready")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// terminate sends SIGTERM, but only once.
func (g *gateway) terminate() {
	g.terminated.Do(func() { _ = g.cmd.Process.Signal(syscall.SIGTERM) }) // stop reports a process that has exited already
}

// stop terminates shunt and checks that it exits cleanly.
func (g *gateway) stop(t *testing.T) {
	t.Helper()
	g.terminate()
	select {
	case <-g.exited:
	case <-time.After(time.Minute):
		_ = g.cmd.Process.Kill()
		t.Fatalf("shunt does not stop\n%s", g.log.String())
	}
	if code := g.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("shunt exited with code %d", code)
	}
}

// records returns the request log, which is complete once shunt has exited.
func (g *gateway) records(t *testing.T) (list []observe.Record) {
	t.Helper()
	content, err := os.ReadFile(g.requests)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		var r observe.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, r)
	}
	return list
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	// Atomically, as an editor does: a reader sees either the old content or the new.
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}
