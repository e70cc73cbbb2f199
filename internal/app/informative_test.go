package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

// FO-8, FO-8b, ERR-2b: of the responses that a request collected, the client gets the most informative one; a rejection
// of the pool's own credentials is never one of them.
func TestMostInformativeResponse(t *testing.T) {
	quota := func(after string) []sim.Fault { return faults(sim.Rejected(messages.FiveHour).RetryAfter(after)) }
	requestRefused := sim.Failure(http.StatusForbidden, messages.TypePermission, "Request not allowed")
	for _, c := range []struct {
		name       string
		a, b, c    []sim.Fault
		status     int
		retryAfter string
		says       string
	}{
		{"quota, then 401", quota("1800"), faults(sim.Unauthorized()), faults(sim.Unauthorized()), 429, "1800", "rate_limit_error"},
		{"quota, then 403", quota("1800"), faults(requestRefused), faults(requestRefused), 429, "1800", "rate_limit_error"},
		{"401 before quota", faults(sim.Unauthorized()), faults(sim.CredentialForbidden()), quota("1800"), 429, "1800", "rate_limit_error"},
		{"the first recovers soonest", quota("600"), quota("432000"), quota("432000"), 429, "600", "rate_limit_error"},
		{"the last recovers soonest", quota("432000"), quota("432000"), quota("600"), 429, "600", "rate_limit_error"},
		{"quota over 5xx", quota("600"), faults(sim.ServerError(500)), faults(sim.Overloaded()), 429, "600", "rate_limit_error"},
		{"529 over 5xx", faults(sim.Overloaded()), faults(sim.ServerError(500)), nil, 529, "3600", "Overloaded"},
		{"5xx over 401", faults(sim.Unauthorized()), faults(sim.ServerError(500)), faults(sim.ServerError(503)), 503, "", "Internal server error"},
		{"401 and 403 alone", faults(sim.Unauthorized()), faults(sim.CredentialForbidden()), faults(sim.Unauthorized()), 502, "", "refuses the credential of account 'a' (and of 2 more): `shunt login claude --name a`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(3)}, poolOf(""), func(w *world) {
				for account, list := range map[string][]sim.Fault{"a": c.a, "b": c.b, "c": c.c} {
					for _, f := range list {
						w.provider.Inject(account, f)
					}
				}
				r := w.ask("", plainModel, true) // the first account's turn
				if r.status != c.status || r.header.Get("Retry-After") != c.retryAfter || !strings.Contains(r.body, c.says) || r.account != "" {
					w.Errorf("%d by %q, retry-after %q: %s", r.status, r.account, r.header.Get("Retry-After"), r.body)
				}
				w.wants("is final", r.header.Get("X-Should-Retry") == "false", c.status == 502)
			})
		})
	}
}

// FO-8b: the sentence names the command that helps, and no path.
func TestRefusedCredentialsOfOtherSources(t *testing.T) {
	for entry, remedy := range map[string]string{
		listed("x", `token_env = "SETUP"`):                "put a new token into the variable SETUP",
		listed("x", `credentials = "~/credentials.json"`): "log in again with the program",
	} {
		inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(entry), func(w *world) {
			w.provider.Inject("a", sim.Unauthorized())
			r := w.ask("", plainModel, true)
			if r.status != 502 || !strings.Contains(r.body, "account 'x': "+remedy) || strings.Contains(r.body, "credentials.json") {
				w.Errorf("%d: %s", r.status, r.body)
			}
		}, func(w *world) {
			w.env = append(w.env, "SETUP="+w.provider.SetupToken("a"))
			w.replace(w.at("credentials.json"), w.provider.Credentials("a"))
		})
	}
}

// FO-8c: the 429 of an exhausted pool says so in a header, and retry-after is at least the time until an account is back.
func TestExhaustedPoolSaysWhen(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
		w.provider.Inject("a", sim.Rejected(messages.FiveHour).RetryAfter("900"))
		w.provider.Inject("b", sim.Rejected(messages.FiveHour).RetryAfter("1800"))
		r := w.ask("", plainModel, true)
		w.wants("status", r.status, 429)
		w.wants("pool", r.header.Get("X-Shunt-Pool"), "exhausted")
		w.wants("retry-after", r.header.Get("Retry-After"), "900")
		w.wants("body", strings.Contains(r.body, `"rate_limit_error"`), true)

		// What the upstream says now is less than what is known of the accounts.
		w.provider.Clear("a")
		w.provider.Clear("b")
		w.provider.Inject("", sim.Rejected(messages.FiveHour).RetryAfter("5"))
		time.Sleep(100 * time.Second)
		r = w.ask("", plainModel, true)
		w.wants("retry-after, later", r.header.Get("Retry-After"), "800")

		// A pool that is not exhausted does not say that it is.
		w.provider.Clear("")
		time.Sleep(time.Hour)
		w.provider.Inject("", sim.Failure(400, messages.TypeInvalidRequest, "no"))
		w.wants("no pool header", w.ask("", plainModel, true).header["X-Shunt-Pool"] == nil, true)
	})
}

// CHN-2: of several upstreams out of quota, the client gets the 429 of the one that recovers soonest.
func TestChainRelaysTheSoonestRecovery(t *testing.T) {
	for first, second := range map[string]string{"600": "9000", "9000": "600"} {
		inWorld(t, sim.Config{Accounts: accountsOf(2)}, chainOf(poolAt(providerURL, "a"), poolAt(providerURL, "b")), func(w *world) {
			w.provider.Inject("a", sim.Rejected(messages.FiveHour).RetryAfter(first))
			w.provider.Inject("b", sim.Rejected(messages.FiveHour).RetryAfter(second))
			r := w.ask("s", plainModel, true)
			w.wants("status", r.status, 429)
			w.wants("retry-after", r.header.Get("Retry-After"), "600")
		})
	}
}

// ERR-2b, FO-15: while the accounts cool down, too, a pool out of quota says so, however many broken logins it has.
func TestOutOfQuotaBesideBrokenLogins(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(4)}, poolOf(""), func(w *world) {
		for _, name := range []string{"a", "b", "c"} {
			w.provider.Inject(name, sim.CredentialForbidden())
		}
		w.provider.Inject("d", sim.Rejected(messages.FiveHour).RetryAfter("3600"))
		for _, session := range []string{"s", "s", "t", "u", "v", "", ""} {
			w.wants("status in session "+session, w.ask(session, plainModel, true).status, 429)
			time.Sleep(time.Minute)
		}
	})
}

// FO-8: a kept response whose body did not come whole ends for the client as one that was cut.
func TestKeptResponseThatStalls(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
		w.provider.Inject("a", sim.Respond(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Length", "300")
			rw.WriteHeader(http.StatusInternalServerError)
			rw.Write([]byte(`{"typ`))
			http.NewResponseController(rw).Flush()
			<-r.Context().Done()
		}))
		got := w.send(sim.MessagesPath, minimal, bodyFor(plainModel, false))
		w.wants("status", got.status, http.StatusInternalServerError)
		w.wants("an error", got.err != nil, true)
		w.wants("end", string(w.last().End), "cut")
	})
}
