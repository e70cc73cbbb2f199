package storetest_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"shunt/internal/store"
	"shunt/internal/store/storetest"
)

// faults are stores that break the contract, each in one way.
var faults = map[string]func(*store.Memory) store.Store{
	"writes over any version": func(m *store.Memory) store.Store { return anyVersion{m} },
	"locks nobody out":        func(m *store.Memory) store.Store { return noLock{m} },
	"removes nothing":         func(m *store.Memory) store.Store { return noRemove{m} },
}

type anyVersion struct{ *store.Memory }

func (s anyVersion) PutIf(ctx context.Context, name string, data []byte, _ store.Version) (store.Version, error) {
	return s.Put(ctx, name, data)
}

type noLock struct{ *store.Memory }

func (noLock) Lock(context.Context, string) (func(), error) { return func() {}, nil }

type noRemove struct{ *store.Memory }

func (noRemove) Remove(context.Context, string) error { return nil }

const faultVariable = "STATETEST_FAULT"

// TestConformance runs the conformance test on a store that keeps the contract or, for TestItNoticesFaults, on one that
// does not.
func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) func() store.Store {
		memory := &store.Memory{}
		if broken, ok := faults[os.Getenv(faultVariable)]; ok {
			return func() store.Store { return broken(memory) }
		}
		return func() store.Store { return memory }
	})
}

// The conformance test fails for every store that breaks the contract.
func TestItNoticesFaults(t *testing.T) {
	for name := range faults {
		t.Run(name, func(t *testing.T) {
			command := exec.Command(os.Args[0], "-test.run=^TestConformance$", "-test.timeout=20s")
			command.Env = append(os.Environ(), faultVariable+"="+name)
			if out, err := command.CombinedOutput(); err == nil {
				t.Errorf("it passes:\n%s", out)
			}
		})
	}
}
