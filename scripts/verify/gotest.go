package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// goTest runs go test in a module's folder and counts its results.
func goTest(dir string, args ...string) count { return goTestWith(nil, dir, args...) }

// goTestWith is like [goTest], with variables added to the environment.
func goTestWith(env []string, dir string, args ...string) count {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir, cmd.Stderr, cmd.Env = dir, os.Stdout, append(os.Environ(), env...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return count{failed: 1, what: fmt.Sprintf("go test: %v", err)}
	}
	t := tally{show: os.Stdout}
	readErr := t.read(out)
	if err := cmd.Wait(); readErr != nil || err != nil && t.failed == 0 {
		t.failed++
		fmt.Printf("go test in %s: %v\n", dir, firstOf(readErr, err))
	}
	return t.count()
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// tally counts the events of go test -json, and shows the output of failed tests.
type tally struct {
	show                    io.Writer
	packages, untested      int
	passed, failed, skipped int
	open                    map[string]*run // packages and builds that have not ended
}

// run is the test of one package or one build.
type run struct {
	failed  bool                        // one of its tests failed
	output  map[string]*strings.Builder // by test; "" is the package's own
	ordered []string                    // its tests, in the order of their first output
}

// event is one line of go test -json (go doc test2json). The events of a build have an ImportPath in place of a Package.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

func (t *tally) read(r io.Reader) error {
	t.open = map[string]*run{}
	events := json.NewDecoder(r)
	for {
		var e event
		if err := events.Decode(&e); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the events of go test: %w", err)
		}
		t.add(e)
	}
}

func (t *tally) add(e event) {
	key := e.Package + " " + e.ImportPath
	r := t.open[key]
	if r == nil {
		r = &run{output: map[string]*strings.Builder{}}
		t.open[key] = r
	}
	switch e.Action {
	case "output", "build-output":
		if r.output[e.Test] == nil {
			r.output[e.Test] = &strings.Builder{}
			r.ordered = append(r.ordered, e.Test)
		}
		r.output[e.Test].WriteString(e.Output)
	case "build-fail":
		r.flush(t.show)
	case "pass", "fail", "skip":
		if e.Test != "" {
			t.addTest(e, r)
		} else {
			t.addPackage(e, r)
			delete(t.open, key)
		}
	}
}

// flush shows the remaining output. In a package that died, this is the output of the tests that were running.
func (r *run) flush(w io.Writer) {
	for _, test := range r.ordered {
		if out := r.output[test]; out != nil {
			fmt.Fprint(w, out)
		}
	}
}

func (t *tally) addTest(e event, r *run) {
	if e.Action == "pass" {
		t.passed++
	} else {
		if e.Action == "skip" {
			t.skipped++
		}
		t.failed++
		r.failed = true
		fmt.Fprintf(t.show, "%s %s\n", e.Package, e.Test)
		if out := r.output[e.Test]; out != nil {
			fmt.Fprint(t.show, out)
		}
	}
	delete(r.output, e.Test)
}

// addPackage shows the result of a package. A package that failed without a failed test (it does not build, leaks a
// goroutine, or exits) counts as one failure.
func (t *tally) addPackage(e event, r *run) {
	t.packages++
	switch e.Action {
	case "skip":
		t.untested++
	case "fail":
		if !r.failed {
			t.failed++
		}
		r.flush(t.show)
	}
	fmt.Fprintf(t.show, "%-6s %s  %.1f s\n", map[string]string{"pass": "ok", "fail": "FAIL", "skip": "-"}[e.Action], e.Package, e.Elapsed)
}

func (t *tally) count() count {
	if t.passed+t.failed == 0 {
		return count{failed: 1, what: "no test ran"}
	}
	what := fmt.Sprintf("%d packages, %d tests", t.packages, t.passed+t.failed)
	if t.untested > 0 {
		what += fmt.Sprintf(", %d packages without tests", t.untested)
	}
	if t.skipped > 0 {
		what += fmt.Sprintf(", %d skipped (they count as failed)", t.skipped)
	}
	return count{t.passed, t.failed, what}
}
