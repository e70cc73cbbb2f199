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
	codexPath  string
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
		claudePath, err = findClient("@anthropic-ai/claude-code-"+platform(), "claude")
	}
	if err == nil {
		codexPath, err = findClient("@openai/codex-"+platform(), "vendor/*/bin/codex")
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

// platform returns what the clients' packages call this machine.
func platform() string {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	return runtime.GOOS + "-" + arch
}

// findClient returns the program of an installed package.
func findClient(module, program string) (string, error) {
	found, err := filepath.Glob(filepath.Join("clients", "node_modules", module, filepath.FromSlash(program)))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("run scripts/test-tools to install the clients: %s is missing (%v)", module, err)
	}
	return filepath.Abs(found[0])
}
