package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// gofumpt fails on files that it would change, in all modules.
func gofumpt() count {
	out, err := exec.Command("go", "tool", "gofumpt", "-l", ".").CombinedOutput()
	os.Stdout.Write(out)
	if err != nil || len(bytes.TrimSpace(out)) > 0 {
		return count{failed: 1, what: "files need `go tool gofumpt -w`"}
	}
	return count{passed: 1, what: "all modules"}
}

func vet() count {
	return inModules("go", "vet", "./...")
}

// staticcheck is a tool of the main module; the nested ones are checked by the same binary.
func staticcheck() count {
	path, err := exec.Command("go", "tool", "-n", "staticcheck").Output()
	if err != nil {
		return count{failed: 1, what: fmt.Sprintf("building it: %v", err)}
	}
	return inModules(strings.TrimSpace(string(path)), "./...")
}

// inModules runs a command in the folder of every module. Its output is shown.
func inModules(name string, args ...string) count {
	var c count
	for _, dir := range modules {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stdout
		if err := cmd.Run(); err != nil {
			fmt.Printf("%s in %s: %v\n", filepath.Base(name), dir, err)
			c.failed++
		} else {
			c.passed++
		}
	}
	c.what = fmt.Sprintf("%d modules", len(modules))
	return c
}
