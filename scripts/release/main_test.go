package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A clone of a tagged commit, anywhere, gives the same static binaries with the version of the tag, and their checksums.
func TestRelease(t *testing.T) {
	first, second := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")
	for file, content := range map[string]string{
		"go.mod": "module example.com/tool\n\ngo 1.26\n", "cmd/tool/main.go": "package main\n\nfunc main() { println(\"tool\") }\n", ".gitignore": "/dist/\n",
	} {
		path := filepath.Join(first, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull) // nobody signs these commits
	git(t, first, "init", "-q")
	git(t, first, "add", ".")
	git(t, first, "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "Begin")
	git(t, first, "tag", "v1.2.3")
	git(t, filepath.Dir(second), "clone", "-q", first, second)

	t.Setenv("GOFLAGS", "-tags=another") // settings of the machine do not count
	platforms := []string{"linux/amd64", "windows/amd64"}
	for _, root := range []string{first, second, second} { // the last one replaces what is there
		if err := release(root, "./cmd/tool", platforms); err != nil {
			t.Fatal(err)
		}
	}
	archive := t.TempDir()
	if err := os.CopyFS(archive, os.DirFS(first)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(archive, ".git")); err != nil {
		t.Fatal(err)
	}
	if err := release(archive, "./cmd/tool", platforms); err == nil {
		t.Error("a release without a version was built")
	}

	var sums strings.Builder
	for _, name := range []string{"tool-linux-amd64", "tool-windows-amd64.exe"} {
		data := read(t, first, name)
		if data != read(t, second, name) {
			t.Errorf("%s differs between two clones", name)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256([]byte(data)), name)
		info, err := buildinfo.ReadFile(filepath.Join(first, "dist", name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Main.Version != "v1.2.3" {
			t.Errorf("%s has version %s", name, info.Main.Version)
		}
	}
	if got := read(t, first, "SHA256SUMS"); got != sums.String() {
		t.Errorf("SHA256SUMS:\n%s, want\n%s", got, sums.String())
	}
	if left, err := os.ReadDir(filepath.Join(second, "dist")); err != nil || len(left) != 3 {
		t.Errorf("dist has %v, %v", left, err)
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "dist", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
