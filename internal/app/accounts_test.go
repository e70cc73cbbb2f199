package app_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/family/claude"
	"shunt/internal/identity"
	"shunt/internal/sim"
)

// listed is an account of the default pool in a configuration, with keys as they stand there.
func listed(name string, keys ...string) string {
	return "[[providers.anthropic.accounts]]\nname = \"" + name + "\"\n" + strings.Join(keys, "\n") + "\n"
}

// at is a file of the home directory; its directory is made.
func (w *world) at(path string) string {
	var home string
	for _, entry := range w.env {
		if value, ok := strings.CutPrefix(entry, "HOME="); ok {
			home = value
		}
	}
	path = filepath.Join(home, path)
	w.must(os.MkdirAll(filepath.Dir(path), 0o700))
	return path
}

// ACC-1, ACC-2, ACC-3: a pool of one account of each source. What is not listed is not used.
func TestThreeSources(t *testing.T) {
	uuid := "0b5e1f0e-0000-4000-a000-00000000000b"
	pool := poolOf(listed("file", `credentials = "~/.claude/.credentials.json"`) + listed("env", `token_env = "SETUP"`, `uuid = "`+uuid+`"`) + listed("c"))
	var setup string
	inWorld(t, sim.Config{Accounts: accountsOf(4)}, pool, func(w *world) {
		for range 3 {
			w.mustServe("", plainModel)
		}
		if calls := w.calls(0); !slices.Equal(calls, []string{"a", "b", "c"}) {
			t.Errorf("calls %v", calls)
		}
		requests := w.provider.Requests()
		for i, token := range []string{w.provider.Token("a"), setup, w.provider.Token("c")} {
			w.wants("token", requests[i].Header.Get("Authorization"), "Bearer "+token)
		}
		for i, want := range []string{"theirs", uuid, "theirs"} { // WIRE-6: an unknown UUID changes nothing
			w.wants("account_uuid", requests[i].AccountUUID, want)
		}
		w.wants("warnings", w.logged("WARN"), 0)
		w.wants("conditions", w.conditions(), "")

		// A credentials file is watched like the store.
		w.replace(w.at(".claude/.credentials.json"), w.provider.Login("a"))
		second()
		w.wants("served by", w.mustServe("", plainModel), "file")
		w.wants("token after a new login", w.bearer(), w.provider.Token("a"))
	}, func(w *world) {
		w.replace(w.at(".claude/.credentials.json"), w.provider.Credentials("a"))
		w.remove("a")
		setup = w.provider.SetupToken("b")
		w.env = append(w.env, "SETUP= \t"+setup+"\r\n")
	})
}

// ACC-2: the variable is read where the environment of the process says it, which nothing changes while it runs; so a
// reload finds the same token and keeps what is known of the account.
func TestTokenEnvIsThatOfTheStart(t *testing.T) {
	t.Setenv("SETUP", "sk-ant-not-this-one")
	var setup string
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(listed("env", `token_env = "SETUP"`)), func(w *world) {
		w.provider.Inject("a", sim.Unauthorized().Times(1))
		w.wants("status", w.ask("", plainModel, true).status, http.StatusBadGateway)
		w.wants("rests", w.state("env").Cooldown, 300*time.Second)
		w.must(os.Setenv("SETUP", "sk-ant-nor-this-one"))
		w.hup <- struct{}{}
		synctest.Wait()
		w.wants("rests after a reload", w.state("env").Cooldown, 300*time.Second)
		w.mustServe("", plainModel)
		w.wants("token", w.bearer(), setup)
		w.wants("CFG-45 warnings", w.logged("WARN", `has no uuid`), 2) // once per load
	}, func(w *world) {
		setup = w.provider.SetupToken("a")
		w.env = append(w.env, "SETUP="+setup)
	})
}

// ACC-2: a variable that holds no token is said once, without its value, and its account is passed over.
func TestTokenEnvWithoutAToken(t *testing.T) {
	for name, value := range map[string]string{
		"not set": "", "empty": "SETUP=", "blank": "SETUP= \t ", "two tokens": "SETUP=sk-ant-one sk-ant-two", "line break": "SETUP=sk-ant-one\nsk-ant-two",
		"control": "SETUP=sk-ant-\x1b[2J", "byte order mark": "SETUP=\ufeffsk-ant-one", "not ASCII": "SETUP=sk-ant-\u200b",
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(listed("env", `token_env = "SETUP"`, `uuid = "u-1"`)+listed("a")), func(w *world) {
				for range 4 {
					w.wants("served by", w.mustServe("", plainModel), "a")
				}
				w.wants("rests", w.state("env").Cooldown, 300*time.Second)
				w.wants("cause", w.state("env").Cause.String(), "unresolved")
				w.wants("warnings", w.logged("WARN", "env has no credential", "SETUP"), 1)
				w.remove("a")
				second()
				r := w.ask("", plainModel, true)
				if r.status != http.StatusBadGateway || !strings.Contains(r.body, "2 tried") {
					t.Errorf("%d: %s", r.status, r.body)
				}
			}, func(w *world) {
				if value != "" {
					w.env = append(w.env, value)
				}
			})
		})
	}
}

// ACC-3, CFG-46: a listed entry whose file is missing keeps nothing from running, and works within a second of its coming
// (TOK-7: its cooldown ends with that).
func TestListedEntryComesLater(t *testing.T) {
	pool := poolOf(listed("later") + listed("file", `credentials = "~/creds.json"`) + listed("a"))
	inWorld(t, sim.Config{Accounts: accountsOf(3)}, pool, func(w *world) {
		for range 3 {
			w.wants("served by", w.mustServe("", plainModel), "a")
		}
		for _, name := range []string{"later", "file"} {
			w.wants("cause", w.state(name).Cause.String(), "unresolved")
			w.wants("warnings", w.logged("WARN", name+" has no credential: there is no file"), 1)
		}
		w.put("later", w.provider.Credentials("b"))
		w.replace(w.at("creds.json"), w.provider.Credentials("c"))
		second()
		before := w.seen()
		for range 3 {
			w.mustServe("", plainModel)
		}
		calls := w.calls(before)
		slices.Sort(calls)
		if !slices.Equal(calls, []string{"a", "b", "c"}) {
			t.Errorf("calls %v", calls)
		}
	}, func(w *world) {
		w.remove("b")
		w.remove("c")
	})
}

// ID-1, ID-2: entries of one identity are one candidate, whose representative the configuration decides alone.
func TestAliasesAreOneCandidate(t *testing.T) {
	for name, c := range map[string]struct {
		entries string
		is      string // the representative; empty: every alias is disabled
	}{
		"the whole store":                {"", "a"},
		"first listed":                   {listed("b") + listed("a"), "b"},
		"lowest priority":                {listed("b") + listed("a", "priority = 99"), "a"},
		"enabled before disabled":        {listed("b", "priority = 1", "disabled = true") + listed("a"), "a"},
		"all disabled":                   {listed("b", "disabled = true") + listed("a", "disabled = true"), ""},
		"UUID of the configuration wins": {listed("a", `uuid = "u-9"`) + listed("env", `token_env = "SETUP"`, `uuid = "u-9"`), "a"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(c.entries), func(w *world) {
				w.wants("candidates", len(w.app.Pool("anthropic")), 1)
				if c.is == "" {
					r := w.ask("s", plainModel, true)
					if r.status != http.StatusServiceUnavailable || !strings.Contains(r.body, "disabled") {
						t.Errorf("%d: %s", r.status, r.body)
					}
					return
				}
				for range 3 {
					w.wants("served by", w.mustServe("", plainModel), c.is)
				}
				// Health does not choose: the other alias's token is not tried.
				w.provider.Inject(c.is, sim.Unauthorized())
				w.provider.Inject(c.is, sim.InvalidGrant())
				before := w.seen()
				w.wants("status", w.ask("", plainModel, true).status, http.StatusBadGateway)
				w.wants("served by", w.ask("", plainModel, true).account, "")
				for _, account := range w.calls(before) {
					w.wants("called", account, c.is)
				}
			}, func(w *world) {
				w.put("a", owned(w.provider.Credentials("a"), "u-1", ""))
				w.put("b", owned(w.provider.Credentials("b"), " u-1\n", ""))
				w.env = append(w.env, "SETUP="+w.provider.SetupToken("b"))
			})
		})
	}
}

// ID-1: a UUID that is blank or no UUID is unknown, and the entries are accounts of their own.
func TestBlankUUIDIsUnknown(t *testing.T) {
	for uuid, warnings := range map[string]int{"": 0, "  ": 0, "not a uuid": 1, "../x": 1} {
		inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
			w.wants("members", w.members(), "a b")
			w.wants("key", w.state("a").Key, identity.OfStoreEntry("claude", "a"))
			w.wants("warnings", w.logged("WARN", "form of a UUID"), 2*warnings)
			w.mustServe("", plainModel)
			w.wants("account_uuid", w.provider.Requests()[0].AccountUUID, "theirs")
		}, func(w *world) {
			for _, name := range []string{"a", "b"} {
				w.put(name, owned(w.provider.Credentials(name), uuid, ""))
			}
		})
	}
}

// ID-3: an alias that comes or goes moves no session, not even one that takes the name over; each distinct set of
// aliases is warned about once.
func TestAliasMovesNoSession(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(4)}, poolOf(""), func(w *world) {
		homes := w.homes()
		w.provider.Fill("a", messages.FiveHour, 0.5)
		warnings := 0
		stays := func(step, representative string) {
			t.Helper()
			second()
			for session, home := range homes {
				if home == "a" {
					home = representative
				}
				w.wants(step+": "+session, w.mustServe(session, plainModel), home)
				if move := w.last().Move; move != nil {
					t.Errorf("%s: a move: %+v", step, move)
				}
			}
			w.wants(step+": warnings", w.logged("WARN", "are the same account"), warnings)
		}
		alias := owned(w.provider.Credentials("d"), w.provider.UUID("a"), "")
		warnings++
		w.put("zz", alias)
		stays("an alias", "a")
		if used := w.used("a"); used < 0.5 {
			t.Errorf("a has used %v", used)
		}
		warnings++
		w.put("0", alias)
		stays("an alias that is the first", "0")
		w.remove("0")
		stays("it goes", "a")
		w.put("0", alias)
		stays("it comes again", "0")
		w.remove("zz")
		warnings++
		stays("the other goes", "0")
	}, func(w *world) {
		w.remove("d")
		for _, name := range []string{"a", "b", "c"} {
			w.put(name, owned(w.provider.Credentials(name), w.provider.UUID(name), w.provider.Organization(name)))
		}
	})
}

// used is what shunt knows of an account's five hours, as a fraction.
func (w *world) used(account string) float64 {
	w.Helper()
	state := w.state(account)
	fraction, known := state.Quota.Utilization(claude.FiveHour)
	if !known {
		w.Errorf("nothing is known of the quota of %s", account)
	}
	return fraction
}

// ID-1b: one UUID in two organizations is two accounts with quota of their own; an entry that does not say which of them
// it belongs to is another, with a warning.
func TestOneUUIDInTwoOrganizations(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(4)}, poolOf(""), func(w *world) {
		w.wants("key of one organization", w.state("a").Key, identity.OfAccount("claude", "u-1", ""))
		w.put("b", owned(w.provider.Credentials("b"), "u-1", "o-2"))
		second()
		w.wants("members", w.members(), "a b c")
		w.wants("key", w.state("a").Key, identity.OfAccount("claude", "u-1", "o-1"))
		w.wants("key", w.state("b").Key, identity.OfAccount("claude", "u-1", "o-2"))
		w.wants("key of another account", w.state("c").Key, identity.OfAccount("claude", "u-3", ""))
		w.wants("warnings", w.logged("WARN"), 0)
		w.provider.Fill("a", messages.FiveHour, 0.7)
		for range 3 {
			w.mustServe("", plainModel)
		}
		if a, b := w.used("a"), w.used("b"); a < 0.7 || b > 0.1 {
			t.Errorf("a has used %v, b %v", a, b)
		}

		w.put("d", owned(w.provider.Credentials("d"), "u-1", ""))
		second()
		w.wants("members", w.members(), "a b c d")
		w.wants("key of the unknown", w.state("d").Key, identity.OfStoreEntry("claude", "d"))
		w.wants("warnings", w.logged("WARN", "organization_uuid", "anthropic/d"), 1)
		w.remove("b")
		second()
		w.wants("key of one organization again", w.state("a").Key, identity.OfAccount("claude", "u-1", ""))
	}, func(w *world) {
		w.remove("b")
		w.remove("d")
		w.put("a", owned(w.provider.Credentials("a"), "u-1", "o-1"))
		w.put("c", owned(w.provider.Credentials("c"), "u-3", "o-1"))
	})
}

// ID-1b: the organization of the configuration counts like that of the store, and a file of the store counts even where
// the pool does not list it.
func TestOrganizationsOfConfigurationAndStore(t *testing.T) {
	pool := poolOf(listed("a", `uuid = "u-1"`, `organization_uuid = "o-1"`))
	inWorld(t, sim.Config{Accounts: accountsOf(2)}, pool, func(w *world) {
		w.wants("members", w.members(), "a")
		w.wants("key", w.state("a").Key, identity.OfAccount("claude", "u-1", "o-1"))
		w.put("b", owned(w.provider.Credentials("b"), "u-2", "o-2"))
		second()
		w.wants("key", w.state("a").Key, identity.OfAccount("claude", "u-1", ""))
	}, func(w *world) {
		w.put("b", owned(w.provider.Credentials("b"), "u-1", "o-2"))
	})
}

// CFG-45: two configured accounts with one identity are warned about by both names, whether the file tells or the store.
func TestConfiguredAliasesAreWarnedAbout(t *testing.T) {
	for name, entries := range map[string]string{
		"by the file":  listed("a", `uuid = "u-5"`) + listed("b", `uuid = "u-5"`),
		"by the store": listed("a") + listed("b"),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(entries), func(w *world) {
				w.wants("warnings", w.logged("WARN", "a", "b", "same account"), 1)
			}, func(w *world) {
				for _, account := range []string{"a", "b"} {
					w.put(account, owned(w.provider.Credentials(account), "u-1", ""))
				}
			})
		})
	}
}

// SEL-12, ACC-4: many files, each with an account, are all served.
func TestManyAccounts(t *testing.T) {
	accounts := make([]sim.Account, 40)
	for i := range accounts {
		accounts[i].Name = fmt.Sprintf("account-%02d", i)
	}
	inWorld(t, sim.Config{Accounts: accounts}, poolOf(""), func(w *world) {
		for i := range accounts {
			w.wants("served by", w.mustServe("", plainModel), accounts[i].Name)
		}
	})
}
