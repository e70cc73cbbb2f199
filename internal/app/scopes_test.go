package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/family/claude"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// CFG-23, ACC-5: a scoped name that is not in the store is a candidate without a credential; where none of the scope is
// there, the response names them and how to add one. A new login is used within a second.
func TestScopedNamesThatTheStoreHasNot(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, chainOf(poolAt(simtest.ProviderURL, "later", "a")), func(w *world) {
		for range 3 {
			w.Want("served by", w.MustServe("", simtest.PlainModel), "a")
		}
		w.Want("cause", w.App.Pool("one")[0].Cause.String(), "unresolved")
		w.Want("cooldown", w.App.Pool("one")[0].Cooldown, 300*time.Second)
		w.Want("rotation", w.Records()[0].Rotations[0].Reason, "unresolved")
		w.Want("why", strings.Contains(w.Records()[0].Rotations[0].Error, "cannot find the file"), true)
		w.Want("warnings", w.Logged("WARN", "one/later has no credential"), 1)
	})

	scope := poolAt(simtest.ProviderURL, "later", "never")
	empty := func(w *world, got simtest.Reply, words ...string) {
		w.Helper()
		kind, message, _ := messages.ParseError([]byte(got.Body))
		if got.Status != 503 || kind != messages.TypeAPI || got.Header.Get("X-Should-Retry") != "false" || strings.Contains(message, w.Store) {
			w.Errorf("%d %v %s", got.Status, got.Header, got.Body)
		}
		for _, word := range append(words, "'one'", "`shunt login claude --name ") {
			if !strings.Contains(message, word) {
				w.Errorf("%q does not say %q", message, word)
			}
		}
	}
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, chainOf(scope), func(w *world) {
		for range 2 { // the second is to a pool that cools down
			for _, path := range []string{sim.MessagesPath, sim.CountTokensPath} {
				empty(w, w.Send(path, simtest.Minimal, simtest.Body(simtest.PlainModel, true)), "later, never", "--name later`")
			}
		}
		w.Want("calls", w.Seen(), 0)
		w.Put("later", w.Provider.Credentials("a"))
		simtest.Second()
		w.Want("served by", w.MustServe("", simtest.PlainModel), "later")
		w.Remove("later")
		simtest.Second()
		empty(w, w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, true)), "later, never")
	})

	// An entry that cannot be used is not missing: the message does not say to add it.
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, chainOf(scope), func(w *world) {
		got := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, true))
		if got.Status != 502 || !strings.Contains(got.Body, "2 tried") {
			w.Errorf("%d %s", got.Status, got.Body)
		}
	}, func(w *world) { w.Put("never", []byte("{")) })
	elsewhere := "base_url = \"" + simtest.ProviderURL + "\"\nauth = { mode = \"claude_oauth\", accounts = [{ name = \"later\", credentials = \"/none/later.json\" }] }"
	inWorld(t, sim.Config{}, chainOf(elsewhere), func(w *world) {
		w.Want("status without a file of its own", w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, true)).Status, 502)
	})

	// It counts as an empty pool in a chain: the next upstream serves, and anything that was said outweighs it.
	inWorld(t, withKey(1), chainOf(scope, keyAt(simtest.ProviderURL)), func(w *world) {
		r := w.Request("", simtest.PlainModel, true)
		w.Want("status", r.Status, 200)
		w.Want("by", r.Header.Get("X-Gateway-Upstream"), "two")
		w.Provider.Inject("k", sim.ServerError(500))
		w.Want("status", w.Request("", simtest.PlainModel, true).Status, 500)
		w.Provider.Clear("k")
		w.Provider.Inject("k", sim.ResetConnection())
		empty(w, w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, true)), "later, never")
		w.Want("record", w.Last().Provider, "one")
	}, keyNotInStore)

	// CAP-4: where the others of the scope are at their caps, the response says so, because that ends by itself.
	capped := "base_url = \"" + simtest.ProviderURL + "\"\nauth = { mode = \"claude_oauth\", accounts = [\"later\", { name = \"a\", max_utilization = 0.5 }] }"
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, chainOf(capped), func(w *world) {
		w.Provider.Fill("a", messages.FiveHour, 0.6)
		w.MustServe("", simtest.PlainModel)
		got := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, true))
		if got.Status != 429 || !strings.Contains(got.Body, "max_utilization") || got.Header.Get("Retry-After") == "" {
			w.Errorf("%d %v %s", got.Status, got.Header, got.Body)
		}
	})
}

// ID-1: an account in two upstreams is one account: both share its state, and a token is refreshed once.
// An inline credential without a UUID is another account in each.
func TestAccountInTwoUpstreams(t *testing.T) {
	toml := "[server]\ndefault_provider = \"one\"\n"
	for _, name := range positions[:2] {
		toml += "[[upstreams]]\nname = \"" + name + "\"\nprovider = \"anthropic\"\n" + poolAt(simtest.ProviderURL, "a") + "\n" +
			"[[route_prefixes]]\nprefix = \"claude-" + name + "\"\nprovider = \"" + name + "\"\n"
	}
	one, two := "claude-one", "claude-two"
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2), TokenLifetime: time.Hour}, toml, func(w *world) {
		w.Provider.Inject("a", sim.Overloaded().Times(1))
		w.Want("status", w.Request("s", one, true).Status, 529)
		w.Want("cooldown seen by the other", w.App.Pool("two")[0].Cooldown, 5*time.Second)
		w.Provider.Fill("a", messages.FiveHour, 0.5)
		time.Sleep(time.Second)
		w.Want("served by", w.MustServe("s", two), "a")
		w.Want("ends it", w.App.Pool("one")[0].Cooldown, time.Duration(0)) // FO-2
		used, known := w.App.Pool("one")[0].Quota.Utilization(claude.FiveHour)
		w.Want("quota", known && used >= 0.5, true)

		w.Provider.ExpireTokens("a")
		before := w.Provider.Counters("a").Refreshes
		responses := make(chan int, 2)
		for _, model := range []string{one, two} {
			go func() { responses <- w.Request("s", model, true).Status }()
		}
		w.Want("status", <-responses, 200)
		w.Want("status", <-responses, 200)
		w.Want("refreshes", w.Provider.Counters("a").Refreshes-before, int64(1))

		w.Provider.Inject("a", sim.CredentialForbidden().Times(1))
		w.Want("status", w.Request("s", one, true).Status, 502)
		w.Want("condition", strings.Count(w.Conditions(), "needs login"), 1)
		w.Want("served by", w.MustServe("s", two), "a")
		w.Want("condition", w.Conditions(), "")
	})

	inline := strings.ReplaceAll(toml, `accounts = ["a"]`, `accounts = [{ name = "a", token_env = "SETUP" }]`)
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, inline, func(w *world) {
		w.Provider.Inject("a", sim.Overloaded().Times(1))
		w.Want("status", w.Request("s", one, true).Status, 529)
		w.Want("cooldown seen by the other", w.App.Pool("two")[0].Cooldown, time.Duration(0))
	}, func(w *world) { w.Env = append(w.Env, "SETUP="+w.Provider.Token("a")) })
}

// CHN-5: if a model is served by one scoped upstream only, that account's error is the response, even if others have quota.
func TestStrictPin(t *testing.T) {
	toml := chainOf(poolAt(simtest.ProviderURL)) + "[[upstreams]]\nname = \"pinned\"\nprovider = \"anthropic\"\n" + poolAt(simtest.ProviderURL, "b") +
		"\n[[models]]\nid = \"claude-sonnet-5-5\"\n[models.upstream_model]\npinned = \"claude-sonnet-5-5\"\n"
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, toml, func(w *world) {
		for _, session := range []string{"s1", "s2", "s3", ""} {
			w.Want("served by", w.MustServe(session, "claude-sonnet-5-5[1m]"), "b")
		}
		w.Provider.Inject("b", sim.Rejected(messages.SevenDay))
		for _, session := range []string{"s1", "s2"} {
			before := w.Seen()
			r := w.Request(session, "claude-sonnet-5-5", true)
			w.Want("status", r.Status, http.StatusTooManyRequests)
			w.Want("upstream", r.Header.Get("X-Gateway-Upstream"), "pinned")
			w.Want("calls", strings.Join(w.Calls(before), " "), "b")
			w.Want("limit", r.Header.Get("Anthropic-Ratelimit-Unified-Status"), "rejected")
			w.Want("others serve other models", w.MustServe(session, simtest.PlainModel) != "b", true)
		}
	})
}
