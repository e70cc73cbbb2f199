package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// fuzz runs every fuzz target of the main module for a few seconds each.
func fuzz() count {
	targets, err := fuzzTargets()
	if err != nil {
		return count{failed: 1, what: err.Error()}
	}
	c := count{what: fmt.Sprintf("%d fuzz targets, %v each", len(targets), fuzzTime)}
	for _, t := range targets {
		out, err := output("go", "test", "-run=^$", "-fuzz=^"+t.name+"$", "-fuzztime="+fuzzTime.String(), "-fuzzminimizetime=10x", t.pkg)
		if err != nil && !onlyOutOfTime(out) {
			c.failed++
			fmt.Printf("FAIL   %s %s\n%s", t.pkg, t.name, out)
			continue
		}
		c.passed++
		fmt.Printf("ok     %s %s\n", t.pkg, t.name)
	}
	return c
}

// onlyOutOfTime tells a target that failed from one whose end of time the fuzzing coordinator reports as an error when
// it notices at an unlucky moment (go.dev/issue/75804, fixed in Go 1.27): that one has found no input.
func onlyOutOfTime(out []byte) bool {
	return bytes.Contains(out, []byte("\n    context deadline exceeded\n")) && !bytes.Contains(out, []byte("Failing input written"))
}

type target struct{ pkg, name string }

// fuzzTargets lists the fuzz targets of the module. go test -list prints names without their package unless it is asked
// for events.
func fuzzTargets() ([]target, error) {
	out, err := output("go", "test", "-json", "-list=^Fuzz", "./...")
	if err != nil {
		return nil, fmt.Errorf("list fuzz targets: %w", err)
	}
	return parseTargets(bytes.NewReader(out))
}

func parseTargets(r io.Reader) ([]target, error) {
	var targets []target
	events := json.NewDecoder(r)
	for {
		var e event
		if err := events.Decode(&e); err == io.EOF {
			return targets, nil
		} else if err != nil {
			return nil, fmt.Errorf("list fuzz targets: %w", err)
		}
		if name := strings.TrimSpace(e.Output); e.Action == "output" && strings.HasPrefix(name, "Fuzz") {
			targets = append(targets, target{e.Package, name})
		}
	}
}
