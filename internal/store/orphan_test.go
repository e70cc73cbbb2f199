//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"shunt/internal/store"
)

// age makes a file that was written that long ago.
func age(t *testing.T, path, content string, ago time.Duration) {
	t.Helper()
	at := time.Now().Add(-ago)
	if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chtimes(path, at, at)); err != nil {
		t.Fatal(err)
	}
}

func orphans(t *testing.T, s store.Store, name string) (list []string) {
	t.Helper()
	found, err := s.Orphans(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range found {
		list = append(list, fmt.Sprintf("%s %v", o.Data, o.Newer))
	}
	return list
}

func wants(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TOK-6b: the files of writers that were killed before the rename are found, oldest first, beside the target of a link. No
// other file is.
func TestDirOrphans(t *testing.T) {
	path, links := t.TempDir(), t.TempDir()
	age(t, path+"/a.json", "document", 2*time.Hour)
	age(t, path+"/.a.json9223372036854775807", "third", time.Minute)
	age(t, path+"/.a.json12", "second", time.Hour)
	age(t, path+"/.a.json3", "first", 3*time.Hour)
	for _, name := range []string{".a.json", ".a.json-1", ".a.json.12", ".b.json12", "a.json12"} {
		age(t, filepath.Join(path, name), name, 0)
	}
	age(t, path+"/.a.json4", string(make([]byte, store.MaxSize+1)), 0)
	for _, err := range []error{
		os.Symlink("a.json", path+"/.a.json5"), os.Mkdir(path+"/.a.json6", 0o700), syscall.Mkfifo(path+"/.a.json7", 0o600),
		os.Symlink(path+"/a.json", links+"/link.json"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 { // another user's
		age(t, path+"/.a.json8", "planted", 0)
		if err := os.Chown(path+"/.a.json8", 4242, 4242); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"first false", "second true", "third true"}
	wants(t, "orphans", orphans(t, store.NewDir(path), "a.json"), want)
	wants(t, "through a link", orphans(t, store.NewDir(links), "link.json"), want)
	wants(t, "of another", orphans(t, store.NewDir(path), "b.json"), []string{".b.json12 true"})
	wants(t, "of none", orphans(t, store.NewDir(path), "c.json"), nil)
	wants(t, "without a directory", orphans(t, store.NewDir(path+"/none"), "a.json"), nil)
}

// TOK-6b: a write keeps orphans, which may be the only copy of a login, for a day, and removes those with the content that
// it wrote. Removing the document removes all of them, so that no login stays on the disk.
func TestDirRemovesOrphans(t *testing.T) {
	path := t.TempDir()
	d := store.NewDir(path)
	const day = 24 * time.Hour
	fill := func() {
		age(t, path+"/.a.json1", "old", day+time.Minute)
		age(t, path+"/.a.json2", "same", day-time.Minute)
		age(t, path+"/.a.json3", "kept", day-time.Minute)
		age(t, path+"/.b.json4", "of another", 2*day)
	}
	fill()
	if _, err := d.PutIf(t.Context(), "a.json", []byte("same"), "no such version"); !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}
	wants(t, "after a write that was refused", orphans(t, d, "a.json"), []string{"old true", "same true", "kept true"})
	put(t, d, "a.json", "same")
	wants(t, "after a write", orphans(t, d, "a.json"), []string{"kept false"})
	fill()
	if err := d.RemoveOrphans(t.Context(), "a.json", store.OrphanLife); err != nil {
		t.Fatal(err)
	}
	wants(t, "after a removal of the old", orphans(t, d, "a.json"), []string{"same false", "kept false"})
	if err := d.RemoveOrphans(t.Context(), "a.json", 0); err != nil {
		t.Fatal(err)
	}
	wants(t, "after a removal of all", orphans(t, d, "a.json"), nil)
	fill()
	if err := d.Remove(t.Context(), "a.json"); err != nil {
		t.Fatal(err)
	}
	wants(t, "after a removal", orphans(t, d, "a.json"), nil)
	wants(t, "of another", orphans(t, d, "b.json"), []string{"of another true"})
}

// TOK-6b: the file of a live writer is left alone: others wait while it holds the lock of the directory.
func TestDirOrphansOfTheLiving(t *testing.T) {
	path := t.TempDir()
	d := store.NewDir(path)
	put(t, d, "a.json", "one")
	writer := flock.New(path, flock.SetFlag(os.O_RDONLY))
	if err := writer.Lock(); err != nil {
		t.Fatal(err)
	}
	age(t, path+"/.a.json1", "in progress", 48*time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	list, err := d.Orphans(ctx, "a.json")
	if len(list) > 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("orphans: %v, %v", list, err)
	}
	if err := d.RemoveOrphans(ctx, "a.json", store.OrphanLife); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("removed: %v", err)
	}
	if err := writer.Unlock(); err != nil {
		t.Fatal(err)
	}
	wants(t, "afterwards", orphans(t, d, "a.json"), []string{"in progress false"})
}
