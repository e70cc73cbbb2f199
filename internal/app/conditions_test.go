package app_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

const needsLogin = "account anthropic/a needs login"

// TOK-7, CFG-51: what is wrong with an account is wrong as long as there is the account: it ends when its file goes or
// the configuration does not list it any more, and not with a reload that keeps it.
func TestConditionsEndWithTheirAccount(t *testing.T) {
	ends := map[string]func(w *world){
		"removed file": func(w *world) { w.Remove("a"); simtest.Second() },
		"not listed":   func(w *world) { w.Reload(apptest.PoolOf(apptest.Listed("b"))) },
		"no pool":      func(w *world) { w.Reload("[providers.anthropic]\nbase_url = \"" + simtest.ProviderURL + "\"\n") },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(""), func(w *world) {
				time.Sleep(10 * time.Second)
				w.Want("conditions", w.Conditions(), needsLogin)
				w.HangUp()
				simtest.Second()
				w.Want("conditions after a reload", w.Conditions(), needsLogin)
				end(w)
				w.Want("conditions at the end", w.Conditions(), "")
				w.Want("began", w.Logged("condition began", needsLogin), 1)
				w.Want("ended", w.Logged("condition ended", needsLogin), 1)
			}, func(w *world) {
				w.Stale("a")
				w.Provider.Inject("a", sim.InvalidGrant())
			})
		})
	}
}

// TOK-7: a condition is about the account, not about the entry: an alias in another pool does not say it twice.
func TestConditionOfASharedEntry(t *testing.T) {
	pools := apptest.PoolOf("") + "[providers.other]\nauth = \"claude_oauth\"\nbase_url = \"" + simtest.ProviderURL + "\"\n"
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, pools, func(w *world) {
		time.Sleep(10 * time.Second)
		w.Want("conditions", w.Conditions(), needsLogin)
		w.Want("refreshes", len(w.Refreshes()), 1)
	}, func(w *world) {
		w.Stale("a")
		w.Provider.Inject("a", sim.InvalidGrant())
	})
}

// ACC-3, TOK-7: a setup token that has expired cannot be refreshed: its account needs a login, and works after one.
func TestExpiredSetupToken(t *testing.T) {
	setup := func(w *world, left time.Duration) []byte {
		return fmt.Appendf(nil, `{"claudeAiOauth":{"accessToken":%q,"expiresAt":%d,"shuntCredentialKind":"setup_token"},"shuntAccountUuid":"u-1"}`,
			w.Provider.SetupToken("a"), time.Now().Add(left).UnixMilli())
	}
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(""), func(w *world) {
		before := w.Seen()
		w.MustServe("", simtest.PlainModel)
		w.Want("token", w.Calls(before)[0], "a")
		w.MustServe("", simtest.PlainModel)
		time.Sleep(time.Hour)
		for range 3 {
			w.Want("served by", w.MustServe("", simtest.PlainModel), "b")
		}
		w.Want("conditions", w.Conditions(), needsLogin)
		w.Want("refreshes", len(w.Refreshes()), 0)
		w.Put("a", setup(w, time.Hour))
		simtest.Second()
		w.Want("conditions after a login", w.Conditions(), "")
		w.Want("cooldown", w.State("a").Cooldown, time.Duration(0))
		w.MustServe("", simtest.PlainModel)
		w.MustServe("", simtest.PlainModel)
		w.Want("times served", w.State("a").Requests, uint64(3))
	}, func(w *world) { w.Put("a", setup(w, time.Hour)) })
}

// CFG-45: what is allowed but probably not meant is said at each load.
func TestWarningsOfAConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		toml  string
		words []string
	}{
		"token without uuid": {apptest.PoolOf(apptest.Listed("env", `token_env = "SETUP"`)), []string{"env", "no uuid"}},
		"open pool":          {"[server]\nbind = \"0.0.0.0:3001\"\n" + apptest.PoolOf(""), []string{"server.bind", "anthropic", "without a token"}},
		"one identity":       {apptest.PoolOf(apptest.Listed("a", `uuid = "u-1"`) + apptest.Listed("b", `uuid = "u-1"`)), []string{"account", "a", "b", "same account"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, c.toml, func(w *world) {
				w.Want("warnings at the start", w.Logged(append(c.words, "WARN")...), 1)
				w.Want("warnings of all kinds", w.Logged("WARN"), 1)
				w.HangUp()
				w.Want("warnings after a reload", w.Logged(append(c.words, "WARN")...), 2)
				simtest.Second()
				w.Put("c", w.Provider.Credentials("a")) // a change of the store is not a load
				simtest.Second()
				w.Want("warnings after a change of the store", w.Logged(append(c.words, "WARN")...), 2)
			}, func(w *world) { w.Env = append(w.Env, "SETUP="+w.Provider.SetupToken("a")) })
		})
	}
}

// TOK-7e: two entries that lead to one file have one refresher, and where they count as two accounts, a warning.
func TestTwoEntriesOfOneFile(t *testing.T) {
	pool := apptest.PoolOf(apptest.Listed("x", `credentials = "~/creds.json"`) + apptest.Listed("y", `credentials = "~/creds.json"`))
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1), TokenLifetime: time.Hour}, pool, func(w *world) {
		w.Want("warnings", w.Logged("WARN", "anthropic/x", "anthropic/y", "creds.json"), 1)
		for range 4 {
			w.MustServe("", simtest.PlainModel)
			time.Sleep(30 * time.Minute)
		}
		w.Want("refreshes", len(w.Refreshes()), 3)
		w.Want("conditions", w.Conditions(), "")
	}, func(w *world) {
		w.Stale("a")
		w.Replace(w.At("creds.json"), simtest.Expiring(w.Provider.Credentials("a"), -time.Minute))
		w.Remove("a")
	})
}

// TOK-3: a token endpoint that refresh tokens must not go to is not used, and its address, which may hold a password,
// stays out of the log.
func TestForeignTokenEndpoint(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(""), func(w *world) {
		w.Want("warnings", w.Logged("WARN", "SHUNT_CLAUDE_TOKEN_URL is ignored"), 1)
		w.Want("warnings that quote it", w.Logged("evil"), 0)
		w.Want("status", w.Request("", simtest.PlainModel, true).Status, http.StatusOK)
		w.Want("refreshes", len(w.Refreshes()), 0)
	}, func(w *world) { w.Env = append(w.Env, "SHUNT_CLAUDE_TOKEN_URL=http://user:evil@example.com/token") })
}
