package store_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/identity"
	"shunt/internal/store"
)

// QUO-30: what is saved is loaded again, from a file of mode 0600 in a directory that is made at need.
func TestQuotaFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "at", "need", "state.json")
	f := store.NewQuotaFile(path)
	if q, current, err := f.Load(t.Context(), unix(begin)); q != nil || !current || err != nil {
		t.Errorf("a file that is not there: %v, %v, %v", q, current, err)
	}
	for _, want := range []store.Quotas{allKinds(), {identity.OfStoreEntry("claude", "work"): some()}} {
		if err := f.Save(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		got, current, err := store.NewQuotaFile(path).Load(t.Context(), unix(begin))
		if diff := cmp.Diff(want, got, keys); diff != "" || !current || err != nil {
			t.Errorf("current: %v, %v\n%s", current, err, diff)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
	if names := list(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// QUO-32: what cannot be read is kept aside, as it was, and the next save begins a new file.
func TestBadQuotaFile(t *testing.T) {
	for name, content := range map[string]string{
		"corrupt": "{", "truncated": version3[:len(version3)/2], "of a later version": `{"version":4}`, "empty": "",
		"huge": strings.Repeat(" ", store.MaxSize+1),
	} {
		path := filepath.Join(t.TempDir(), "state.json")
		write(t, path+".bad", "an older one")
		write(t, path, content)
		f := store.NewQuotaFile(path)
		q, _, err := f.Load(t.Context(), unix(begin))
		if q != nil || err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", name, q, err)
		}
		if kept, err := os.ReadFile(path + ".bad"); err != nil || string(kept) != content {
			t.Errorf("%s: %v, kept %d bytes of %d", name, err, len(kept), len(content))
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: it is still in its place: %v", name, err)
		}
		if err := f.Save(t.Context(), allKinds()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if q, _, err := store.NewQuotaFile(path).Load(t.Context(), unix(begin)); err != nil || !cmp.Equal(q, allKinds(), keys) {
			t.Errorf("%s: then %v, %v", name, q, err)
		}
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// QUO-32: as long as a bad file cannot be kept aside it is not written over.
func TestBadQuotaFileStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	write(t, path, "{")
	if err := os.MkdirAll(filepath.Join(path+".bad", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	f := store.NewQuotaFile(path)
	if _, _, err := f.Load(t.Context(), unix(begin)); err == nil {
		t.Fatal("it was read")
	}
	if err := f.Save(t.Context(), allKinds()); err == nil {
		t.Error("it was written")
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "{" {
		t.Errorf("%v: %q", err, content)
	}
	if err := os.RemoveAll(path + ".bad"); err != nil {
		t.Fatal(err)
	}
	if err := f.Save(t.Context(), allKinds()); err != nil {
		t.Errorf("when nothing is in the way: %v", err)
	}
	if kept, err := os.ReadFile(path + ".bad"); err != nil || string(kept) != "{" {
		t.Errorf("%v: kept %q", err, kept)
	}
}

// A path that is no file is nobody's to move or to replace.
func TestQuotaFileIsADirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	f := store.NewQuotaFile(path)
	if _, _, err := f.Load(t.Context(), unix(begin)); err == nil {
		t.Error("it was read")
	}
	if err := f.Save(t.Context(), allKinds()); err == nil {
		t.Error("it was written")
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		t.Errorf("it is there no more: %v", err)
	}
}

// saverPath has a child process of this test save that file again and again.
const saverPath = "SHUNT_TEST_SAVER_PATH"

func saveForEver(path string) {
	f := store.NewQuotaFile(path)
	for i := 0; ; i++ {
		if err := f.Save(context.Background(), crowd(i%2)); err != nil {
			panic(err)
		}
	}
}

// crowd is enough accounts for a write to take a while, in one of two forms.
func crowd(form int) store.Quotas {
	q := store.Quotas{}
	for i := range 300 {
		r := full()
		r.Windows[0].Utilization = float64(form)
		q[identity.OfAccount("claude", strings.Repeat("x", i), "")] = r
	}
	delete(q, identity.OfAccount("claude", "", ""))
	return q
}

// QUO-30: a process that is killed at any moment leaves the old file or the new one, and nothing that stays.
func TestQuotaFileSurvivesKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	for round := range 8 {
		saver := exec.Command(os.Args[0])
		saver.Env = append(os.Environ(), saverPath+"="+path)
		if err := saver.Start(); err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(path); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(7*round+1) * time.Millisecond)
		_ = saver.Process.Kill()
		_ = saver.Wait()
		q, current, err := store.NewQuotaFile(path).Load(t.Context(), unix(begin))
		if err != nil || !current || !maps.Equal(q, crowd(0)) && !maps.Equal(q, crowd(1)) {
			t.Fatalf("round %d: %d accounts, current: %v, %v", round, len(q), current, err)
		}
	}
	if err := store.NewQuotaFile(path).Save(t.Context(), crowd(0)); err != nil {
		t.Fatal(err)
	}
	if names := list(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}
