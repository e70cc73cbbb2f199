package app_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/app"
	"shunt/internal/family"
	"shunt/internal/family/claude"
	"shunt/internal/identity"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/store"
)

func quotaFile(path string) *app.QuotaFile {
	return app.NewQuotaFile(path, []*family.Family{&claude.Family})
}

// quotaRecord is an account of which all is known of one window.
var quotaRecord = func() (r quota.Record) {
	at := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	r.Windows[claude.SevenDay] = quota.WindowRecord{
		Utilization: 0.25, HasUtilization: true, Reset: at(1_800_000_100), ObservedAt: at(1_799_999_990),
		Status: "rejected", ObservedAtStatus: at(1_799_999_980), ResetAtStatus: at(1_800_000_050),
	}
	return r
}()

func someQuotas(n int) pool.Quotas {
	q := pool.Quotas{}
	for i := range n {
		q[identity.OfStoreEntry("claude", fmt.Sprint(i))] = quotaRecord
	}
	return q
}

var sameKeys = cmp.Comparer(func(a, b identity.Key) bool { return a == b })

// QUO-30: what is saved is loaded again, from a file of mode 0600 in a directory that is made at need.
func TestQuotaFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "at", "need", "state.json")
	f := quotaFile(path)
	if q, current, err := f.Load(t.Context(), time.Now()); q != nil || !current || err != nil {
		t.Errorf("a file that is not there: %v, %v, %v", q, current, err)
	}
	for _, want := range []pool.Quotas{someQuotas(1), someQuotas(2)} {
		if err := f.Save(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		got, current, err := quotaFile(path).Load(t.Context(), time.Now())
		if diff := cmp.Diff(want, got, sameKeys); diff != "" || !current || err != nil {
			t.Errorf("current: %v, %v\n%s", current, err, diff)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
	if names := filesIn(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

// 8-families: the file has the name that a family has in the account store, and the identities have the family's own.
func TestQuotaFileStoreFamily(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	renamed := claude.Family
	renamed.Store = "other"
	f := app.NewQuotaFile(path, []*family.Family{&renamed})
	if err := f.Save(t.Context(), someQuotas(2)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), `"store_family":"other"`) != 2 {
		t.Errorf("%s, %v", text, err)
	}
	q, _, err := f.Load(t.Context(), time.Now())
	if diff := cmp.Diff(someQuotas(2), q, sameKeys); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func filesIn(t *testing.T, dir string) (names []string) {
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
		"corrupt": "{", "truncated": `{"version":3,"accounts":[{"key"`, "of a later version": `{"version":4}`, "empty": "",
		"huge": strings.Repeat(" ", store.MaxSize+1),
	} {
		path := filepath.Join(t.TempDir(), "state.json")
		writeFile(t, path+".bad", "an older one")
		writeFile(t, path, content)
		f := quotaFile(path)
		q, _, err := f.Load(t.Context(), time.Now())
		if q != nil || err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", name, q, err)
		}
		if kept, err := os.ReadFile(path + ".bad"); err != nil || string(kept) != content {
			t.Errorf("%s: %v, kept %d bytes of %d", name, err, len(kept), len(content))
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: it is still in its place: %v", name, err)
		}
		if err := f.Save(t.Context(), someQuotas(1)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if q, _, err := quotaFile(path).Load(t.Context(), time.Now()); err != nil || !cmp.Equal(q, someQuotas(1), sameKeys) {
			t.Errorf("%s: then %v, %v", name, q, err)
		}
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// QUO-32: as long as a bad file cannot be kept aside it is not written over.
func TestBadQuotaFileStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	writeFile(t, path, "{")
	if err := os.MkdirAll(filepath.Join(path+".bad", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	f := quotaFile(path)
	if _, _, err := f.Load(t.Context(), time.Now()); err == nil {
		t.Fatal("it was read")
	}
	if err := f.Save(t.Context(), someQuotas(1)); err == nil {
		t.Error("it was written")
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "{" {
		t.Errorf("%v: %q", err, content)
	}
	if err := os.RemoveAll(path + ".bad"); err != nil {
		t.Fatal(err)
	}
	if err := f.Save(t.Context(), someQuotas(1)); err != nil {
		t.Errorf("when nothing is in the way: %v", err)
	}
	if kept, err := os.ReadFile(path + ".bad"); err != nil || string(kept) != "{" {
		t.Errorf("%v: kept %q", err, kept)
	}
}

// A path that is not a file is neither moved nor replaced.
func TestQuotaFileIsADirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	f := quotaFile(path)
	if _, _, err := f.Load(t.Context(), time.Now()); err == nil {
		t.Error("it was read")
	}
	if err := f.Save(t.Context(), someQuotas(1)); err == nil {
		t.Error("it was written")
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		t.Errorf("it is there no more: %v", err)
	}
}

// saverPath has a child process of this test save that file again and again.
const saverPath = "SHUNT_TEST_SAVER_PATH"

func saveForEver(path string) {
	f := quotaFile(path)
	for i := 0; ; i++ {
		if err := f.Save(context.Background(), manyQuotas(i%2)); err != nil {
			panic(err)
		}
	}
}

// manyQuotas are enough accounts for a write to take a while, in one of two forms.
func manyQuotas(form int) pool.Quotas {
	q := pool.Quotas{}
	for i := range 300 {
		r := quotaRecord
		r.Windows[claude.SevenDay].Utilization = float64(form)
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
		q, current, err := quotaFile(path).Load(t.Context(), time.Now())
		if err != nil || !current || !maps.Equal(q, manyQuotas(0)) && !maps.Equal(q, manyQuotas(1)) {
			t.Fatalf("round %d: %d accounts, current: %v, %v", round, len(q), current, err)
		}
	}
	if err := quotaFile(path).Save(t.Context(), manyQuotas(0)); err != nil {
		t.Fatal(err)
	}
	if names := filesIn(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}
