package upstream_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shunt/internal/account"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// FO-8, FO-8b, ERR-2b: of the responses that a request collected, the client gets the most informative one; a rejection
// of the pool's own credentials is never one of them.
func TestMostInformativeResponse(t *testing.T) {
	quota := func(after string) []sim.Fault {
		return simtest.Faults(sim.Rejected(messages.FiveHour).RetryAfter(after))
	}
	requestRefused := sim.Failure(http.StatusForbidden, messages.TypePermission, "Request not allowed")
	for _, c := range []struct {
		name       string
		a, b, c    []sim.Fault
		status     int
		retryAfter string
		text       string
	}{
		{"quota, then 401", quota("1800"), simtest.Faults(sim.Unauthorized()), simtest.Faults(sim.Unauthorized()), 429, "1800", "rate_limit_error"},
		{"quota, then 403", quota("1800"), simtest.Faults(requestRefused), simtest.Faults(requestRefused), 429, "1800", "rate_limit_error"},
		{"401 before quota", simtest.Faults(sim.Unauthorized()), simtest.Faults(sim.CredentialForbidden()), quota("1800"), 429, "1800", "rate_limit_error"},
		{"the first recovers soonest", quota("600"), quota("432000"), quota("432000"), 429, "600", "rate_limit_error"},
		{"the last recovers soonest", quota("432000"), quota("432000"), quota("600"), 429, "600", "rate_limit_error"},
		{"quota over 5xx", quota("600"), simtest.Faults(sim.ServerError(500)), simtest.Faults(sim.Overloaded()), 429, "600", "rate_limit_error"},
		{"529 over 5xx", simtest.Faults(sim.Overloaded()), simtest.Faults(sim.ServerError(500)), nil, 529, "3600", "Overloaded"},
		{"5xx over 401", simtest.Faults(sim.Unauthorized()), simtest.Faults(sim.ServerError(500)), simtest.Faults(sim.ServerError(503)), 503, "", "Internal server error"},
		{"401 and 403 alone", simtest.Faults(sim.Unauthorized()), simtest.Faults(sim.CredentialForbidden()), simtest.Faults(sim.Unauthorized()), 502, "", "refuses the credential of account 'a' (and of 2 more): `shunt login claude --name a`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, poolOf(), func(w *world) {
				for account, list := range map[string][]sim.Fault{"a": c.a, "b": c.b, "c": c.c} {
					for _, f := range list {
						w.Provider.Inject(account, f)
					}
				}
				r := w.Request("", simtest.PlainModel, true) // the first account's turn
				if r.Status != c.status || r.Header.Get("Retry-After") != c.retryAfter || !strings.Contains(r.Body, c.text) || r.Account != "" {
					w.Errorf("%d by %q, retry-after %q: %s", r.Status, r.Account, r.Header.Get("Retry-After"), r.Body)
				}
				w.Want("is final", r.Header.Get("X-Should-Retry") == "false", c.status == 502)
			})
		})
	}
}

// FO-8b: the message names the command that helps, and no path.
func TestRefusedCredentialsOfOtherSources(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	for _, c := range []struct {
		spec   account.Spec
		remedy string
	}{
		{account.Spec{Name: "x", TokenEnv: "SETUP"}, "put a new token into the variable SETUP"},
		{account.Spec{Name: "x", Credentials: file}, "log in again with the program"},
	} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(member{Spec: c.spec}), func(w *world) {
			w.Provider.Inject("a", sim.Unauthorized())
			r := w.Request("", simtest.PlainModel, true)
			if r.Status != 502 || !strings.Contains(r.Body, "account 'x': "+c.remedy) || strings.Contains(r.Body, "credentials.json") {
				w.Errorf("%d: %s", r.Status, r.Body)
			}
		}, func(w *world) {
			w.env["SETUP"] = w.Provider.SetupToken("a")
			w.Replace(file, w.Provider.Credentials("a"))
		})
	}
}

// FO-8c: the 429 of an exhausted pool has a header for that, and its retry-after is at least the time until an account is back.
func TestRetryAfterOfAnExhaustedPool(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
		w.Provider.Inject("a", sim.Rejected(messages.FiveHour).RetryAfter("900"))
		w.Provider.Inject("b", sim.Rejected(messages.FiveHour).RetryAfter("1800"))
		r := w.Request("", simtest.PlainModel, true)
		w.Want("status", r.Status, 429)
		w.Want("pool", r.Header.Get("X-Shunt-Pool"), "exhausted")
		w.Want("retry-after", r.Header.Get("Retry-After"), "900")
		w.Want("body", strings.Contains(r.Body, `"rate_limit_error"`), true)

		// The upstream's retry-after is now shorter than the cooldowns of the accounts.
		w.Provider.Clear("a")
		w.Provider.Clear("b")
		w.Provider.Inject("", sim.Rejected(messages.FiveHour).RetryAfter("5"))
		time.Sleep(100 * time.Second)
		r = w.Request("", simtest.PlainModel, true)
		w.Want("retry-after, later", r.Header.Get("Retry-After"), "800")

		// A pool that is not exhausted does not send the header.
		w.Provider.Clear("")
		time.Sleep(time.Hour)
		w.Provider.Inject("", sim.Failure(400, messages.TypeInvalidRequest, "no"))
		w.Want("no pool header", w.Request("", simtest.PlainModel, true).Header["X-Shunt-Pool"] == nil, true)
	})
}

// CHN-2: of several upstreams without quota, the client gets the 429 of the one that recovers soonest.
func TestChainRelaysTheSoonestRecovery(t *testing.T) {
	for first, second := range map[string]string{"600": "9000", "9000": "600"} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, chainOf(poolAt(simtest.ProviderURL, "a"), poolAt(simtest.ProviderURL, "b")), func(w *world) {
			w.Provider.Inject("a", sim.Rejected(messages.FiveHour).RetryAfter(first))
			w.Provider.Inject("b", sim.Rejected(messages.FiveHour).RetryAfter(second))
			r := w.Request("s", simtest.PlainModel, true)
			w.Want("status", r.Status, 429)
			w.Want("retry-after", r.Header.Get("Retry-After"), "600")
		})
	}
}

// ERR-2b, FO-15: while accounts cool down, too, a pool without quota responds with 429, however many of its logins do not work.
func TestOutOfQuotaBesideBrokenLogins(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(4)}, poolOf(), func(w *world) {
		for _, name := range []string{"a", "b", "c"} {
			w.Provider.Inject(name, sim.CredentialForbidden())
		}
		w.Provider.Inject("d", sim.Rejected(messages.FiveHour).RetryAfter("3600"))
		for _, session := range []string{"s", "s", "t", "u", "v", "", ""} {
			w.Want("status in session "+session, w.Request(session, simtest.PlainModel, true).Status, 429)
			time.Sleep(time.Minute)
		}
	})
}

// FO-8: a kept response with an incomplete body is truncated for the client.
func TestKeptResponseThatStalls(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		w.Provider.Inject("a", sim.Respond(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Length", "300")
			rw.WriteHeader(http.StatusInternalServerError)
			rw.Write([]byte(`{"typ`))
			http.NewResponseController(rw).Flush()
			<-r.Context().Done()
		}))
		got := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, false))
		w.Want("status", got.Status, http.StatusInternalServerError)
		w.Want("an error", got.Err != nil, true)
		w.Want("end", string(w.Last().End), "cut")
	})
}
