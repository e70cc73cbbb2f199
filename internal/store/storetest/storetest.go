// Package storetest is the conformance test of [store.Store], which every implementation must pass.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/store"
)

// Run tests an implementation. Create creates empty storage and returns a function that opens it: each call returns another
// handle on the same documents, like that of another process.
func Run(t *testing.T, create func(t *testing.T) (open func() store.Store)) {
	for name, test := range map[string]func(t *testing.T, a, b store.Store){
		"Documents": documents, "Versions": versions, "Names": names, "List": list, "Size": size, "Ended": ended,
		"Increments": increments, "Orphans": orphans, "LeaseExcludes": leaseExcludes,
	} {
		t.Run(name, func(t *testing.T) {
			open := create(t)
			test(t, open(), open())
		})
	}
	for name, test := range map[string]func(t *testing.T, a, b store.Store){
		"Watch": watch, "WatchNames": watchNames,
		"LeaseWait": leaseWait, "LeaseRelease": leaseRelease, "LeaseExpiry": leaseExpiry,
	} {
		t.Run(name, func(t *testing.T) {
			open := create(t)
			synctest.Test(t, func(t *testing.T) { test(t, open(), open()) })
		})
	}
}

func documents(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	if _, err := a.Get(ctx, "doc"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get of a missing document: %v", err)
	}
	if err := a.Remove(ctx, "doc"); err != nil {
		t.Errorf("Remove of a missing document: %v", err)
	}
	data := []byte("{\n \"n\": 1.0e5 }\x00\xff")
	if _, err := a.Put(ctx, "doc", data); err != nil {
		t.Fatal(err)
	}
	want := bytes.Clone(data)
	data[0] = 'x' // Put has copied it
	doc := must(b.Get(ctx, "doc"))(t)
	if !bytes.Equal(doc.Data, want) {
		t.Errorf("another handle read %q, want %q", doc.Data, want)
	}
	doc.Data[0] = 'y' // Get has copied it
	if again := must(a.Get(ctx, "doc"))(t); !bytes.Equal(again.Data, want) {
		t.Errorf("read again: %q, want %q", again.Data, want)
	}
	if err := b.Remove(ctx, "doc"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Get(ctx, "doc"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Get after Remove: %v", err)
	}
	must(a.Put(ctx, "empty", nil))(t)
	if doc := must(b.Get(ctx, "empty"))(t); len(doc.Data) != 0 || doc.Version == "" {
		t.Errorf("an empty document: %+v", doc)
	}
}

func versions(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	if _, err := a.PutIf(ctx, "doc", []byte("x"), "some"); !errors.Is(err, store.ErrConflict) {
		t.Errorf("PutIf with a version of a missing document: %v", err)
	}
	one := must(a.PutIf(ctx, "doc", []byte("one"), ""))(t)
	if _, err := b.PutIf(ctx, "doc", []byte("x"), ""); !errors.Is(err, store.ErrConflict) {
		t.Errorf("PutIf of a new document over an existing one: %v", err)
	}
	if got := must(b.Get(ctx, "doc"))(t); got.Version != one {
		t.Errorf("Get returned version %q, PutIf %q", got.Version, one)
	}
	two := must(b.PutIf(ctx, "doc", []byte("two"), one))(t)
	if two == one || two == "" {
		t.Errorf("version %q after %q", two, one)
	}
	if _, err := a.PutIf(ctx, "doc", []byte("x"), one); !errors.Is(err, store.ErrConflict) {
		t.Errorf("PutIf over a newer version: %v", err)
	}
	if got := must(a.Get(ctx, "doc"))(t); string(got.Data) != "two" {
		t.Errorf("a refused PutIf left %q", got.Data)
	}
	if three := must(a.Put(ctx, "doc", []byte("three")))(t); three == two {
		t.Errorf("Put kept version %q", three)
	}
}

func names(t *testing.T, a, _ store.Store) {
	ctx := t.Context()
	for _, name := range []string{"", ".", "..", "a/b", "../a", `a\b`, "a\x00", "a.lock", strings.Repeat("n", 201)} {
		_, get := a.Get(ctx, name)
		_, put := a.Put(ctx, name, nil)
		_, putIf := a.PutIf(ctx, name, nil, "")
		_, lease := a.Lease(ctx, name)
		_, orphans := a.Orphans(ctx, name)
		for method, err := range map[string]error{
			"Get": get, "Put": put, "PutIf": putIf, "Lease": lease, "Remove": a.Remove(ctx, name),
			"Orphans": orphans, "RemoveOrphans": a.RemoveOrphans(ctx, name, time.Hour),
		} {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s(%q): %v", method, name, err)
			}
		}
	}
}

func list(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	if got := must(a.List(ctx))(t); len(got) != 0 {
		t.Errorf("an empty store lists %q", got)
	}
	for _, name := range []string{"b.json", "a.json", ".hidden", "a-1.json", "c"} {
		must(a.Put(ctx, name, []byte("x")))(t)
	}
	if got, want := must(b.List(ctx))(t), []string{"a-1.json", "a.json", "b.json", "c"}; !slices.Equal(got, want) {
		t.Errorf("List = %q, want %q", got, want)
	}
}

func size(t *testing.T, a, _ store.Store) {
	must(a.Put(t.Context(), "doc", make([]byte, store.MaxSize)))(t)
	if _, err := a.Put(t.Context(), "doc", make([]byte, store.MaxSize+1)); err == nil {
		t.Error("a document over the limit was written")
	}
	if doc := must(a.Get(t.Context(), "doc"))(t); len(doc.Data) != store.MaxSize {
		t.Errorf("the refused write left %d bytes", len(doc.Data))
	}
}

func ended(t *testing.T, a, _ store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, get := a.Get(ctx, "doc")
	_, put := a.Put(ctx, "doc", nil)
	_, putIf := a.PutIf(ctx, "doc", nil, "")
	_, list := a.List(ctx)
	_, lease := a.Lease(ctx, "doc")
	_, orphans := a.Orphans(ctx, "doc")
	for method, err := range map[string]error{
		"Get": get, "Put": put, "PutIf": putIf, "List": list, "Lease": lease, "Remove": a.Remove(ctx, "doc"),
		"Orphans": orphans, "RemoveOrphans": a.RemoveOrphans(ctx, "doc", time.Hour),
		"Watch": a.Watch(ctx, func(string) { t.Error("a change was reported") }),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// increments appends to one document from many goroutines over both handles. No conditional write may be lost.
func increments(t *testing.T, a, b store.Store) {
	const writers, each = 4, 15
	ctx := t.Context()
	var wg sync.WaitGroup
	for i := range writers {
		st := []store.Store{a, b}[i%2]
		wg.Go(func() {
			for done := 0; done < each; {
				doc, err := st.Get(ctx, "n")
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
					return
				}
				_, err = st.PutIf(ctx, "n", append(doc.Data, 'i'), doc.Version)
				switch {
				case err == nil:
					done++
				case !errors.Is(err, store.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if doc := must(a.Get(ctx, "n"))(t); len(doc.Data) != writers*each {
		t.Errorf("%d increments, want %d", len(doc.Data), writers*each)
	}
}

// orphans checks that no write leaves an orphan, neither while it runs nor afterwards (TOK-6b).
func orphans(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	var writers sync.WaitGroup
	for i := range 20 {
		writers.Go(func() { must(a.Put(ctx, "doc", fmt.Append(nil, i)))(t) })
		if list := must(b.Orphans(ctx, "doc"))(t); len(list) > 0 {
			t.Errorf("orphans: %v", list)
		}
	}
	writers.Wait()
	_, _ = a.PutIf(ctx, "doc", []byte("refused"), "another")
	if err := b.RemoveOrphans(ctx, "doc", time.Hour); err != nil {
		t.Error(err)
	}
	if list := must(b.Orphans(ctx, "doc"))(t); len(list) > 0 {
		t.Errorf("orphans: %v", list)
	}
	must(a.Get(ctx, "doc"))(t)
}

// watcher collects the names that Watch reports, in a synctest bubble.
type watcher struct {
	mu    sync.Mutex
	names []string
	end   func()
}

func startWatch(t *testing.T, s store.Store, names ...string) *watcher {
	w := &watcher{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- s.Watch(ctx, func(name string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.names = append(w.names, name)
		}, names...)
	}()
	w.end = func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Watch returned %v", err)
		}
	}
	return w
}

// reports checks that the watcher reports exactly these names within a second, in any order and with any repetitions.
func (w *watcher) reports(t *testing.T, what string, want ...string) {
	t.Helper()
	time.Sleep(time.Second)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.names)
	if got := slices.Compact(w.names); !slices.Equal(got, want) {
		t.Errorf("%s: reported %q, want %q", what, got, want)
	}
	w.names = nil
}

// watch checks that new, changed and removed documents are reported within a second (ACC-4).
func watch(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	for i := range 3 {
		must(a.Put(ctx, fmt.Sprint("old", i), []byte("1")))(t)
	}
	must(a.Put(ctx, ".hidden", []byte("1")))(t)
	w := startWatch(t, a)
	defer w.end()
	w.reports(t, "start", "old0", "old1", "old2")
	w.reports(t, "no change")
	must(b.Put(ctx, "new", []byte("1")))(t)
	w.reports(t, "added", "new")
	must(b.Put(ctx, "old0", []byte("2")))(t)
	must(b.Put(ctx, ".hidden", []byte("2")))(t)
	w.reports(t, "changed, same size", "old0")
	must(b.Put(ctx, "old1", []byte("1")))(t)
	w.reports(t, "written without a change")
	if err := b.Remove(ctx, "old2"); err != nil {
		t.Fatal(err)
	}
	w.reports(t, "removed", "old2")
	must(b.Put(ctx, "old2", []byte("1")))(t)
	w.reports(t, "added again", "old2")
}

func watchNames(t *testing.T, a, b store.Store) {
	ctx := t.Context()
	must(a.Put(ctx, "other", []byte("1")))(t)
	must(a.Put(ctx, ".one", []byte("1")))(t)
	w := startWatch(t, a, ".one", "two")
	defer w.end()
	w.reports(t, "start", ".one")
	must(b.Put(ctx, "other", []byte("2")))(t)
	must(b.Put(ctx, "two", []byte("1")))(t)
	w.reports(t, "a named one was added", "two")
	if err := b.Remove(ctx, ".one"); err != nil {
		t.Fatal(err)
	}
	w.reports(t, "a named one was removed", ".one")
}

func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
