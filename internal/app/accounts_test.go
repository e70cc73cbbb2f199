package app_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/dialect/messages"
	"shunt/internal/family/claude"
	"shunt/internal/identity"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// ACC-1, ACC-2, ACC-3: a pool of one account of each source. What is not listed is not used.
func TestThreeSources(t *testing.T) {
	uuid := "0b5e1f0e-0000-4000-a000-00000000000b"
	pool := apptest.PoolOf(apptest.Listed("file", `credentials = "~/.claude/.credentials.json"`) + apptest.Listed("env", `token_env = "SETUP"`, `uuid = "`+uuid+`"`) + apptest.Listed("c"))
	var setup string
	inWorld(t, sim.Config{Accounts: simtest.Accounts(4)}, pool, func(w *world) {
		for range 3 {
			w.MustServe("", simtest.PlainModel)
		}
		if calls := w.Calls(0); !slices.Equal(calls, []string{"a", "b", "c"}) {
			t.Errorf("calls %v", calls)
		}
		requests := w.Provider.Requests()
		for i, token := range []string{w.Provider.Token("a"), setup, w.Provider.Token("c")} {
			w.Want("token", requests[i].Header.Get("Authorization"), "Bearer "+token)
		}
		for i, want := range []string{"theirs", uuid, "theirs"} { // WIRE-6: an unknown UUID changes nothing
			w.Want("account_uuid", requests[i].AccountUUID, want)
		}
		w.Want("warnings", w.Logged("WARN"), 0)
		w.Want("conditions", w.Conditions(), "")

		// A credentials file is watched like the store.
		w.Replace(w.At(".claude/.credentials.json"), w.Provider.Login("a"))
		simtest.Second()
		w.Want("served by", w.MustServe("", simtest.PlainModel), "file")
		w.Want("token after a new login", w.Bearer(), w.Provider.Token("a"))
	}, func(w *world) {
		w.Replace(w.At(".claude/.credentials.json"), w.Provider.Credentials("a"))
		w.Remove("a")
		setup = w.Provider.SetupToken("b")
		w.Env = append(w.Env, "SETUP= \t"+setup+"\r\n")
	})
}

// ACC-2: the variable is read from the environment of the process, which nothing changes while it runs; so a
// reload finds the same token and keeps what is known of the account.
func TestTokenEnvIsThatOfTheStart(t *testing.T) {
	t.Setenv("SETUP", "sk-ant-not-this-one")
	var setup string
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(apptest.Listed("env", `token_env = "SETUP"`)), func(w *world) {
		w.Provider.Inject("a", sim.Unauthorized().Times(1))
		w.Want("status", w.Request("", simtest.PlainModel, true).Status, http.StatusBadGateway)
		w.Want("cooldown", w.State("env").Cooldown, 300*time.Second)
		w.Must(os.Setenv("SETUP", "sk-ant-nor-this-one"))
		w.HUP <- struct{}{}
		synctest.Wait()
		w.Want("cooldown after a reload", w.State("env").Cooldown, 300*time.Second)
		w.MustServe("", simtest.PlainModel)
		w.Want("token", w.Bearer(), setup)
		w.Want("CFG-45 warnings", w.Logged("WARN", `has no uuid`), 2) // once per load
	}, func(w *world) {
		setup = w.Provider.SetupToken("a")
		w.Env = append(w.Env, "SETUP="+setup)
	})
}

// ACC-2: a variable that holds no token is said once, without its value, and its account is passed over.
func TestTokenEnvWithoutAToken(t *testing.T) {
	for name, value := range map[string]string{
		"not set": "", "empty": "SETUP=", "blank": "SETUP= \t ", "two tokens": "SETUP=sk-ant-one sk-ant-two", "line break": "SETUP=sk-ant-one\nsk-ant-two",
		"control": "SETUP=sk-ant-\x1b[2J", "byte order mark": "SETUP=\ufeffsk-ant-one", "not ASCII": "SETUP=sk-ant-\u200b",
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(apptest.Listed("env", `token_env = "SETUP"`, `uuid = "u-1"`)+apptest.Listed("a")), func(w *world) {
				for range 4 {
					w.Want("served by", w.MustServe("", simtest.PlainModel), "a")
				}
				w.Want("cooldown", w.State("env").Cooldown, 300*time.Second)
				w.Want("cause", w.State("env").Cause.String(), "unresolved")
				w.Want("warnings", w.Logged("WARN", "env has no credential", "SETUP"), 1)
				w.Remove("a")
				simtest.Second()
				r := w.Request("", simtest.PlainModel, true)
				if r.Status != http.StatusBadGateway || !strings.Contains(r.Body, "2 tried") {
					t.Errorf("%d: %s", r.Status, r.Body)
				}
			}, func(w *world) {
				if value != "" {
					w.Env = append(w.Env, value)
				}
			})
		})
	}
}

// ACC-3, CFG-46: a listed entry whose file is missing keeps nothing from running, and works within a second of its coming
// (TOK-7: its cooldown ends with that).
func TestListedEntryComesLater(t *testing.T) {
	pool := apptest.PoolOf(apptest.Listed("later") + apptest.Listed("file", `credentials = "~/creds.json"`) + apptest.Listed("a"))
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, pool, func(w *world) {
		for range 3 {
			w.Want("served by", w.MustServe("", simtest.PlainModel), "a")
		}
		for _, name := range []string{"later", "file"} {
			w.Want("cause", w.State(name).Cause.String(), "unresolved")
			w.Want("warnings", w.Logged("WARN", name+" has no credential: cannot find the file"), 1)
		}
		w.Put("later", w.Provider.Credentials("b"))
		w.Replace(w.At("creds.json"), w.Provider.Credentials("c"))
		simtest.Second()
		before := w.Seen()
		for range 3 {
			w.MustServe("", simtest.PlainModel)
		}
		calls := w.Calls(before)
		slices.Sort(calls)
		if !slices.Equal(calls, []string{"a", "b", "c"}) {
			t.Errorf("calls %v", calls)
		}
	}, func(w *world) {
		w.Remove("b")
		w.Remove("c")
	})
}

// ID-1, ID-2: entries of one identity are one candidate, whose representative the configuration decides alone.
func TestAliasesAreOneCandidate(t *testing.T) {
	for name, c := range map[string]struct {
		entries string
		is      string // the representative; empty: every alias is disabled
	}{
		"the whole store":                {"", "a"},
		"first listed":                   {apptest.Listed("b") + apptest.Listed("a"), "b"},
		"lowest priority":                {apptest.Listed("b") + apptest.Listed("a", "priority = 99"), "a"},
		"enabled before disabled":        {apptest.Listed("b", "priority = 1", "disabled = true") + apptest.Listed("a"), "a"},
		"all disabled":                   {apptest.Listed("b", "disabled = true") + apptest.Listed("a", "disabled = true"), ""},
		"UUID of the configuration wins": {apptest.Listed("a", `uuid = "u-9"`) + apptest.Listed("env", `token_env = "SETUP"`, `uuid = "u-9"`), "a"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(c.entries), func(w *world) {
				w.Want("candidates", len(w.App.Pool("anthropic")), 1)
				if c.is == "" {
					r := w.Request("s", simtest.PlainModel, true)
					if r.Status != http.StatusServiceUnavailable || !strings.Contains(r.Body, "disabled") {
						t.Errorf("%d: %s", r.Status, r.Body)
					}
					return
				}
				for range 3 {
					w.Want("served by", w.MustServe("", simtest.PlainModel), c.is)
				}
				// Health does not choose: the other alias's token is not tried.
				w.Provider.Inject(c.is, sim.Unauthorized())
				w.Provider.Inject(c.is, sim.InvalidGrant())
				before := w.Seen()
				w.Want("status", w.Request("", simtest.PlainModel, true).Status, http.StatusBadGateway)
				w.Want("served by", w.Request("", simtest.PlainModel, true).Account, "")
				for _, account := range w.Calls(before) {
					w.Want("called", account, c.is)
				}
			}, func(w *world) {
				w.Put("a", simtest.Owned(w.Provider.Credentials("a"), "u-1", ""))
				w.Put("b", simtest.Owned(w.Provider.Credentials("b"), " u-1\n", ""))
				w.Env = append(w.Env, "SETUP="+w.Provider.SetupToken("b"))
			})
		})
	}
}

// ID-1: a UUID that is blank or no UUID is unknown, and the entries are accounts of their own.
func TestBlankUUIDIsUnknown(t *testing.T) {
	for uuid, warnings := range map[string]int{"": 0, "  ": 0, "not a uuid": 1, "../x": 1} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(""), func(w *world) {
			w.Want("members", w.members(), "a b")
			w.Want("key", w.State("a").Key, identity.OfStoreEntry("claude", "a"))
			w.Want("warnings", w.Logged("WARN", "form of a UUID"), 2*warnings)
			w.MustServe("", simtest.PlainModel)
			w.Want("account_uuid", w.Provider.Requests()[0].AccountUUID, "theirs")
		}, func(w *world) {
			for _, name := range []string{"a", "b"} {
				w.Put(name, simtest.Owned(w.Provider.Credentials(name), uuid, ""))
			}
		})
	}
}

// ID-3: an alias that comes or goes moves no session, not even one that takes the name over; each distinct set of
// aliases is warned about once.
func TestAliasMovesNoSession(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(4)}, apptest.PoolOf(""), func(w *world) {
		homes := w.Homes()
		w.Provider.Fill("a", messages.FiveHour, 0.5)
		warnings := 0
		stays := func(step, representative string) {
			t.Helper()
			simtest.Second()
			for session, home := range homes {
				if home == "a" {
					home = representative
				}
				w.Want(step+": "+session, w.MustServe(session, simtest.PlainModel), home)
				if move := w.Last().Move; move != nil {
					t.Errorf("%s: a move: %+v", step, move)
				}
			}
			w.Want(step+": warnings", w.Logged("WARN", "are the same account"), warnings)
		}
		alias := simtest.Owned(w.Provider.Credentials("d"), w.Provider.UUID("a"), "")
		warnings++
		w.Put("zz", alias)
		stays("an alias", "a")
		if used := w.used("a"); used < 0.5 {
			t.Errorf("a has used %v", used)
		}
		warnings++
		w.Put("0", alias)
		stays("an alias that is the first", "0")
		w.Remove("0")
		stays("it goes", "a")
		w.Put("0", alias)
		stays("it comes again", "0")
		w.Remove("zz")
		warnings++
		stays("the other goes", "0")
	}, func(w *world) {
		w.Remove("d")
		for _, name := range []string{"a", "b", "c"} {
			w.Put(name, simtest.Owned(w.Provider.Credentials(name), w.Provider.UUID(name), w.Provider.Organization(name)))
		}
	})
}

// used is what shunt knows of an account's five hours, as a fraction.
func (w *world) used(account string) float64 {
	w.Helper()
	state := w.State(account)
	fraction, known := state.Quota.Utilization(claude.FiveHour)
	if !known {
		w.Errorf("nothing is known of the quota of %s", account)
	}
	return fraction
}

// ID-1b: one UUID in two organizations is two accounts with quota of their own; an entry that does not say which of them
// it belongs to is another, with a warning.
func TestOneUUIDInTwoOrganizations(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(4)}, apptest.PoolOf(""), func(w *world) {
		w.Want("key of one organization", w.State("a").Key, identity.OfAccount("claude", "u-1", ""))
		w.Put("b", simtest.Owned(w.Provider.Credentials("b"), "u-1", "o-2"))
		simtest.Second()
		w.Want("members", w.members(), "a b c")
		w.Want("key", w.State("a").Key, identity.OfAccount("claude", "u-1", "o-1"))
		w.Want("key", w.State("b").Key, identity.OfAccount("claude", "u-1", "o-2"))
		w.Want("key of another account", w.State("c").Key, identity.OfAccount("claude", "u-3", ""))
		w.Want("warnings", w.Logged("WARN"), 0)
		w.Provider.Fill("a", messages.FiveHour, 0.7)
		for range 3 {
			w.MustServe("", simtest.PlainModel)
		}
		if a, b := w.used("a"), w.used("b"); a < 0.7 || b > 0.1 {
			t.Errorf("a has used %v, b %v", a, b)
		}

		w.Put("d", simtest.Owned(w.Provider.Credentials("d"), "u-1", ""))
		simtest.Second()
		w.Want("members", w.members(), "a b c d")
		w.Want("key of the unknown", w.State("d").Key, identity.OfStoreEntry("claude", "d"))
		w.Want("warnings", w.Logged("WARN", "organization_uuid", "anthropic/d"), 1)
		w.Remove("b")
		simtest.Second()
		w.Want("key of one organization again", w.State("a").Key, identity.OfAccount("claude", "u-1", ""))
	}, func(w *world) {
		w.Remove("b")
		w.Remove("d")
		w.Put("a", simtest.Owned(w.Provider.Credentials("a"), "u-1", "o-1"))
		w.Put("c", simtest.Owned(w.Provider.Credentials("c"), "u-3", "o-1"))
	})
}

// ID-1b: the organization of the configuration counts like that of the store, and a file of the store counts even where
// the pool does not list it.
func TestOrganizationsOfConfigurationAndStore(t *testing.T) {
	pool := apptest.PoolOf(apptest.Listed("a", `uuid = "u-1"`, `organization_uuid = "o-1"`))
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, pool, func(w *world) {
		w.Want("members", w.members(), "a")
		w.Want("key", w.State("a").Key, identity.OfAccount("claude", "u-1", "o-1"))
		w.Put("b", simtest.Owned(w.Provider.Credentials("b"), "u-2", "o-2"))
		simtest.Second()
		w.Want("key", w.State("a").Key, identity.OfAccount("claude", "u-1", ""))
	}, func(w *world) {
		w.Put("b", simtest.Owned(w.Provider.Credentials("b"), "u-1", "o-2"))
	})
}

// CFG-45: two configured accounts with one identity are warned about by both names, whether the file or the store has the identity.
func TestConfiguredAliasesAreWarnedAbout(t *testing.T) {
	for name, entries := range map[string]string{
		"by the file":  apptest.Listed("a", `uuid = "u-5"`) + apptest.Listed("b", `uuid = "u-5"`),
		"by the store": apptest.Listed("a") + apptest.Listed("b"),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(entries), func(w *world) {
				w.Want("warnings", w.Logged("WARN", "a", "b", "same account"), 1)
			}, func(w *world) {
				for _, account := range []string{"a", "b"} {
					w.Put(account, simtest.Owned(w.Provider.Credentials(account), "u-1", ""))
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
	inWorld(t, sim.Config{Accounts: accounts}, apptest.PoolOf(""), func(w *world) {
		for i := range accounts {
			w.Want("served by", w.MustServe("", simtest.PlainModel), accounts[i].Name)
		}
	})
}
