package app_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// TOK-7f: a byte-order mark at the start of the configuration, of a file that it refers to, of an entry of the store or of a
// credentials file does no harm; a refresh writes a credentials file without it.
func TestByteOrderMarks(t *testing.T) {
	const mark = "\ufeff"
	level := filepath.Join(t.TempDir(), "level")
	toml := mark + apptest.PoolOf(apptest.Listed("a")+apptest.Listed("file", `credentials = "~/creds.json"`)) +
		"[log]\nlevel = \"${file:" + level + "}\"\n"
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, toml, func(w *world) {
		for range 4 {
			w.MustServe("", simtest.PlainModel)
		}
		for _, name := range []string{"a", "file"} {
			if w.State(name).Requests == 0 {
				w.Errorf("%s serves nothing", name)
			}
		}
		w.Want("login", w.LoginIn(w.At("creds.json")), w.NewestLogin("b"))
		w.Want("warnings", w.Logged("WARN"), 0)
	}, func(w *world) {
		w.Must(os.WriteFile(level, []byte(mark+"debug\n"), 0o600))
		w.Put("a", append([]byte(mark), w.Provider.Credentials("a")...))
		w.Provider.ExpireTokens("b")
		w.Replace(w.At("creds.json"), append([]byte(mark), simtest.Expiring(w.Provider.Credentials("b"), -time.Minute)...))
		w.Remove("b")
	})
}

// TOK-8b: a login that others can read or replace is used, and there is one warning with the command that fixes it; another
// when the file has been replaced by one that they can read as well.
func TestExposedCredentials(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, apptest.PoolOf(""), func(w *world) {
		for range 3 {
			w.MustServe("", simtest.PlainModel)
		}
		file := func() int {
			return w.Logged("WARN", "others can read or write "+w.Entry("a"), "`chmod 600 "+w.Entry("a")+"`")
		}
		directory := func() int { return w.Logged("WARN", "the directory "+w.Store, "`chmod go-w "+w.Store+"`") }
		w.Want("warnings", w.Logged("WARN"), 2)
		w.Want("warnings of the file", file(), 1)
		w.Want("warnings of the directory", directory(), 1)
		w.HUP <- struct{}{}
		simtest.Second()
		w.Want("warnings after a reload", w.Logged("WARN"), 2)
		w.Put("a", w.Provider.Login("a"))
		w.Must(os.Chmod(w.Entry("a"), 0o604))
		simtest.Second()
		w.Want("warnings of the new file", file(), 2)
		w.Want("warnings of the directory", directory(), 1)
		w.MustServe("", simtest.PlainModel)
	}, func(w *world) {
		w.Must(os.Chmod(w.Entry("a"), 0o640))
		w.Must(os.Chmod(w.Store, 0o770))
	})
}
