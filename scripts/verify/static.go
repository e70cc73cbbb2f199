package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// gofumpt checks the format of all modules.
func gofumpt() count { return listsNothing("go", "tool", "gofumpt", "-l", ".") }

// listsNothing runs a tool and fails if that lists files, which are those it would change.
func listsNothing(name string, args ...string) count {
	out, err := output(name, args...)
	os.Stdout.Write(out)
	if err != nil {
		fmt.Printf("%s: %v\n", name, err)
		return count{failed: 1, what: "the formatter failed"}
	}
	if len(bytes.TrimSpace(out)) > 0 {
		return count{failed: 1, what: "files need `go tool gofumpt -w`"}
	}
	return count{passed: 1, what: "all modules"}
}

func vet() count {
	return inModules("go", "vet", "./...")
}

// staticcheck is a tool of the main module. Its binary checks the nested modules as well.
func staticcheck() count {
	path, err := output("go", "tool", "-n", "staticcheck")
	if err != nil {
		return count{failed: 1, what: fmt.Sprintf("building it: %v", err)}
	}
	return inModules(strings.TrimSpace(string(path)), "./...")
}

// inModules runs a command in the directory of every module and shows its output.
func inModules(name string, args ...string) count {
	c := count{what: fmt.Sprintf("%d modules", len(modules))}
	for _, dir := range modules {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		c.add(filepath.Base(name)+" in "+dir, cmd)
	}
	return c
}

// platforms are those that shunt is released for, besides the one that runs its tests.
var platforms = []string{"darwin/amd64", "darwin/arm64", "windows/amd64"}

// vetPlatforms checks that the main module and its tests compile for the platforms, as far as go vet does.
func vetPlatforms() count {
	c := count{what: strings.Join(platforms, ", ")}
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		cmd := exec.Command("go", "vet", "./...")
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch)
		c.add("vet for "+platform, cmd)
	}
	return c
}

// add runs a check, shows its output and counts it.
func (c *count) add(name string, cmd *exec.Cmd) {
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	if err := cmd.Run(); err != nil {
		fmt.Printf("%s: %v\n", name, err)
		c.failed++
		return
	}
	c.passed++
}

// output runs a command, shows its standard error and returns its standard output. A tool's findings are in its standard
// output and its exit code; its standard error may also have, for example, the go command's downloads.
func output(name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stdout
	return cmd.Output()
}
