package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// make install puts the binary where PREFIX says, by default in the home directory, or in /usr/local for root. It reports
// where that is, and whether a shell will find it there.
func TestInstall(t *testing.T) {
	t.Setenv("PREFIX", "") // restores it
	if err := os.Unsetenv("PREFIX"); err != nil {
		t.Fatal(err)
	}
	home, prefix := t.TempDir(), filepath.Join(t.TempDir(), "with a space", "new")
	fallback := filepath.Join(home, ".local")
	for _, c := range []struct {
		name, prefix, path string
		dryRun             bool
		want               []string
		wantNot            string
	}{
		{name: "into PREFIX", prefix: prefix, want: []string{"installed " + prefix + "/bin/shunt", prefix + "/bin is not in PATH"}},
		{name: "over an earlier one, in PATH", prefix: prefix, path: prefix + "/bin", want: []string{"installed " + prefix + "/bin/shunt"}, wantNot: "PATH"},
		{name: "by default", dryRun: true, want: []string{map[bool]string{true: "/usr/local", false: fallback}[os.Geteuid() == 0] + "/bin/shunt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The binary of the checkout is not built or touched: this directory has one of its own.
			dir := t.TempDir()
			makefile, err := os.ReadFile("../../Makefile")
			if err != nil {
				t.Fatal(err)
			}
			for name, content := range map[string]string{"Makefile": string(makefile), "shunt": "#!/bin/sh\necho " + c.name + "\n"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			args := []string{"--no-print-directory", "-o", "build", "install"}
			if c.prefix != "" {
				args = append(args, "PREFIX="+c.prefix)
			}
			if c.dryRun {
				args = append(args, "-n")
			}
			cmd := exec.Command("make", args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "HOME="+home, "PATH="+os.Getenv("PATH")+":"+c.path, "MAKEFLAGS=")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, want := range c.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("%q is missing in:\n%s", want, out)
				}
			}
			if c.wantNot != "" && strings.Contains(string(out), c.wantNot) {
				t.Errorf("%q is in:\n%s", c.wantNot, out)
			}
			if c.prefix == "" {
				return
			}
			if got, err := exec.Command(filepath.Join(c.prefix, "bin", "shunt")).Output(); err != nil || strings.TrimSpace(string(got)) != c.name {
				t.Errorf("the installed program printed %q, %v", got, err)
			}
		})
	}
}
