//go:build unix

package store_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/store"
)

// ACC-3, TOK-6: files are 0600 in a directory of 0700, whatever their mode was before.
func TestDirModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	d := store.NewDir(path)
	put(t, d, "a.json", "one")
	if err := os.Chmod(path+"/a.json", 0o644); err != nil {
		t.Fatal(err)
	}
	put(t, d, "a.json", "two")
	for file, want := range map[string]fs.FileMode{path: 0o700, path + "/a.json": 0o600} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", file, got, want)
		}
	}
}

// TOK-6: when root refreshes the login of a user, the file still belongs to that user.
func TestDirKeepsOwner(t *testing.T) {
	path := t.TempDir()
	put(t, store.NewDir(path), "a.json", "one")
	want := os.Geteuid()
	if want == 0 {
		want = 4242
		if err := os.Chown(path+"/a.json", want, want); err != nil {
			t.Fatal(err)
		}
	}
	put(t, store.NewDir(path), "a.json", "two")
	info, err := os.Stat(path + "/a.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Sys().(*syscall.Stat_t).Uid; int(got) != want {
		t.Errorf("owner %d, want %d", got, want)
	}
}

// TOK-6: a symbolic link remains one. The write, the temporary file and the lock go to its target.
func TestDirLinks(t *testing.T) {
	links, targets := t.TempDir(), t.TempDir()
	direct, linked := store.NewDir(targets), store.NewDir(links)
	put(t, direct, "real.json", "one")
	for name, target := range map[string]string{
		"abs.json": targets + "/real.json", "twice.json": "abs.json", "dangling.json": targets + "/new.json",
	} {
		if err := os.Symlink(target, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, linked, "abs.json", "two")
	put(t, linked, "twice.json", "three")
	put(t, linked, "dangling.json", "four")
	for name, want := range map[string]string{"real.json": "three", "new.json": "four"} {
		if doc, err := direct.Get(t.Context(), name); err != nil || string(doc.Data) != want {
			t.Errorf("%s = %q, %v; want %q", name, doc.Data, err, want)
		}
	}
	for _, name := range []string{"abs.json", "twice.json", "dangling.json"} {
		if info, err := os.Lstat(filepath.Join(links, name)); err != nil || info.Mode().Type() != fs.ModeSymlink {
			t.Errorf("%s: %v, %v; want a link", name, info.Mode(), err)
		}
	}
	if names, err := linked.List(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("links are listed: %q, %v", names, err)
	}

	lease, err := linked.Lease(t.Context(), "twice.json")
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	isHeld(t, direct, "real.json")
}

func TestDirLinkLoop(t *testing.T) {
	path := t.TempDir()
	if err := os.Symlink("loop", path+"/loop"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.NewDir(path).Put(t.Context(), "loop", nil); err == nil {
		t.Error("wrote through a link loop")
	}
}

// A credentials path may lead to anything; reading it must neither block nor exhaust memory.
func TestDirReadsOnlySmallFiles(t *testing.T) {
	path := t.TempDir()
	if err := syscall.Mkfifo(path+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"/large", make([]byte, store.MaxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", path+"/zero"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fifo", "large", "zero"} {
		if doc, err := store.NewDir(path).Get(t.Context(), name); err == nil {
			t.Errorf("%s: read %d bytes", name, len(doc.Data))
		}
	}
}

// ACC-4: editors and clients write files in different ways. Watch misses none of them and reports no half-written file.
func TestDirWatchesOtherWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, elsewhere := t.TempDir(), t.TempDir()
		file := path + "/a.json"
		write := func(name, data string) {
			t.Helper()
			if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		link := func(target string) {
			t.Helper()
			if err := errors.Join(os.RemoveAll(file), os.Symlink(target, file)); err != nil {
				t.Fatal(err)
			}
		}
		write(file, "one")

		d := store.NewDir(path)
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var changed []string
		taken := func() []string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			defer func() { changed = nil }()
			return changed
		}
		done := make(chan error)
		go func() {
			done <- d.Watch(ctx, func(name string) {
				doc, err := d.Get(ctx, name)
				if errors.Is(err, fs.ErrNotExist) {
					doc.Data = []byte("gone")
				}
				mu.Lock()
				defer mu.Unlock()
				changed = append(changed, string(doc.Data))
			}, "a.json")
		}()
		expect := func(what string, want ...string) {
			t.Helper()
			time.Sleep(time.Second)
			if got := taken(); !slices.Equal(got, want) {
				t.Errorf("%s: read %q, want %q", what, got, want)
			}
		}
		expect("start", "one")

		write(file, "two two")
		expect("written in place", "two two")

		write(file, "")
		time.Sleep(300 * time.Millisecond)
		write(file, "three")
		expect("half-written at first", "three")

		for i := range 20 {
			write(file, string(bytes.Repeat([]byte("x"), i)))
			time.Sleep(200 * time.Millisecond)
		}
		if len(taken()) == 0 {
			t.Error("a file that changes all the time was never reported")
		}
		time.Sleep(time.Second)
		taken()

		write(elsewhere+"/1", "four")
		write(elsewhere+"/2", "five")
		link(elsewhere + "/1")
		expect("replaced by a link", "four")
		link(elsewhere + "/2")
		expect("link swapped", "five")
		write(elsewhere+"/2", "six six")
		expect("target written", "six six")

		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		expect("directory removed", "gone")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		write(file, "seven")
		expect("directory created again", "seven")

		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
