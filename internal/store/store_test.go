package store_test

import (
	"testing"

	"go.uber.org/goleak"

	"shunt/internal/store"
	"shunt/internal/store/storetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) func() store.Store {
		kept := &store.Memory{}
		return func() store.Store { return kept }
	})
}

func TestDir(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() store.Store {
		path := t.TempDir()
		return func() store.Store { return store.NewDir(path + "/made/at/need") }
	})
}

func put(t *testing.T, s store.Store, name, data string) {
	t.Helper()
	if _, err := s.Put(t.Context(), name, []byte(data)); err != nil {
		t.Fatal(err)
	}
}
