// Command release builds shunt for every supported platform: static binaries and their checksums in dist/, which it
// replaces. The version is that of the commit. The same commit gives the same bytes with the same version of Go, on any
// machine and in any directory. It needs git and runs in the root of the repository.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

func main() {
	if err := release(".", "./cmd/shunt", platforms); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release builds a package of the module in root into its dist directory.
func release(root, pkg string, platforms []string) error {
	dist := filepath.Join(root, "dist")
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	if err := os.Mkdir(dist, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		name := filepath.Base(pkg) + "-" + system + "-" + arch
		if system == "windows" {
			name += ".exe"
		}
		if err := build(root, pkg, filepath.Join("dist", name), system, arch); err != nil {
			return fmt.Errorf("build for %s: %w", platform, err)
		}
		info, err := buildinfo.ReadFile(filepath.Join(dist, name))
		if err != nil {
			return err
		}
		if info.Main.Version == "(devel)" {
			return errors.New("the binary has no version: build it in a clone of the repository, not in a worktree or an archive")
		}
		data, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
		fmt.Println(filepath.Join(dist, name))
	}
	return os.WriteFile(filepath.Join(dist, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// build ignores the settings of the machine that would change the bytes.
func build(root, pkg, output, system, arch string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-buildvcs=true", "-o", output, pkg)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOAMD64=v1", "GOARM64=v8.0")
	return cmd.Run()
}
