package app_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/app"
	"shunt/internal/apptest"
	"shunt/internal/dialect/messages"
	"shunt/internal/family/claude"
	"shunt/internal/pool"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// keepsQuota has shunt keep a state file, and returns its path.
func keepsQuota(t *testing.T) (path, lines string) {
	path = filepath.Join(t.TempDir(), "made at need", "state.json")
	return path, "state_path = '" + path + "'"
}

// known is how much of an account's five hours a shunt believes used; -1 if it does not know.
func known(a *app.App, account string) float64 {
	for _, s := range a.Pool("anthropic") {
		if used, ok := s.Quota.Utilization(claude.FiveHour); ok && s.Name == account {
			return used
		}
	}
	return -1
}

// savedQuota returns the same from the state file; -1 if it is not there.
func (w *world) savedQuota(path, account string) float64 {
	w.Helper()
	q, _, err := quotaFile(path).Load(w.Context(), time.Now())
	w.Must(err)
	r, ok := q[w.State(account).Key]
	if !ok {
		return -1
	}
	return r.Windows[claude.FiveHour].Utilization
}

// QUO-30, QUO-31: what is known is saved within 15 s, only when it has changed, and at the end; the next process starts
// from it, before the first request.
func TestQuotaSurvivesARestart(t *testing.T) {
	path, lines := keepsQuota(t)
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.Planned(lines, ""), func(w *world) {
		time.Sleep(time.Minute)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			w.Errorf("nothing is known, and it was saved: %v", err)
		}
		home := w.MustServe("s", simtest.PlainModel)
		w.Provider.Fill(home, messages.FiveHour, 0.4)
		w.MustServe("s", simtest.PlainModel)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if got, want := w.savedQuota(path, home), known(w.App, home); got != want || want < 0.4 {
			w.Errorf("saved %v of %v", got, want)
		}
		before, err := os.Stat(path)
		w.Must(err)
		time.Sleep(time.Minute)
		synctest.Wait()
		after, err := os.Stat(path)
		w.Must(err)
		if !os.SameFile(before, after) {
			w.Error("saved again though nothing has changed")
		}
		w.Want("mode", before.Mode().Perm(), fs.FileMode(0o600))

		w.Provider.Fill(home, messages.FiveHour, 0.99)
		w.MustServe("s", simtest.PlainModel)
		w.Must(w.Stop())
		if got := w.savedQuota(path, home); got < 0.99 {
			w.Errorf("saved at the end: %v", got)
		}

		next, client, end := w.another()
		defer end()
		if got := known(next, home); got < 0.99 {
			w.Errorf("the next process knows of %v", got)
		}
		if r := w.PostWith(w.Context(), client, sim.MessagesPath, "s", simtest.Body(simtest.PlainModel, true)); r.Account == home || r.Status != 200 {
			w.Errorf("its first request: %d by %s, which is near its quota", r.Status, r.Account)
		}
	})
}

// QUO-32: a broken file costs a cold start with a warning, and is kept aside.
func TestBrokenStateFile(t *testing.T) {
	path, lines := keepsQuota(t)
	const broken = `{"version":3,"accounts":[{"key"`
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.Planned(lines, ""), func(w *world) {
		w.Want("warnings", w.Logged("level=WARN", "starts without it", path), 1)
		if kept, err := os.ReadFile(path + ".bad"); err != nil || string(kept) != broken {
			w.Errorf("%v: kept %q", err, kept)
		}
		w.MustServe("", simtest.PlainModel)
		time.Sleep(16 * time.Second)
		if w.savedQuota(path, "a") < 0 {
			w.Error("nothing was saved")
		}
		w.Want("conditions", w.Conditions(), "")
	}, func(w *world) {
		w.Must(os.MkdirAll(filepath.Dir(path), 0o700))
		w.Must(os.WriteFile(path, []byte(broken), 0o600))
	})
}

// QUO-30: a failed write is one condition and one line of the log until a later one succeeds, and loses nothing.
func TestStateFileThatCannotBeWritten(t *testing.T) {
	path, lines := keepsQuota(t)
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.Planned(lines, ""), func(w *world) {
		w.MustServe("", simtest.PlainModel)
		time.Sleep(time.Minute)
		w.Want("conditions", w.Conditions(), "quota not saved")
		w.Want("lines", w.Logged("level=WARN", "quota not saved"), 1)
		w.Must(os.Remove(filepath.Dir(path)))
		time.Sleep(15 * time.Second)
		w.Want("conditions", w.Conditions(), "")
		if w.savedQuota(path, "a") < 0 {
			w.Error("nothing was saved")
		}
	}, func(w *world) {
		w.Must(os.WriteFile(filepath.Dir(path), nil, 0o600)) // where its directory should be
	})
}

// QUO-36: a file of version 2 is rewritten as version 3 within a tick, though nothing has happened.
func TestVersion2IsRewritten(t *testing.T) {
	path, lines := keepsQuota(t)
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.Planned(lines, ""), func(w *world) {
		if s := w.State("a"); s.Quota.Status(claude.FiveHour) != "rejected" || s.Group != pool.OverHard {
			w.Errorf("%q, %v", s.Quota.Status(claude.FiveHour), s.Group)
		}
		time.Sleep(16 * time.Second)
		synctest.Wait()
		text, err := os.ReadFile(path)
		w.Must(err)
		for _, part := range []string{`"version":3`, `"observed_at_status_5h":`, `"reset_at_status_5h":`} {
			if !strings.Contains(string(text), part) {
				w.Errorf("without %s: %s", part, text)
			}
		}
	}, func(w *world) {
		w.Must(os.MkdirAll(filepath.Dir(path), 0o700))
		w.Must(os.WriteFile(path, []byte(`{"version":2,"accounts":[{"key":{"store_family":"claude","identity":{"kind":"store_entry","name":"a"}},`+
			`"quota":{"status_5h":"rejected","reset_5h":`+unixIn(time.Hour)+`}}]}`), 0o600))
	})
}

// Without state_path nothing is written.
func TestNoStateFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.Planned("", ""), func(w *world) {
		w.MustServe("", simtest.PlainModel)
		time.Sleep(time.Minute)
		w.Must(w.Stop())
	})
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func unixIn(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).Unix(), 10) }
