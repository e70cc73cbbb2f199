package account_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shunt/internal/account"
)

// orphaned leaves a store entry as a process that is killed between writing and renaming: the entry has a spent login, and a temporary
// file has its successor, with that time left. It returns the path of that file.
func (w *world) orphaned(dir string, left time.Duration) (path string) {
	w.Helper()
	w.login("a", left)
	spent := w.file("tok-oat-a#0", "tok-ort-a#0", time.Now().Add(left-time.Hour))
	path = filepath.Join(dir, storeDir, ".a.json123")
	if err := os.Rename(filepath.Join(dir, storeDir, "a.json"), path); err != nil {
		w.Fatal(err)
	}
	w.write("a.json", spent)
	return path
}

func (w *world) gone(path string) {
	w.Helper()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		w.Errorf("%s is there: %v", filepath.Base(path), err)
	}
}

// TOK-6b: a start finds the login that a killed process left in a temporary file, before it sends the spent one, and
// writes it before anything uses it.
func TestRecoveryAtStart(t *testing.T) {
	for name, prepare := range map[string]func(w *world, path string){
		"just killed": func(*world, string) {},
		"killed two days ago": func(w *world, path string) {
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			w.wants("error", os.Chtimes(path, at, at), nil)
		},
		"beside one that was truncated": func(w *world, path string) {
			w.wants("error", os.WriteFile(path+"4", []byte(`{"claudeAiOauth":{"acc`), 0o600), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inEach(t, func(w *world) {
				dir := onDisk(w)
				path := w.orphaned(dir, 2*time.Hour)
				prepare(w, path)
				a := w.account()
				w.wants("token", w.token(a), "tok-oat-a#1")
				w.wants("file", w.read("a.json"), w.file("tok-oat-a#1", "tok-ort-a#1", time.Now().Add(2*time.Hour)))
				w.gone(path)
				w.wants("renewed", w.renewed(a, "tok-oat-a#1"), "tok-oat-a#2")
				w.wants("calls", w.count(), 1)
				w.conditions()
				w.close()
			})
		})
	}
}

// TOK-6b: a rejected refresh searches for one as well, because another process may have been killed meanwhile, and continues
// with it even if it has expired. The account does not need a login, and the identity's cooldowns end (TOK-7).
func TestRecoveryAfterInvalidGrant(t *testing.T) {
	for left, calls := range map[time.Duration]int{2 * time.Hour: 1, time.Second: 2} {
		inEach(t, func(w *world) {
			dir := onDisk(w)
			path := w.orphaned(dir, left)
			hidden := filepath.Join(dir, "hidden")
			w.wants("error", os.Rename(path, hidden), nil)
			a := w.account()
			w.wants("error", os.Rename(hidden, path), nil)
			time.Sleep(10 * time.Second)
			w.changes()
			want := map[int]string{1: "tok-oat-a#1", 2: "tok-oat-a#2"}[calls]
			w.wants("token", w.renewed(a, "tok-oat-a#0"), want)
			w.wants("calls", w.count(), calls)
			w.gone(path)
			if got := w.read("a.json"); !strings.Contains(got, strings.Replace(want, "oat", "ort", 1)) {
				w.Errorf("file: %s", got)
			}
			w.wants("changes", w.changes()[0], a.Key())
			w.conditions()
			_, marked := a.NeedsLogin()
			w.wants("marked", marked, false)
			w.close()
		})
	}
}

// TOK-6b: a file that is not certain to be the account's newest login is not used, and is kept for a day.
func TestNoRecovery(t *testing.T) {
	for name, prepare := range map[string]func(w *world, path string){
		"of another account": func(w *world, _ string) {
			other := strings.NewReplacer(`"mcpOAuth"`, `"shuntAccountUuid":"u-2","mcpOAuth"`, `"account_id":"acc"`, `"account_id":"other"`)
			w.write("a.json", other.Replace(w.read("a.json")))
		},
		"truncated": func(w *world, path string) { w.wants("error", os.Truncate(path, 100), nil) },
		"older": func(w *world, _ string) {
			w.write("a.json", w.file("tok-oat-a#0", "tok-ort-a#0", time.Now().Add(3*time.Hour)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inEach(t, func(w *world) {
				dir := onDisk(w)
				path := w.orphaned(dir, 2*time.Hour)
				prepare(w, path)
				a := w.account()
				w.wants("token", w.token(a), "tok-oat-a#0")
				token, err := a.Renew(w.Context(), w.secret(w.token(a)))
				w.fails(token, err, account.ErrNeedsLogin)
				w.conditions(needsLogin)
				if _, err := os.Stat(path); err != nil {
					w.Error(err)
				}
				w.close()
			})
		})
	}
}

// TOK-6b, TOK-7d: on a full disk, the recovered login is used from memory and written later.
func TestRecoveryOnAFullDisk(t *testing.T) {
	inEach(t, func(w *world) {
		dir := onDisk(w)
		w.orphaned(dir, 2*time.Hour)
		w.disk.fail(faults{put: errors.New("no space left on device")})
		a := w.account()
		w.wants("token", w.token(a), "tok-oat-a#1")
		w.conditions("account claude/a cannot be saved")
		w.disk.fail(faults{})
		w.close()
		if got := w.read("a.json"); !strings.Contains(got, "tok-ort-a#1") {
			w.Errorf("file: %s", got)
		}
	})
}

// TOK-6b: a start does not recover a login while another process uses the file, and does not wait long for it.
func TestRecoveryWaitsForTheLease(t *testing.T) {
	for held, want := range map[time.Duration]string{500 * time.Millisecond: "tok-oat-a#1", time.Hour: "tok-oat-a#0"} {
		inEach(t, func(w *world) {
			dir := onDisk(w)
			w.orphaned(dir, 2*time.Hour)
			lease, err := w.disk.open(storeDir).Lease(w.Context(), "a.json")
			w.wants("error", err, nil)
			time.AfterFunc(held, lease.Release)
			began := time.Now()
			w.wants("token", w.token(w.account()), want)
			if took := time.Since(began); took > time.Second {
				w.Errorf("waited %v", took)
			}
			time.Sleep(held)
			w.close()
		})
	}
}
