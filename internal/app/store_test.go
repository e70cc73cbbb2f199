package app_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

// entry is the path of a store entry.
func (w *world) entry(account string) string { return filepath.Join(w.store, account+".json") }

// put replaces a store entry as careful programs do, by a rename.
func (w *world) put(account string, credentials []byte) { w.replace(w.entry(account), credentials) }

func (w *world) replace(path string, data []byte) {
	w.Helper()
	w.must(os.WriteFile(path+".new", data, 0o600))
	w.must(os.Rename(path+".new", path))
}

func (w *world) remove(account string) {
	w.Helper()
	w.must(os.Remove(w.entry(account)))
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// second lets pass what shunt may take to notice a change of the store (ACC-4).
func second() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// members are the names of the default pool's accounts, joined.
func (w *world) members() string {
	var names []string
	for _, s := range w.app.Pool("anthropic") {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

func (w *world) wants(what string, got, want any) {
	w.Helper()
	if got != want {
		w.Errorf("%s: %v, want %v", what, got, want)
	}
}

// conditions are the names of what is wrong, joined.
func (w *world) conditions() string {
	synctest.Wait()
	var names []string
	for _, c := range w.app.Conditions() {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// logged counts the lines of the log that hold all the parts.
func (w *world) logged(parts ...string) int {
	synctest.Wait()
	n := 0
	for line := range strings.Lines(w.log.String()) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			n++
		}
	}
	return n
}

// bearer is the token of the request that the provider saw last.
func (w *world) bearer() string {
	synctest.Wait()
	requests := w.provider.Requests()
	return strings.TrimPrefix(requests[len(requests)-1].Header.Get("Authorization"), "Bearer ")
}

// edited is a credentials file after a change of its top level.
func edited(credentials []byte, change func(file map[string]any)) []byte {
	var file map[string]any
	if err := json.Unmarshal(credentials, &file); err != nil {
		panic(err)
	}
	change(file)
	data, err := json.Marshal(file)
	if err != nil {
		panic(err)
	}
	return data
}

// owned is a credentials file that says whose account it is; an empty organization is left out.
func owned(credentials []byte, uuid, organization string) []byte {
	return edited(credentials, func(file map[string]any) {
		file["shuntAccountUuid"] = uuid
		if organization != "" {
			file["shuntOrganizationUuid"] = organization
		}
	})
}

// ACC-4: new, changed, renamed and removed files take effect within a second, at whatever moment they come.
func TestStoreChangesTakeEffect(t *testing.T) {
	for _, moment := range []time.Duration{0, 1, 130 * time.Millisecond, 249 * time.Millisecond, 251 * time.Millisecond, 999 * time.Millisecond} {
		inWorld(t, sim.Config{Accounts: accountsOf(3)}, poolOf(""), func(w *world) {
			time.Sleep(10*time.Second + moment)
			w.wants("at first", w.members(), "a")

			w.put("b", w.provider.Credentials("b"))
			second()
			w.wants("after a new file", w.members(), "a b")

			w.remove("a")
			second()
			w.wants("after a removal", w.members(), "b")
			w.mustServe("", plainModel)
			w.wants("token", w.bearer(), w.provider.Token("b"))

			w.put("b", w.provider.Login("b"))
			second()
			w.mustServe("", plainModel)
			w.wants("token after a change", w.bearer(), w.provider.Token("b"))

			w.must(os.Rename(w.entry("b"), w.entry("renamed")))
			second()
			w.wants("after a rename", w.members(), "renamed")
			w.wants("served by", w.mustServe("", plainModel), "renamed")

			w.write("c", w.provider.Credentials("c")) // in place, without a rename
			second()
			w.wants("after a file written in place", w.members(), "c renamed")
			w.wants("conditions", w.conditions(), "")
			w.wants("warnings", w.logged("WARN"), 0)
		}, func(w *world) {
			w.remove("b")
			w.remove("c")
		})
	}
}

// ACC-4: what is no usable credential is left out and said once for each version of it, and is served within a second
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
		"a number":     {content(`{"claudeAiOauth":{"accessToken":12345}}`), "no accessToken"},
		"line break":   {content(`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-one\ntwo","expiresAt":4102444800000}}`), "white space or characters"},
		"control":      {content(`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-\u0000\u001b[2J","expiresAt":4102444800000}}`), "white space or characters"},
		"BOM in token": {content(`{"claudeAiOauth":{"accessToken":"\ufeffsk-ant-oat01-bom","expiresAt":4102444800000}}`), "white space or characters"},
		"bad refresh":  {content(`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-x","refreshToken":"sk-ant-ort01 x","expiresAt":4102444800000}}`), "refreshToken contains white space"},
		"too large":    {content(strings.Repeat(" ", 2<<20)), "more than 1048576"},
		"directory":    {func(w *world, path string) { w.must(os.Mkdir(path, 0o700)) }, ""},
		"link":         {func(w *world, path string) { w.must(os.Symlink(w.entry("a"), path)) }, ""},
		"broken link":  {func(w *world, path string) { w.must(os.Symlink(filepath.Join(w.store, "nowhere"), path)) }, ""},
		"link to self": {func(w *world, path string) { w.must(os.Symlink("b.json", path)) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
				warnings := map[bool]int{false: 0, true: 1}[c.reason != ""]
				told := func() int { return w.logged("WARN", "skipped in the account store", "b.json", c.reason) }
				w.wants("members", w.members(), "a")
				w.wants("warnings", told(), warnings)
				time.Sleep(time.Minute)
				w.mustServe("", plainModel)
				w.wants("served with", w.bearer(), w.provider.Token("a"))
				w.put("c", []byte("{}")) // has the store read anew
				second()
				w.wants("warnings after another change", told(), warnings)

				w.must(os.Remove(w.entry("b")))
				w.put("b", w.provider.Credentials("b"))
				second()
				w.wants("members after the repair", w.members(), "a b")
				w.must(os.Remove(w.entry("b")))
				second()
				c.write(w, w.entry("b"))
				second()
				w.wants("members after the relapse", w.members(), "a")
				w.wants("warnings after the relapse", told(), 2*warnings)
			}, func(w *world) {
				w.remove("b")
				c.write(w, w.entry("b"))
			})
		})
	}
}

func content(text string) func(w *world, path string) {
	return func(w *world, path string) { w.must(os.WriteFile(path, []byte(text), 0o600)) }
}

// ACC-4: only the names of accounts are entries; what has another is not, and hidden and foreign files are no business
// of shunt's.
func TestStoreNames(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
		w.wants("members", w.members(), "0-9 a")
		w.wants("warnings", w.logged("WARN"), 2)
		for _, name := range []string{"Work.json", "a_b.json"} {
			w.wants("warnings about "+name, w.logged("WARN", name), 1)
		}
	}, func(w *world) {
		for _, name := range []string{"Work.json", "a_b.json", ".hidden.json", "a.json.bak", "a", "a.JSON", "notes.txt", "a.json.lock"} {
			w.replace(filepath.Join(w.store, name), w.provider.Credentials("a"))
		}
		w.write("0-9", []byte(`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-another"}}`))
	})
}

// ACC-4: a login is not given up because its file is empty for the moment in which a program rewrites it.
func TestStoreFileRewrittenInPlace(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
		time.Sleep(100 * time.Millisecond)
		for range 20 {
			w.write("a", nil)
			w.hup <- struct{}{} // has the store read at this moment
			time.Sleep(40 * time.Millisecond)
			w.mustServe("", plainModel)
			w.write("a", w.provider.Login("a"))
			time.Sleep(70 * time.Millisecond)
			w.mustServe("", plainModel)
		}
		second()
		w.mustServe("", plainModel)
		w.wants("token", w.bearer(), w.provider.Token("a"))
		w.wants("warnings", w.logged("WARN"), 0)
	})
}

// ACC-4: a directory that is missing is an empty store, and one that comes is used. ACC-5: the empty pool says what to do.
func TestStoreDirectoryComesLater(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
		r := w.ask("s", plainModel, true)
		w.wants("status", r.status, http.StatusServiceUnavailable)
		w.wants("x-should-retry", r.header.Get("X-Should-Retry"), "false")
		kind, message, _ := messages.ParseError([]byte(r.body))
		w.wants("type", kind, messages.TypeAPI)
		for _, part := range []string{"'anthropic'", "has no account", "`shunt login claude --name NAME`"} {
			if !strings.Contains(message, part) {
				w.Errorf("the message does not say %q: %s", part, message)
			}
		}
		w.wants("calls", w.seen(), 0)

		w.must(os.MkdirAll(w.store, 0o700))
		w.write("a", w.provider.Credentials("a"))
		second()
		w.wants("served by", w.mustServe("s", plainModel), "a")

		w.must(os.RemoveAll(w.store))
		second()
		w.wants("status without the directory", w.ask("s", plainModel, true).status, http.StatusServiceUnavailable)
	}, func(w *world) {
		w.store = filepath.Join(w.store, "deep", "down")
		w.env = append(w.env, "SHUNT_CLAUDE_ACCOUNTS_DIR="+w.store)
	})
}

// ACC-4: a directory that cannot be read for a moment has not lost its accounts, whatever is done in that moment.
func TestStoreDirectoryUnreadableForAMoment(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
		w.must(os.Rename(w.store, w.store+".away"))
		w.must(os.WriteFile(w.store, nil, 0o600)) // not even root can list a file
		second()
		w.wants("members", w.members(), "a b")
		w.hup <- struct{}{}
		second()
		w.wants("members after a reload", w.members(), "a b")
		w.mustServe("", plainModel)
		w.wants("warnings", w.logged("WARN", "store"), 1)

		w.must(os.Remove(w.store))
		w.must(os.Rename(w.store+".away", w.store))
		second()
		w.wants("members afterwards", w.members(), "a b")
		w.mustServe("", plainModel)
	})
}

// ACC-4, CFG-50: a request goes on with the account that serves it, whatever becomes of its file.
func TestStoreChangeLeavesRequestsAlone(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(2), Pace: sim.Pace{FirstByte: 5 * time.Second, Delta: time.Second}}, poolOf(""), func(w *world) {
		home := w.mustServe("s", plainModel)
		open := make(chan reply)
		for range 2 {
			go func() { open <- w.ask("s", plainModel, true) }()
			time.Sleep(6 * time.Second) // the first is in its answer, the second before it
		}
		w.remove(home)
		second()
		if got := w.mustServe("s", plainModel); got == home {
			w.Errorf("a removed account serves")
		}
		for range 2 {
			if r := <-open; r.status != 200 || r.err != nil || r.account != home {
				w.Errorf("%d by %q: %v", r.status, r.account, r.err)
			}
		}
	})
}

// ACC-4, SEL-12, ID-3: quota, cooldowns and counters belong to the account and survive what happens to its file, and
// sessions come home when it is back.
func TestStateSurvivesStoreChanges(t *testing.T) {
	accounts := accountsOf(3)
	accounts[0].FiveHour.ResetIn = time.Hour
	inWorld(t, sim.Config{Accounts: accounts}, poolOf(""), func(w *world) {
		homes := w.homes()
		w.provider.Inject("a", sim.Rejected(messages.FiveHour).RetryAfter("3000").Times(1))
		for session, home := range homes {
			if home == "a" {
				w.mustServe(session, plainModel)
				break
			}
		}
		before := w.state("a")
		w.wants("rests", before.Cooldown, 3000*time.Second)

		w.remove("a")
		second()
		w.wants("members without it", w.members(), "b c")
		for session, home := range homes {
			if got := w.mustServe(session, plainModel); home != "a" && got != home {
				w.Errorf("%s moved from %s to %s", session, home, got)
			}
		}
		w.put("a", w.provider.Login("a"))
		second()
		after := w.state("a")
		w.wants("rests afterwards", after.Cooldown, before.Cooldown-2*time.Second)
		w.wants("requests", after.Requests, before.Requests)
		w.wants("rotations", after.Rotations, before.Rotations)
		w.wants("quota", after.Quota, before.Quota)
		time.Sleep(time.Hour) // its window has reset
		for session, home := range homes {
			w.wants(session, w.mustServe(session, plainModel), home)
		}
	})
}

// homes has forty sessions served, and tells by whom. Every account serves some.
func (w *world) homes() map[string]string {
	w.Helper()
	homes, used := map[string]string{}, map[string]bool{}
	for i := range 40 {
		session := string(rune('A'+i/10)) + string(rune('0'+i%10))
		homes[session] = w.mustServe(session, plainModel)
		used[homes[session]] = true
	}
	w.wants("accounts with sessions", len(used), len(w.app.Pool("anthropic")))
	return homes
}

// start sends a request on its own goroutine.
func (w *world) start(ctx context.Context, session string) <-chan reply {
	answer := make(chan reply, 1)
	go func() { answer <- w.post(ctx, sim.MessagesPath, session, bodyFor(plainModel, true)) }()
	return answer
}
