package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// The programs under test, as absolute paths.
var (
	shuntPath  string
	claudePath string
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "shunt-e2e-")
	if err == nil {
		defer os.RemoveAll(dir)
		shuntPath, err = build(dir)
	}
	if err == nil {
		claudePath, err = findClaude()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	return m.Run()
}

// build builds the binary as it is shipped.
func build(dir string) (string, error) {
	path := filepath.Join(dir, "shunt")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-o", path, "./cmd/shunt")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build shunt: %w\n%s", err, out)
	}
	return path, nil
}

func findClaude() (string, error) {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	path, err := filepath.Abs(filepath.Join("clients", "node_modules", "@anthropic-ai", "claude-code-"+runtime.GOOS+"-"+arch, "claude"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("run scripts/test-tools to install the clients: %w", err)
	}
	return path, nil
}
