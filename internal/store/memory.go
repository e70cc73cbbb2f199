package store

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a [Store] that lasts as long as its process. The zero value is an empty store.
type Memory struct {
	mu      sync.Mutex
	docs    map[string]Doc
	written chan struct{} // closed and replaced at every write
	leases  map[string]*memoryLease
}

var _ Store = (*Memory)(nil)

// Get implements [Store].
func (m *Memory) Get(ctx context.Context, name string) (Doc, error) {
	if err := firstError(ctx.Err(), checkName(name)); err != nil {
		return Doc{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	doc, ok := m.docs[name]
	if !ok {
		return Doc{}, fmt.Errorf("document %s: %w", name, fs.ErrNotExist)
	}
	return Doc{bytes.Clone(doc.Data), doc.Version}, nil
}

// Put implements [Store].
func (m *Memory) Put(ctx context.Context, name string, data []byte) (Version, error) {
	return m.put(ctx, name, data, func(Version) bool { return true })
}

// PutIf implements [Store].
func (m *Memory) PutIf(ctx context.Context, name string, data []byte, was Version) (Version, error) {
	return m.put(ctx, name, data, func(current Version) bool { return current == was })
}

func (m *Memory) put(ctx context.Context, name string, data []byte, allowed func(Version) bool) (Version, error) {
	if err := firstError(ctx.Err(), checkName(name), checkSize(name, int64(len(data)))); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !allowed(m.docs[name].Version) {
		return "", fmt.Errorf("document %s: %w", name, ErrConflict)
	}
	doc := Doc{bytes.Clone(data), versionOf(data)}
	if m.docs == nil {
		m.docs = map[string]Doc{}
	}
	m.docs[name] = doc
	m.announce()
	return doc.Version, nil
}

// Remove implements [Store].
func (m *Memory) Remove(ctx context.Context, name string) error {
	if err := firstError(ctx.Err(), checkName(name)); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.docs, name)
	m.announce()
	return nil
}

func (m *Memory) announce() {
	if m.written != nil {
		close(m.written)
		m.written = nil
	}
}

// List implements [Store].
func (m *Memory) List(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.listed(), nil
}

func (m *Memory) listed() []string {
	names := slices.Sorted(maps.Keys(m.docs))
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, ".") })
}

// Orphans implements [Store]. It returns none: what a killed process wrote is gone with it.
func (m *Memory) Orphans(ctx context.Context, name string) ([]Orphan, error) {
	return nil, firstError(ctx.Err(), checkName(name))
}

// RemoveOrphans implements [Store].
func (m *Memory) RemoveOrphans(ctx context.Context, name string, _ time.Duration) error {
	return firstError(ctx.Err(), checkName(name))
}

// Watch implements [Store].
func (m *Memory) Watch(ctx context.Context, changed func(name string), names ...string) error {
	known := map[string]Version{}
	for ctx.Err() == nil {
		updated, written := m.changes(known, names)
		for _, name := range updated {
			changed(name)
		}
		select {
		case <-written:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// changes updates known, and returns the names whose versions changed and a channel that is closed at the next write.
func (m *Memory) changes(known map[string]Version, names []string) (changed []string, written <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(names) == 0 {
		names = append(m.listed(), slices.Sorted(maps.Keys(known))...)
	}
	for _, name := range names {
		if version := m.docs[name].Version; version != known[name] {
			known[name] = version
			changed = append(changed, name)
		}
	}
	if m.written == nil {
		m.written = make(chan struct{})
	}
	return changed, m.written
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
