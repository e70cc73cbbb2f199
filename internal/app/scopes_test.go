package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/family/claude"
	"shunt/internal/sim"
)

// CFG-23, ACC-5: a scoped name that is not in the store is a candidate without a credential; where none of the scope is
// there, the answer names them and how to add one. A login that comes is used within a second.
func TestScopedNamesThatTheStoreHasNot(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, chainOf(poolAt(providerURL, "later", "a")), func(w *world) {
		for range 3 {
			w.wants("served by", w.mustServe("", plainModel), "a")
		}
		w.wants("cause", w.app.Pool("one")[0].Cause.String(), "unresolved")
		w.wants("rests", w.app.Pool("one")[0].Cooldown, 300*time.Second)
		w.wants("rotation", w.records[0].Rotations[0].Reason, "unresolved")
		w.wants("why", strings.Contains(w.records[0].Rotations[0].Error, "there is no file"), true)
		w.wants("warnings", w.logged("WARN", "one/later has no credential"), 1)
	})

	scope := poolAt(providerURL, "later", "never")
	empty := func(w *world, got plain, words ...string) {
		w.Helper()
		kind, message, _ := messages.ParseError([]byte(got.body))
		if got.status != 503 || kind != messages.TypeAPI || got.header.Get("X-Should-Retry") != "false" || strings.Contains(message, w.store) {
			w.Errorf("%d %v %s", got.status, got.header, got.body)
		}
		for _, word := range append(words, "'one'", "`shunt login claude --name ") {
			if !strings.Contains(message, word) {
				w.Errorf("%q does not say %q", message, word)
			}
		}
	}
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, chainOf(scope), func(w *world) {
		for range 2 { // the second is one of a pool that rests
			for _, path := range []string{sim.MessagesPath, sim.CountTokensPath} {
				empty(w, w.send(path, minimal, bodyFor(plainModel, true)), "later, never", "--name later`")
			}
		}
		w.wants("calls", w.seen(), 0)
		w.put("later", w.provider.Credentials("a"))
		second()
		w.wants("served by", w.mustServe("", plainModel), "later")
		w.remove("later")
		second()
		empty(w, w.send(sim.MessagesPath, minimal, bodyFor(plainModel, true)), "later, never")
	})

	// One that is there but of no use is no name that is missing: nobody is told to add it.
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, chainOf(scope), func(w *world) {
		got := w.send(sim.MessagesPath, minimal, bodyFor(plainModel, true))
		if got.status != 502 || !strings.Contains(got.body, "2 tried") {
			w.Errorf("%d %s", got.status, got.body)
		}
	}, func(w *world) { w.write("never", []byte("{")) })
	elsewhere := "base_url = \"" + providerURL + "\"\nauth = { mode = \"claude_oauth\", accounts = [{ name = \"later\", credentials = \"/none/later.json\" }] }"
	inWorld(t, sim.Config{}, chainOf(elsewhere), func(w *world) {
		w.wants("status without a file of its own", w.send(sim.MessagesPath, minimal, bodyFor(plainModel, true)).status, 502)
	})

	// It counts as an empty pool in a chain: the next upstream serves, and anything that was said outweighs it.
	inWorld(t, withKey(1), chainOf(scope, keyAt(providerURL, "")), func(w *world) {
		r := w.ask("", plainModel, true)
		w.wants("status", r.status, 200)
		w.wants("by", r.header.Get("X-Gateway-Upstream"), "two")
		w.provider.Inject("k", sim.ServerError(500))
		w.wants("status", w.ask("", plainModel, true).status, 500)
		w.provider.Clear("k")
		w.provider.Inject("k", sim.ResetConnection())
		empty(w, w.send(sim.MessagesPath, minimal, bodyFor(plainModel, true)), "later, never")
		w.wants("record", w.last().Provider, "one")
	}, keyOnlyInStore)

	// CAP-4: where the others of the scope are at their caps, that is what the client is told, since it passes by itself.
	capped := "base_url = \"" + providerURL + "\"\nauth = { mode = \"claude_oauth\", accounts = [\"later\", { name = \"a\", max_utilization = 0.5 }] }"
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, chainOf(capped), func(w *world) {
		w.provider.Fill("a", messages.FiveHour, 0.6)
		w.mustServe("", plainModel)
		got := w.send(sim.MessagesPath, minimal, bodyFor(plainModel, true))
		if got.status != 429 || !strings.Contains(got.body, "max_utilization") || got.header.Get("Retry-After") == "" {
			w.Errorf("%d %v %s", got.status, got.header, got.body)
		}
	})
}

// ID-1: an account in two upstreams is one account: what one learns of it, the other knows, and a token is refreshed once.
// An inline credential without a UUID is another account in each.
func TestAccountInTwoUpstreams(t *testing.T) {
	toml := "[server]\ndefault_provider = \"one\"\n"
	for _, name := range positions[:2] {
		toml += "[[upstreams]]\nname = \"" + name + "\"\nprovider = \"anthropic\"\n" + poolAt(providerURL, "a") + "\n" +
			"[[route_prefixes]]\nprefix = \"claude-" + name + "\"\nprovider = \"" + name + "\"\n"
	}
	one, two := "claude-one", "claude-two"
	inWorld(t, sim.Config{Accounts: accountsOf(2), TokenLifetime: time.Hour}, toml, func(w *world) {
		w.provider.Inject("a", sim.Overloaded().Times(1))
		w.wants("status", w.ask("s", one, true).status, 529)
		w.wants("cooldown seen by the other", w.app.Pool("two")[0].Cooldown, 5*time.Second)
		w.provider.Fill("a", messages.FiveHour, 0.5)
		time.Sleep(time.Second)
		w.wants("served by", w.mustServe("s", two), "a")
		w.wants("ends it", w.app.Pool("one")[0].Cooldown, time.Duration(0)) // FO-2
		used, known := w.app.Pool("one")[0].Quota.Utilization(claude.FiveHour)
		w.wants("quota", known && used >= 0.5, true)

		w.provider.ExpireTokens("a")
		before := w.provider.Counters("a").Refreshes
		answers := make(chan int, 2)
		for _, model := range []string{one, two} {
			go func() { answers <- w.ask("s", model, true).status }()
		}
		w.wants("status", <-answers, 200)
		w.wants("status", <-answers, 200)
		w.wants("refreshes", w.provider.Counters("a").Refreshes-before, int64(1))

		w.provider.Inject("a", sim.CredentialForbidden().Times(1))
		w.wants("status", w.ask("s", one, true).status, 502)
		w.wants("condition", strings.Count(w.conditions(), "needs login"), 1)
		w.wants("served by", w.mustServe("s", two), "a")
		w.wants("condition", w.conditions(), "")
	})

	inline := strings.ReplaceAll(toml, `accounts = ["a"]`, `accounts = [{ name = "a", token_env = "SETUP" }]`)
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, inline, func(w *world) {
		w.provider.Inject("a", sim.Overloaded().Times(1))
		w.wants("status", w.ask("s", one, true).status, 529)
		w.wants("cooldown seen by the other", w.app.Pool("two")[0].Cooldown, time.Duration(0))
	}, func(w *world) { w.env = append(w.env, "SETUP="+w.provider.Token("a")) })
}

// CHN-5: where a model goes to one scoped upstream only, that account's error is the answer, whoever else has quota.
func TestStrictPin(t *testing.T) {
	toml := chainOf(poolAt(providerURL)) + "[[upstreams]]\nname = \"pinned\"\nprovider = \"anthropic\"\n" + poolAt(providerURL, "b") +
		"\n[[models]]\nid = \"claude-sonnet-5-5\"\n[models.upstream_model]\npinned = \"claude-sonnet-5-5\"\n"
	inWorld(t, sim.Config{Accounts: accountsOf(3)}, toml, func(w *world) {
		for _, session := range []string{"s1", "s2", "s3", ""} {
			w.wants("served by", w.mustServe(session, "claude-sonnet-5-5[1m]"), "b")
		}
		w.provider.Inject("b", sim.Rejected(messages.SevenDay))
		for _, session := range []string{"s1", "s2"} {
			before := w.seen()
			r := w.ask(session, "claude-sonnet-5-5", true)
			w.wants("status", r.status, http.StatusTooManyRequests)
			w.wants("upstream", r.header.Get("X-Gateway-Upstream"), "pinned")
			w.wants("calls", strings.Join(w.calls(before), " "), "b")
			w.wants("limit", r.header.Get("Anthropic-Ratelimit-Unified-Status"), "rejected")
			w.wants("others serve other models", w.mustServe(session, plainModel) != "b", true)
		}
	})
}

// FO-11 at the end of a chain: a stream of 200 that begins with an error counts as what it says, and is relayed as it came
// where nothing tells more.
func TestErrorStreamsInAChain(t *testing.T) {
	for _, c := range []struct {
		name  string
		first sim.Fault
		kind  messages.ErrorType
		by    string
	}{
		{"over nothing", sim.ResetConnection(), messages.TypeOverloaded, "two"},
		{"429 over 5xx", sim.ServerError(503), messages.TypeRateLimit, "two"},
		{"the first of two 5xx", sim.ServerError(503), messages.TypeOverloaded, "one"},
		{"429 over 529", sim.Throttled("1"), messages.TypeOverloaded, "one"},
		{"404 over 500", sim.Failure(404, messages.TypeNotFound, "no"), messages.TypeAPI, "one"},
	} {
		inWorld(t, withKey(2), chainOf(keyAt(providerURL, ""), poolAt(providerURL, "a", "b")), func(w *world) {
			w.provider.Inject("k", c.first)
			w.provider.Inject("a", sim.ErrorStream(c.kind))
			w.provider.Inject("b", sim.ErrorStream(c.kind))
			r := w.send(sim.MessagesPath, minimal, bodyFor(plainModel, true))
			w.wants(c.name+": by", r.header.Get("X-Gateway-Upstream"), c.by)
			w.wants(c.name+": as it came", r.status == 200 && strings.Contains(r.body, "event: ping") && strings.Contains(r.body, string(c.kind)), c.by == "two")
			w.wants(c.name+": record", w.last().Status, r.status)
		}, keyOnlyInStore)
	}
}

// RTE-3: a model is put back in a stream whose first event is late, too.
func TestModelOfALateFirstEvent(t *testing.T) {
	for _, toml := range []string{poolOf(""), singleOf(apiKey), poolOf("[server]\nsse_keepalive_seconds = 0\n"), poolOf("[server]\nsse_keepalive_seconds = 7\n")} {
		inWorld(t, withKey(1), toml, func(w *world) {
			w.provider.Inject("", sim.SlowFirstEvent(100*time.Second))
			r := w.ask("s", plainModel+"[1m]", true)
			if r.status != 200 || r.err != nil || r.answer.Model != plainModel+"[1m]" {
				w.Errorf("%s\n%d, %v, answered by %s, %d pings", toml, r.status, r.err, r.answer.Model, r.answer.Pings)
			}
		}, keyOnlyInStore)
	}
}
