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
	"leases to everyone":      func(m *store.Memory) store.Store { return sharedLease{m} },
	"signals no end": func(m *store.Memory) store.Store {
		return brokenLease{m, func(l store.Lease) store.Lease { return silent{l} }}
	},
	"renews what has ended": func(m *store.Memory) store.Store {
		return brokenLease{m, func(l store.Lease) store.Lease { return immortal{l} }}
	},
	"removes nothing": func(m *store.Memory) store.Store { return noRemove{m} },
}

type anyVersion struct{ *store.Memory }

func (s anyVersion) PutIf(ctx context.Context, name string, data []byte, _ store.Version) (store.Version, error) {
	return s.Put(ctx, name, data)
}

type sharedLease struct{ *store.Memory }

func (sharedLease) Lease(ctx context.Context, name string) (store.Lease, error) {
	return new(store.Memory).Lease(ctx, name)
}

type brokenLease struct {
	*store.Memory
	wrap func(store.Lease) store.Lease
}

func (s brokenLease) Lease(ctx context.Context, name string) (store.Lease, error) {
	lease, err := s.Memory.Lease(ctx, name)
	if err != nil {
		return nil, err
	}
	return s.wrap(lease), nil
}

type silent struct{ store.Lease }

func (silent) Done() <-chan struct{} { return nil }

type immortal struct{ store.Lease }

func (immortal) Renew(context.Context) error { return nil }

type noRemove struct{ *store.Memory }

func (noRemove) Remove(context.Context, string) error { return nil }

const faultVariable = "STORETEST_FAULT"

// TestConformance runs the conformance test on a correct store or, for TestConformanceFindsFaults, on one that
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
func TestConformanceFindsFaults(t *testing.T) {
	for name := range faults {
		t.Run(name, func(t *testing.T) {
			command := exec.Command(os.Args[0], "-test.run=^TestConformance$", "-test.timeout=20s")
			command.Env = append(os.Environ(), faultVariable+"="+name)
			if out, err := command.CombinedOutput(); err == nil {
				t.Errorf("the store passed:\n%s", out)
			}
		})
	}
}
