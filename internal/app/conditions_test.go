package app_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"shunt/internal/sim"
)

// TOK-7, CFG-51: what is wrong with an account is wrong as long as there is the account: it ends when its file goes or
// the configuration does not list it any more, and not with a reload that keeps it.
func TestConditionsEndWithTheirAccount(t *testing.T) {
	ends := map[string]func(w *world){
		"removed file": func(w *world) { w.remove("a"); second() },
		"not listed":   func(w *world) { w.reload(poolOf(listed("b"))) },
		"no pool":      func(w *world) { w.reload("[providers.anthropic]\nbase_url = \"" + providerURL + "\"\n") },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
				time.Sleep(10 * time.Second)
				w.wants("conditions", w.conditions(), needsLogin)
				w.hangUp()
				second()
				w.wants("conditions after a reload", w.conditions(), needsLogin)
				end(w)
				w.wants("conditions at the end", w.conditions(), "")
				w.wants("began", w.logged("condition began", needsLogin), 1)
				w.wants("ended", w.logged("condition ended", needsLogin), 1)
			}, func(w *world) {
				w.stale("a")
				w.provider.Inject("a", sim.InvalidGrant())
			})
		})
	}
}

// TOK-7: a condition is about the account, not about the entry: an alias in another pool does not say it twice.
func TestConditionOfASharedEntry(t *testing.T) {
	pools := poolOf("") + "[providers.other]\nauth = \"claude_oauth\"\nbase_url = \"" + providerURL + "\"\n"
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, pools, func(w *world) {
		time.Sleep(10 * time.Second)
		w.wants("conditions", w.conditions(), needsLogin)
		w.wants("refreshes", len(w.refreshes()), 1)
	}, func(w *world) {
		w.stale("a")
		w.provider.Inject("a", sim.InvalidGrant())
	})
}

// ACC-3, TOK-7: a setup token that has expired cannot be refreshed: its account needs a login, and works after one.
func TestExpiredSetupToken(t *testing.T) {
	setup := func(w *world, left time.Duration) []byte {
		return fmt.Appendf(nil, `{"claudeAiOauth":{"accessToken":%q,"expiresAt":%d,"shuntCredentialKind":"setup_token"},"shuntAccountUuid":"u-1"}`,
			w.provider.SetupToken("a"), time.Now().Add(left).UnixMilli())
	}
	inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
		before := w.seen()
		w.mustServe("", plainModel)
		w.wants("token", w.calls(before)[0], "a")
		w.mustServe("", plainModel)
		time.Sleep(time.Hour)
		for range 3 {
			w.wants("served by", w.mustServe("", plainModel), "b")
		}
		w.wants("conditions", w.conditions(), needsLogin)
		w.wants("refreshes", len(w.refreshes()), 0)
		w.put("a", setup(w, time.Hour))
		second()
		w.wants("conditions after a login", w.conditions(), "")
		w.wants("rests", w.state("a").Cooldown, time.Duration(0))
		w.mustServe("", plainModel)
		w.mustServe("", plainModel)
		w.wants("times served", w.state("a").Requests, uint64(3))
	}, func(w *world) { w.put("a", setup(w, time.Hour)) })
}

// CFG-45: what is allowed but probably not meant is said at each load.
func TestWarningsOfAConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		toml  string
		words []string
	}{
		"token without uuid": {poolOf(listed("env", `token_env = "SETUP"`)), []string{"env", "no uuid"}},
		"open pool":          {"[server]\nbind = \"0.0.0.0:3001\"\n" + poolOf(""), []string{"server.bind", "anthropic", "without a token"}},
		"one identity":       {poolOf(listed("a", `uuid = "u-1"`) + listed("b", `uuid = "u-1"`)), []string{"account", "a", "b", "same account"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(2)}, c.toml, func(w *world) {
				w.wants("warnings at the start", w.logged(append(c.words, "WARN")...), 1)
				w.wants("warnings of all kinds", w.logged("WARN"), 1)
				w.hangUp()
				w.wants("warnings after a reload", w.logged(append(c.words, "WARN")...), 2)
				second()
				w.put("c", w.provider.Credentials("a")) // a change of the store is no load
				second()
				w.wants("warnings after a change of the store", w.logged(append(c.words, "WARN")...), 2)
			}, func(w *world) { w.env = append(w.env, "SETUP="+w.provider.SetupToken("a")) })
		})
	}
}

// TOK-7e: two entries that lead to one file have one refresher, and where they count as two accounts, a warning.
func TestTwoEntriesOfOneFile(t *testing.T) {
	pool := poolOf(listed("x", `credentials = "~/creds.json"`) + listed("y", `credentials = "~/creds.json"`))
	inWorld(t, sim.Config{Accounts: accountsOf(1), TokenLifetime: time.Hour}, pool, func(w *world) {
		w.wants("warnings", w.logged("WARN", "anthropic/x", "anthropic/y", "creds.json"), 1)
		for range 4 {
			w.mustServe("", plainModel)
			time.Sleep(30 * time.Minute)
		}
		w.wants("refreshes", len(w.refreshes()), 3)
		w.wants("conditions", w.conditions(), "")
	}, func(w *world) {
		w.stale("a")
		w.replace(w.at("creds.json"), expiring(w.provider.Credentials("a"), -time.Minute))
		w.remove("a")
	})
}

// TOK-3: a token endpoint that refresh tokens must not go to is not used, and its address, which may hold a password,
// stays out of the log.
func TestForeignTokenEndpoint(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
		w.wants("warnings", w.logged("WARN", "SHUNT_CLAUDE_TOKEN_URL is ignored"), 1)
		w.wants("warnings that quote it", w.logged("evil"), 0)
		w.wants("status", w.ask("", plainModel, true).status, http.StatusOK)
		w.wants("refreshes", len(w.refreshes()), 0)
	}, func(w *world) { w.env = append(w.env, "SHUNT_CLAUDE_TOKEN_URL=http://user:evil@example.com/token") })
}
