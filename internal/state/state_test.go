package state_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"shunt/internal/state"
	"shunt/internal/state/statetest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(saverPath); path != "" {
		saveForEver(path)
	}
	goleak.VerifyTestMain(m)
}

func TestMemory(t *testing.T) {
	statetest.Run(t, func(*testing.T) func() state.Store {
		store := &state.Memory{}
		return func() state.Store { return store }
	})
}

func TestDir(t *testing.T) {
	statetest.Run(t, func(t *testing.T) func() state.Store {
		path := t.TempDir()
		return func() state.Store { return state.NewDir(path + "/made/at/need") }
	})
}
