package app_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"shunt/internal/sim"
)

// TOK-7f: a byte-order mark at the start of the configuration, of a file that it refers to, of an entry of the store or of a
// credentials file does no harm; a refresh writes a credentials file without it.
func TestByteOrderMarks(t *testing.T) {
	const mark = "\ufeff"
	level := filepath.Join(t.TempDir(), "level")
	toml := mark + poolOf(listed("a")+listed("file", `credentials = "~/creds.json"`)) +
		"[log]\nlevel = \"${file:" + level + "}\"\n"
	inWorld(t, sim.Config{Accounts: accountsOf(2)}, toml, func(w *world) {
		for range 4 {
			w.mustServe("", plainModel)
		}
		for _, name := range []string{"a", "file"} {
			if w.state(name).Requests == 0 {
				w.Errorf("%s serves nothing", name)
			}
		}
		w.wants("login", w.loginIn(w.at("creds.json")), w.newest("b"))
		w.wants("warnings", w.logged("WARN"), 0)
	}, func(w *world) {
		w.must(os.WriteFile(level, []byte(mark+"debug\n"), 0o600))
		w.put("a", append([]byte(mark), w.provider.Credentials("a")...))
		w.provider.ExpireTokens("b")
		w.replace(w.at("creds.json"), append([]byte(mark), expiring(w.provider.Credentials("b"), -time.Minute)...))
		w.remove("b")
	})
}

// TOK-8b: a login that others can read or replace is used, and there is one warning with the command that fixes it; another
// when the file has been replaced by one that they can read as well.
func TestExposedCredentials(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(3)}, poolOf(""), func(w *world) {
		for range 3 {
			w.mustServe("", plainModel)
		}
		file := func() int {
			return w.logged("WARN", "others can read or write "+w.entry("a"), "`chmod 600 "+w.entry("a")+"`")
		}
		directory := func() int { return w.logged("WARN", "the directory "+w.store, "`chmod go-w "+w.store+"`") }
		w.wants("warnings", w.logged("WARN"), 2)
		w.wants("warnings of the file", file(), 1)
		w.wants("warnings of the directory", directory(), 1)
		w.hup <- struct{}{}
		second()
		w.wants("warnings after a reload", w.logged("WARN"), 2)
		w.put("a", w.provider.Login("a"))
		w.must(os.Chmod(w.entry("a"), 0o604))
		second()
		w.wants("warnings of the new file", file(), 2)
		w.wants("warnings of the directory", directory(), 1)
		w.mustServe("", plainModel)
	}, func(w *world) {
		w.must(os.Chmod(w.entry("a"), 0o640))
		w.must(os.Chmod(w.store, 0o770))
	})
}
