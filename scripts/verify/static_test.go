package main

import (
	"os/exec"
	"testing"
)

// The first run with an empty module cache prints its downloads on standard error. They are not findings.
func TestStandardErrorIsNotAFinding(t *testing.T) {
	const downloads = "echo 'go: downloading mvdan.cc/gofumpt v0.9.2' >&2; "
	for script, want := range map[string]count{
		downloads:                              {passed: 1, what: "all modules"},
		downloads + "echo main.go":             {failed: 1, what: "files need `go tool gofumpt -w`"},
		downloads + "exit 1":                   {failed: 1, what: "the formatter failed"},
		"echo main.go; echo 1 problem >&2":     {failed: 1, what: "files need `go tool gofumpt -w`"},
		"echo 'main.go:1:1: expected' ; false": {failed: 1, what: "the formatter failed"},
	} {
		if got := listsNothing("sh", "-c", script); got != want {
			t.Errorf("%s: %+v, want %+v", script, got, want)
		}
	}
	if out, err := output("sh", "-c", downloads+"echo result"); err != nil || string(out) != "result\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// Each check counts once, by its exit code.
func TestAddCountsChecks(t *testing.T) {
	c := count{what: "checks"}
	for _, script := range []string{"true", "exit 1", "exit 2"} {
		c.add(script, exec.Command("sh", "-c", script))
	}
	if want := (count{1, 2, "checks"}); c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
}
