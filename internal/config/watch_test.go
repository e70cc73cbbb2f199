package config

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// watched is a file under watch, in virtual time.
type watched struct {
	t        *testing.T
	file     string
	now      chan struct{}
	outcomes chan string
}

// underWatch loads a file, lets prepare change it, and then runs steps while it is watched.
func underWatch(t *testing.T, content string, prepare, steps func(w *watched)) {
	t.Helper()
	w := &watched{t: t, file: write(t, content)}
	synctest.Test(t, func(t *testing.T) {
		// Of the bubble, so that waiting for them lets time pass.
		w.now, w.outcomes = make(chan struct{}), make(chan string, 9)
		o := Options{Families: claude, Path: w.file}
		running, _, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		prepare(w)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go Watch(ctx, o, running, w.now, func(r Reload) {
			if r.Err != nil {
				w.outcomes <- strings.TrimPrefix(r.Err.Error(), w.file)
				return
			}
			w.outcomes <- r.Config.Server.Bind.String()
		})
		steps(w)
	})
}

// expect lets time pass and compares what was delivered meanwhile.
func (w *watched) expect(after time.Duration, want ...string) {
	w.t.Helper()
	time.Sleep(after)
	synctest.Wait()
	var got []string
	for len(w.outcomes) > 0 {
		got = append(got, <-w.outcomes)
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("after %v: got %q, want %q", after, got, want)
	}
}

func (w *watched) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *watched) rewrite(content string) {
	w.t.Helper()
	w.must(os.WriteFile(w.file, []byte(content), 0o600))
}

func nothing(*watched) {}

func bindTo(port string) string { return "[server]\nbind = '127.0.0.1:" + port + "'\n" }

// noticed is the time within which a change is noticed (CFG-50).
const noticed = 2 * time.Second

// CFG-50: however a file is saved, its new content is loaded within two seconds, once.
func TestWatchTakesEverySave(t *testing.T) {
	underWatch(t, bindTo("1"), nothing, func(w *watched) {
		w.expect(time.Minute)

		w.rewrite(bindTo("2"))
		w.expect(noticed, "127.0.0.1:2")
		w.expect(time.Minute)

		next := w.file + "~"
		w.must(os.WriteFile(next, []byte(bindTo("3")), 0o600))
		w.must(os.Rename(next, w.file))
		w.expect(noticed, "127.0.0.1:3")

		// The way of Kubernetes: the file is a link through a link that is switched.
		dir := filepath.Dir(w.file)
		for _, version := range []string{"4", "5"} {
			w.must(os.Mkdir(filepath.Join(dir, version), 0o700))
			w.must(os.WriteFile(filepath.Join(dir, version, "shunt.toml"), []byte(bindTo(version)), 0o600))
		}
		data := filepath.Join(dir, "data")
		w.must(os.Symlink("4", data))
		w.must(os.Symlink(filepath.Join("data", "shunt.toml"), next))
		w.must(os.Rename(next, w.file))
		w.expect(noticed, "127.0.0.1:4")
		w.must(os.Symlink("5", next))
		w.must(os.Rename(next, data))
		w.expect(noticed, "127.0.0.1:5")
		w.expect(time.Minute)
	})
}

// CFG-50: a file that is saved without a change, or changed back before it is loaded, has not changed.
func TestWatchIgnoresTheSameContent(t *testing.T) {
	underWatch(t, bindTo("1"), nothing, func(w *watched) {
		w.rewrite(bindTo("1"))
		w.expect(noticed)
		w.must(os.Chtimes(w.file, time.Time{}, time.Now()))
		w.expect(noticed)
		w.rewrite(bindTo("2"))
		w.expect(pollInterval)
		w.rewrite(bindTo("1"))
		w.expect(time.Minute)
	})
}

// CFG-50: a file is not loaded while it is being written, even if its content so far is valid.
func TestWatchWaitsForTheWriter(t *testing.T) {
	underWatch(t, bindTo("1"), nothing, func(w *watched) {
		whole := bindTo("2") + "[log]\nlevel = 'debug'\nformat = 'json'\n"
		for i := range len(whole) / 5 {
			w.rewrite(whole[:5*i])
			w.expect(pollInterval)
		}
		w.rewrite(whole)
		w.expect(noticed, "127.0.0.1:2")
	})
}

// CFG-50: the running configuration stays if a file has problems, disappears or becomes empty, which is reported once.
func TestWatchReportsOnce(t *testing.T) {
	const bad = "[server]\nbnid = 1"
	const problem = ":2: server.bnid: unknown key; did you mean bind?"
	underWatch(t, bindTo("1"), nothing, func(w *watched) {
		w.rewrite(bad)
		w.expect(noticed, problem)
		w.expect(time.Minute)
		w.rewrite(bindTo("1"))
		w.expect(noticed, "127.0.0.1:1")

		w.must(os.Remove(w.file))
		w.expect(noticed, ": does not exist")
		w.expect(time.Minute)
		w.rewrite(bindTo("1"))
		w.expect(noticed, "127.0.0.1:1")

		w.rewrite(" \n")
		w.expect(noticed, ": has become empty; to use only the defaults, leave a comment in it")
		w.expect(time.Minute)
		w.rewrite("# the defaults")
		w.expect(noticed, "127.0.0.1:3001")
	})
}

// CFG-50: SIGHUP loads the file at once, changed or not, and its content is not loaded a second time.
func TestWatchReloadsNow(t *testing.T) {
	underWatch(t, bindTo("1"), nothing, func(w *watched) {
		w.now <- struct{}{}
		w.expect(0, "127.0.0.1:1")
		w.rewrite(bindTo("2"))
		w.now <- struct{}{}
		w.expect(0, "127.0.0.1:2")
		w.expect(time.Minute)
		close(w.now)
		w.rewrite(bindTo("3"))
		w.expect(noticed, "127.0.0.1:3")
	})
}

// CFG-50: a change between the load and the watch is not lost.
func TestWatchKnowsWhatWasLoaded(t *testing.T) {
	underWatch(t, bindTo("1"), func(w *watched) { w.rewrite(bindTo("2")) }, func(w *watched) {
		w.expect(noticed, "127.0.0.1:2")
	})
}

// An empty file is a configuration like any other if shunt started with it.
func TestWatchOfAnEmptyFile(t *testing.T) {
	underWatch(t, "", nothing, func(w *watched) {
		w.expect(time.Minute)
		w.now <- struct{}{}
		w.expect(0, "127.0.0.1:3001")
	})
}

// CFG-1: without a file there is nothing to watch, but the environment's references can be loaded again.
func TestWatchWithoutFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, _, err := Load(Options{Families: claude})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		now := make(chan struct{})
		loaded := make(chan Reload, 9)
		go Watch(ctx, Options{Families: claude}, running, now, func(r Reload) { loaded <- r })
		now <- struct{}{}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(loaded) != 1 || (<-loaded).Err != nil {
			t.Error("not loaded exactly once and well")
		}
	})
}
