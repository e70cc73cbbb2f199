package app_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"shunt/internal/apptest"
	"shunt/internal/sim"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childConfig); path != "" {
		fmt.Fprintln(os.Stderr, runChild(path))
		os.Exit(1)
	}
	if path := os.Getenv(saverPath); path != "" {
		saveForEver(path)
	}
	goleak.VerifyTestMain(m)
}

// world is a shunt in its world, and what only the tests of this package do with it.
type world struct{ *apptest.World }

// inWorld runs a test of a shunt; see [apptest.Run].
func inWorld(t *testing.T, provider sim.Config, toml string, test func(w *world), before ...func(w *world)) {
	t.Helper()
	var prepare []func(*apptest.World)
	for _, f := range before {
		prepare = append(prepare, func(w *apptest.World) { f(&world{w}) })
	}
	apptest.Run(t, provider, toml, func(w *apptest.World) { test(&world{w}) }, prepare...)
}
