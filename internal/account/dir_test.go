package account_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/account"
	"shunt/internal/store"
)

// onDisk lets the documents of a world be files in the returned directory.
func onDisk(w *world) (dir string) {
	dir = w.TempDir()
	w.disk.real = func(path string) store.Store { return store.NewDir(filepath.Join(dir, path)) }
	return dir
}

// TOK-6, ACC-1, ACC-4: a file behind a symbolic link is renewed in place; the link stays a link.
func TestLinkedFile(t *testing.T) {
	inEach(t, func(w *world) {
		dir := onDisk(w)
		if err := os.MkdirAll(dir+"/home/dotfiles", 0o755); err != nil {
			w.Fatal(err)
		}
		target := dir + "/home/dotfiles/claude"
		if err := os.WriteFile(target, []byte(w.file("tok-oat-a#0", "tok-ort-a#0", time.Now())), 0o644); err != nil {
			w.Fatal(err)
		}
		if err := os.Symlink("dotfiles/claude", dir+"/home/.credentials.json"); err != nil {
			w.Fatal(err)
		}
		w.valid["tok-ort-a#0"] = true
		accounts, warnings := w.keeper.Resolve(listings(sets{"p": {{Name: "a", Credentials: "/home/.credentials.json"}}}))
		w.wants("warnings", len(warnings), 0)
		w.wants("token", w.token(accounts["p"][0]), "tok-oat-a#1")
		text, err := os.ReadFile(target)
		w.wants("error", err, nil)
		w.wants("file", string(text), w.file("tok-oat-a#1", "tok-ort-a#1", time.Now().Add(8*time.Hour)))
		info, err := os.Lstat(dir + "/home/.credentials.json")
		w.wants("error", err, nil)
		w.wants("link", info.Mode().Type(), fs.ModeSymlink)
		info, err = os.Stat(target)
		w.wants("error", err, nil)
		w.wants("mode", info.Mode(), fs.FileMode(0o600))
		w.close()
	})
}

// TOK-4: two processes that share a file refresh once. (Whether locks hold between real processes: TestKilled.)
func TestTwoKeepersOnOneFile(t *testing.T) {
	inEach(t, func(w *world) {
		onDisk(w)
		w.login("a", 0)
		w.delay = func(string) time.Duration { return 5 * time.Second }
		keepers := []*account.Keeper{w.keeper, w.newKeeper()}
		tokens := make(chan string)
		for _, k := range keepers {
			w.keeper = k
			a := w.account()
			go func() { tokens <- w.token(a) }()
		}
		for range keepers {
			w.wants("token", <-tokens, "tok-oat-a#2")
		}
		w.wants("calls", w.count(), 1)
		for _, w.keeper = range keepers {
			w.close()
		}
	})
}

// ACC-4: the directory of the store may appear later; links in it are not entries.
func TestStoreDirectory(t *testing.T) {
	in(t, func(w *world) {
		dir := onDisk(w)
		w.wants("accounts", len(w.accounts()), 0)
		end := w.run()
		time.Sleep(time.Minute)
		w.login("a", time.Hour)
		if err := os.Symlink("a.json", dir+"/store/b.json"); err != nil {
			w.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		<-w.keeper.Changes()
		w.wants("token", w.token(w.account()), "tok-oat-a#1")

		// Written slowly and in place: nothing happens in between.
		old := w.read("a.json")
		for end := range len(old) / 50 {
			if err := os.WriteFile(dir+"/store/a.json", []byte(old[:end*50]), 0o600); err != nil {
				w.Fatal(err)
			}
			time.Sleep(40 * time.Millisecond)
		}
		w.write("a.json", strings.Replace(old, "tok-oat-a#1", "tok-oat-a#9", 1))
		time.Sleep(time.Second)
		w.wants("token", w.token(w.account()), "tok-oat-a#9")
		end()
		w.close()
	})
}
