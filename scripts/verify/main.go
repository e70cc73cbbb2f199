// Command verify runs the project's checks and counts those that ran, so that a check that did not run does not pass. A
// skipped test counts as failed. The last line of its output is "N passed, N failed"; the exit code is 1 if any failed.
//
//	go run ./scripts/verify static  format, vet, vet for other platforms, staticcheck
//	go run ./scripts/verify unit    the same, then tests with the race detector, once more with net/http as the transport, and the allocation budgets
//	go run ./scripts/verify test    the same, then a short run of every fuzz target, the end-to-end tests, and a minute of the soak
//	go run ./scripts/verify e2e     the end-to-end tests alone
//
// Run it in the root of the repository, after scripts/test-tools.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// A stage is one kind of check. Its run function prints failures as they occur and returns the count.
type stage struct {
	name string
	run  func() count
}

// count is the result of a stage. A check that is not a test counts as one.
type count struct {
	passed, failed int
	what           string // what ran, as in "14 packages, 312 tests"
}

// modules are the directories of the Go modules. The nested modules keep their dependencies out of the main one.
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

// netHTTP runs the tests of the code between client and provider once more, with net/http in place of package http1. The
// allocation budgets are those of http1.
func netHTTP() count {
	return goTestWith([]string{"SHUNT_TEST_TRANSPORT=net/http"}, ".", "-count=1", "-timeout=5m", "-skip=^TestAllocations",
		"./internal/upstream", "./internal/relay", "./internal/app", "./internal/usage", "./internal/account")
}

// allocations runs the tests of a request's allocations. They are not part of builds with the race detector, under which
// sync.Pool drops values at random.
func allocations() count { return goTest(".", "-count=1", "-run=^TestAllocations", "./internal/...") }

// soak runs the soak test for a minute. It prints the seed, with which `make soak` repeats the same requests and faults.
func soak() count {
	seed := rand.Uint64N(1_000_000) + 1
	fmt.Printf("seed %d\n", seed)
	c := goTest("e2e", "-count=1", "-timeout=5m", "-run=^TestSoak$", ".", "-soak=1m", fmt.Sprintf("-soak.seed=%d", seed))
	c.what += fmt.Sprintf(", 1 minute, seed %d", seed)
	return c
}

func benchModule() count { return goTest("bench", "-count=1", "./...") }

// report runs all stages, even after a failure, and prints the summary.
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
