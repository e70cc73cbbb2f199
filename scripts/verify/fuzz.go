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
		if err != nil && !timedOut(out) {
			c.failed++
			fmt.Printf("FAIL   %s %s\n%s", t.pkg, t.name, out)
			continue
		}
		c.passed++
		fmt.Printf("ok     %s %s\n", t.pkg, t.name)
	}
	return c
}

// timedOut reports whether a target only ran out of time, without a failing input. The fuzzing coordinator can report the
// end of its time as an error (go.dev/issue/75804, fixed in Go 1.27).
func timedOut(out []byte) bool {
	return bytes.Contains(out, []byte("\n    context deadline exceeded\n")) && !bytes.Contains(out, []byte("Failing input written"))
}

type target struct{ pkg, name string }

// fuzzTargets lists the fuzz targets of the module. Only with -json does go test -list print their packages.
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
