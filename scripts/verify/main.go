// Command verify runs the project's checks and counts what ran, so that nothing passes by not running. A skipped test
// counts as failed. The last line of its output is "N passed, N failed", and the exit code tells the same.
//
//	go run ./scripts/verify static  format, vet, vet for other platforms, staticcheck
//	go run ./scripts/verify unit    the same, then tests with the race detector, once more with net/http as the transport, budgets of allocations
//	go run ./scripts/verify test    the same, then a short run of every fuzz target, the end-to-end tests, and a minute of the soak
//	go run ./scripts/verify e2e     the end-to-end tests alone
//
// It is run from the root of the repository; scripts/test-tools has put there what the tests need.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// A stage is one kind of check. Its run prints failures as they come and returns the count.
type stage struct {
	name string
	run  func() count
}

// count is what a stage ran. A check that is no test counts as one.
type count struct {
	passed, failed int
	what           string // in words: "14 packages, 312 tests"
}

// modules are the folders of the Go modules here; the nested ones keep their dependencies out of the main one.
var modules = []string{".", "bench", "e2e"}

// fuzzTime is how long each fuzz target runs.
const fuzzTime = 5 * time.Second

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: verify static|unit|test|e2e")
		os.Exit(2)
	}
	static := []stage{{"gofumpt", gofumpt}, {"vet", vet}, {"platforms", vetPlatforms}, {"staticcheck", staticcheck}}
	e2e := stage{"e2e", func() count { return goTest("e2e", "-count=1", "-timeout=5m", "-skip=^TestSoak$", ".") }}
	var stages []stage
	switch os.Args[1] {
	case "static":
		stages = static
	case "unit":
		stages = append(static, stage{"unit", func() count { return unit() }}, stage{"net/http", netHTTP}, stage{"allocations", allocations}, stage{"bench", benchModule})
	case "test":
		stages = append(static, stage{"unit", func() count { return unit("-shuffle=on") }}, stage{"net/http", netHTTP}, stage{"allocations", allocations}, stage{"bench", benchModule}, stage{"fuzz", fuzz}, e2e, stage{"soak", soak})
	case "e2e":
		stages = []stage{e2e}
	default:
		fmt.Fprintf(os.Stderr, "verify: unknown set of checks %q\n", os.Args[1])
		os.Exit(2)
	}
	if !report(stages) {
		os.Exit(1)
	}
}

func unit(flags ...string) count {
	return goTest(".", append(flags, "-race", "-timeout=5m", "./...")...)
}

// netHTTP runs the tests of what lies between a client and a provider once more, with net/http in place of package http1. What
// a request may allocate is measured with http1.
func netHTTP() count {
	return goTestWith([]string{"SHUNT_TEST_TRANSPORT=net/http"}, ".", "-count=1", "-timeout=5m", "-skip=^TestAllocations",
		"./internal/upstream", "./internal/relay", "./internal/app", "./internal/usage")
}

// allocations runs the tests of what a request may allocate. They are left out of the race detector's build, under which
// pools drop what they hold.
func allocations() count { return goTest(".", "-count=1", "-run=^TestAllocations", "./internal/...") }

// soak runs a minute of what `make soak` runs for ten. The seed is printed, to run the same requests and faults again.
func soak() count {
	seed := rand.Uint64N(1_000_000) + 1
	fmt.Printf("seed %d\n", seed)
	c := goTest("e2e", "-count=1", "-timeout=5m", "-run=^TestSoak$", ".", "-soak=1m", fmt.Sprintf("-soak.seed=%d", seed))
	c.what += fmt.Sprintf(", 1 minute, seed %d", seed)
	return c
}

func benchModule() count { return goTest("bench", "-count=1", "./...") }

// report runs the stages, all of them even after a failure, and prints the summary.
func report(stages []stage) bool {
	var lines []string
	var total count
	for _, s := range stages {
		fmt.Printf("== %s\n", s.name)
		start := time.Now()
		c := s.run()
		total.passed += c.passed
		total.failed += c.failed
		lines = append(lines, fmt.Sprintf("%-12s %4d passed %4d failed %5.0f s  %s", s.name, c.passed, c.failed, time.Since(start).Seconds(), c.what))
	}
	fmt.Println("\n== summary")
	for _, line := range lines {
		fmt.Println(line)
	}
	fmt.Printf("\n%d passed, %d failed\n", total.passed, total.failed)
	return total.failed == 0
}
