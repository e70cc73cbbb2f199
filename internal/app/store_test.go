package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// members are the names of the default pool's accounts, joined.
func (w *world) members() string {
	var names []string
	for _, s := range w.App.Pool("anthropic") {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

// ACC-4: new, changed, renamed and removed files take effect within a second, at whatever moment they come.
func TestStoreChangesTakeEffect(t *testing.T) {
	for _, moment := range []time.Duration{0, 1, 130 * time.Millisecond, 249 * time.Millisecond, 251 * time.Millisecond, 999 * time.Millisecond} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, apptest.PoolOf(""), func(w *world) {
			time.Sleep(10*time.Second + moment)
			w.Want("at first", w.members(), "a")

			w.Put("b", w.Provider.Credentials("b"))
			simtest.Second()
			w.Want("after a new file", w.members(), "a b")

			w.Remove("a")
			simtest.Second()
			w.Want("after a removal", w.members(), "b")
			w.MustServe("", simtest.PlainModel)
			w.Want("token", w.Bearer(), w.Provider.Token("b"))

			w.Put("b", w.Provider.Login("b"))
			simtest.Second()
			w.MustServe("", simtest.PlainModel)
			w.Want("token after a change", w.Bearer(), w.Provider.Token("b"))

			w.Must(os.Rename(w.Entry("b"), w.Entry("renamed")))
			simtest.Second()
			w.Want("after a rename", w.members(), "renamed")
			w.Want("served by", w.MustServe("", simtest.PlainModel), "renamed")

			w.Put("c", w.Provider.Credentials("c")) // in place, without a rename
			simtest.Second()
			w.Want("after a file written in place", w.members(), "c renamed")
			w.Want("conditions", w.Conditions(), "")
			w.Want("warnings", w.Logged("WARN"), 0)
		}, func(w *world) {
			w.Remove("b")
			w.Remove("c")
		})
	}
}

// ACC-4: a credential that cannot be used is left out with one warning for each version of it, and serves within a second
// when it becomes one. TOK-7e: no token of a plug-in is ever used.
func TestStoreSkipsWhatCannotBeUsed(t *testing.T) {
	plugin := `{"mcpOAuth":{"x":{"accessToken":"sk-ant-plugin","refreshToken":"sk-ant-plugin-refresh"}}}`
	for name, c := range map[string]struct {
		write  func(w *world, path string)
		reason string // in the warning; empty: there is none
	}{
		"empty":        {content(""), "is empty"},
		"white space":  {content(" \n"), "is empty"},
		"half-written": {content(`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-ha`), "not valid JSON"},
		"a list":       {content(`[]`), "does not hold a JSON object"},
		"UTF-16":       {content("\xff\xfe{\x00}\x00"), "is UTF-16 text; save it as UTF-8"},
		"plug-in only": {content(plugin), "no claudeAiOauth login"},
		"null login":   {content(`{"claudeAiOauth":null}`), "no claudeAiOauth login"},
		"no token":     {content(`{"claudeAiOauth":{"refreshToken":"sk-ant-ort01-lonely"}}`), "no accessToken"},
		"a number":     {content(`{"claudeAiOauth":{"accessToken":12345}}`), "accessToken is not a string"},
		"line break":   {content(`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-one\ntwo","expiresAt":4102444800000}}`), "white space or characters"},
		"control":      {content(`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-\u0000\u001b[2J","expiresAt":4102444800000}}`), "white space or characters"},
		"BOM in token": {content(`{"claudeAiOauth":{"accessToken":"\ufeffsk-ant-oat01-bom","expiresAt":4102444800000}}`), "white space or characters"},
		"bad refresh":  {content(`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-x","refreshToken":"sk-ant-ort01 x","expiresAt":4102444800000}}`), "refreshToken contains white space"},
		"too large":    {content(strings.Repeat(" ", 2<<20)), "more than 1048576"},
		"directory":    {func(w *world, path string) { w.Must(os.Mkdir(path, 0o700)) }, ""},
		"link":         {func(w *world, path string) { w.Must(os.Symlink(w.Entry("a"), path)) }, ""},
		"broken link":  {func(w *world, path string) { w.Must(os.Symlink(filepath.Join(w.Store, "nowhere"), path)) }, ""},
		"link to self": {func(w *world, path string) { w.Must(os.Symlink("b.json", path)) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(""), func(w *world) {
				warnings := map[bool]int{false: 0, true: 1}[c.reason != ""]
				warned := func() int { return w.Logged("WARN", "skipped in the account store", "b.json", c.reason) }
				w.Want("members", w.members(), "a")
				w.Want("warnings", warned(), warnings)
				time.Sleep(time.Minute)
				w.MustServe("", simtest.PlainModel)
				w.Want("served with", w.Bearer(), w.Provider.Token("a"))
				w.Put("c", []byte("{}")) // has the store read anew
				simtest.Second()
				w.Want("warnings after another change", warned(), warnings)

				w.Must(os.Remove(w.Entry("b")))
				w.Put("b", w.Provider.Credentials("b"))
				simtest.Second()
				w.Want("members after the repair", w.members(), "a b")
				w.Must(os.Remove(w.Entry("b")))
				simtest.Second()
				c.write(w, w.Entry("b"))
				simtest.Second()
				w.Want("members after the relapse", w.members(), "a")
				w.Want("warnings after the relapse", warned(), 2*warnings)
			}, func(w *world) {
				w.Remove("b")
				c.write(w, w.Entry("b"))
			})
		})
	}
}

func content(text string) func(w *world, path string) {
	return func(w *world, path string) { w.Must(os.WriteFile(path, []byte(text), 0o600)) }
}

// ACC-4: only the names of accounts are entries; other files are not, and hidden and foreign files are no business
// of shunt's.
func TestStoreNames(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		w.Want("members", w.members(), "0-9 a")
		w.Want("warnings", w.Logged("WARN"), 2)
		for _, name := range []string{"Work.json", "a_b.json"} {
			w.Want("warnings about "+name, w.Logged("WARN", name), 1)
		}
	}, func(w *world) {
		for _, name := range []string{"Work.json", "a_b.json", ".hidden.json", "a.json.bak", "a", "a.JSON", "notes.txt", "a.json.lock"} {
			w.Replace(filepath.Join(w.Store, name), w.Provider.Credentials("a"))
		}
		w.Put("0-9", []byte(`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-another"}}`))
	})
}

// ACC-4: a login is not given up because its file is empty for the moment in which a program rewrites it.
func TestStoreFileRewrittenInPlace(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		time.Sleep(100 * time.Millisecond)
		for range 20 {
			w.Put("a", nil)
			w.HUP <- struct{}{} // has the store read at this moment
			time.Sleep(40 * time.Millisecond)
			w.MustServe("", simtest.PlainModel)
			w.Put("a", w.Provider.Login("a"))
			time.Sleep(70 * time.Millisecond)
			w.MustServe("", simtest.PlainModel)
		}
		simtest.Second()
		w.MustServe("", simtest.PlainModel)
		w.Want("token", w.Bearer(), w.Provider.Token("a"))
		w.Want("warnings", w.Logged("WARN"), 0)
	})
}

// ACC-4: a missing directory is an empty store, and a new one is used. ACC-5: the failure of the empty pool says what to do.
func TestStoreDirectoryComesLater(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(""), func(w *world) {
		r := w.Request("s", simtest.PlainModel, true)
		w.Want("status", r.Status, http.StatusServiceUnavailable)
		w.Want("x-should-retry", r.Header.Get("X-Should-Retry"), "false")
		kind, message, _ := messages.ParseError([]byte(r.Body))
		w.Want("type", kind, messages.TypeAPI)
		for _, part := range []string{"'anthropic'", "has no account", "`shunt login claude --name NAME`"} {
			if !strings.Contains(message, part) {
				w.Errorf("the message does not say %q: %s", part, message)
			}
		}
		w.Want("calls", w.Seen(), 0)

		w.Must(os.MkdirAll(w.Store, 0o700))
		w.Put("a", w.Provider.Credentials("a"))
		simtest.Second()
		w.Want("served by", w.MustServe("s", simtest.PlainModel), "a")

		w.Must(os.RemoveAll(w.Store))
		simtest.Second()
		w.Want("status without the directory", w.Request("s", simtest.PlainModel, true).Status, http.StatusServiceUnavailable)
	}, func(w *world) {
		w.Store = filepath.Join(w.Store, "deep", "down")
		w.Env = append(w.Env, "SHUNT_CLAUDE_ACCOUNTS_DIR="+w.Store)
	})
}

// ACC-4: a directory that cannot be read for a moment has not lost its accounts, whatever is done in that moment.
func TestStoreDirectoryUnreadableForAMoment(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(""), func(w *world) {
		w.Must(os.Rename(w.Store, w.Store+".away"))
		w.Must(os.WriteFile(w.Store, nil, 0o600)) // not even root can list a file
		simtest.Second()
		w.Want("members", w.members(), "a b")
		w.HUP <- struct{}{}
		simtest.Second()
		w.Want("members after a reload", w.members(), "a b")
		w.MustServe("", simtest.PlainModel)
		w.Want("warnings", w.Logged("WARN", "store"), 1)

		w.Must(os.Remove(w.Store))
		w.Must(os.Rename(w.Store+".away", w.Store))
		simtest.Second()
		w.Want("members afterwards", w.members(), "a b")
		w.MustServe("", simtest.PlainModel)
	})
}

// ACC-4, CFG-50: a request continues with the account that serves it, whatever happens to its file.
func TestStoreChangeLeavesRequestsAlone(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2), Pace: sim.Pace{FirstByte: 5 * time.Second, Delta: time.Second}}, apptest.PoolOf(""), func(w *world) {
		home := w.MustServe("s", simtest.PlainModel)
		open := make(chan simtest.Reply)
		for range 2 {
			go func() { open <- w.Request("s", simtest.PlainModel, true) }()
			time.Sleep(6 * time.Second) // the first is in its response, the second before it
		}
		w.Remove(home)
		simtest.Second()
		if got := w.MustServe("s", simtest.PlainModel); got == home {
			w.Errorf("a removed account serves")
		}
		for range 2 {
			if r := <-open; r.Status != 200 || r.Err != nil || r.Account != home {
				w.Errorf("%d by %q: %v", r.Status, r.Account, r.Err)
			}
		}
	})
}

// ACC-4, SEL-12, ID-3: quota, cooldowns and counters belong to the account and survive what happens to its file, and
// sessions come home when it is back.
func TestStateSurvivesStoreChanges(t *testing.T) {
	accounts := simtest.Accounts(3)
	accounts[0].FiveHour.ResetIn = time.Hour
	inWorld(t, sim.Config{Accounts: accounts}, apptest.PoolOf(""), func(w *world) {
		homes := w.Homes()
		w.Provider.Inject("a", sim.Rejected(messages.FiveHour).RetryAfter("3000").Times(1))
		for session, home := range homes {
			if home == "a" {
				w.MustServe(session, simtest.PlainModel)
				break
			}
		}
		before := w.State("a")
		w.Want("cooldown", before.Cooldown, 3000*time.Second)

		w.Remove("a")
		simtest.Second()
		w.Want("members without it", w.members(), "b c")
		for session, home := range homes {
			if got := w.MustServe(session, simtest.PlainModel); home != "a" && got != home {
				w.Errorf("%s moved from %s to %s", session, home, got)
			}
		}
		w.Put("a", w.Provider.Login("a"))
		simtest.Second()
		after := w.State("a")
		w.Want("rests afterwards", after.Cooldown, before.Cooldown-2*time.Second)
		w.Want("requests", after.Requests, before.Requests)
		w.Want("rotations", after.Rotations, before.Rotations)
		w.Want("quota", after.Quota, before.Quota)
		time.Sleep(time.Hour) // its window has reset
		for session, home := range homes {
			w.Want(session, w.MustServe(session, simtest.PlainModel), home)
		}
	})
}
