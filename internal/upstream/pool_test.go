package upstream_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// FO-0, CHN-3b: the resend uses a new connection even if others are idle: they fail together. With net/http, none is ever idle.
func TestResendTrustsNoIdleConnection(t *testing.T) {
	reuses := os.Getenv("SHUNT_TEST_TRANSPORT") != "net/http"
	resend := func(w *world) {
		w.Provider.Inject("", sim.SlowHeaders(time.Second).Times(4))
		var side []<-chan simtest.Reply
		for range 4 {
			side = append(side, w.Begin(w.Context(), "s", simtest.PlainModel))
		}
		for _, c := range side {
			<-c
		}
		before := w.Seen()
		w.Provider.Inject("", sim.ResetConnection().Times(1))
		w.MustServe("s", simtest.PlainModel)
		old := map[string]bool{}
		for _, r := range w.Provider.Requests()[:before] {
			old[r.Conn] = true
		}
		if again := w.Provider.Requests()[before:]; len(old) != 4 || len(again) != 2 || old[again[0].Conn] != reuses || old[again[1].Conn] {
			w.Errorf("%d connections, then %d requests", len(old), len(again))
		}
		w.MustServe("s", simtest.PlainModel)
		if r := w.Received(); old[r.Conn] {
			w.Error("an idle connection lived on")
		}
	}
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), resend)
	inWorld(t, paid, singleOf(apiKey), resend)
}

// FO-8: the last real response is relayed, even if failures without one follow it, with its headers.
func TestLastRealResponse(t *testing.T) {
	t.Run("before failures without a response", func(t *testing.T) {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, poolOf(), func(w *world) {
			for _, f := range simtest.Faults(sim.Overloaded(), sim.ResetConnection(), sim.ResetConnection()) {
				w.Provider.Inject("", f.Times(1))
			}
			r := w.Request("s", simtest.PlainModel, true)
			if r.Status != 529 || r.Account != "" || r.Header.Get("Retry-After") != "3600" || r.Header.Get("X-Gateway-Upstream") != "anthropic" || !strings.Contains(r.Body, "Overloaded") {
				w.Errorf("%d by %q, %v: %s", r.Status, r.Account, r.Header, r.Body)
			}
			var reasons []string
			for _, rotation := range w.Last().Rotations {
				reasons = append(reasons, rotation.Reason)
			}
			if !slices.Equal(reasons, []string{"overloaded", "unreachable"}) || w.Last().Attempts != 3 {
				w.Errorf("record %+v", w.Last())
			}
		})
	})
	t.Run("compressed", func(t *testing.T) {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
			w.Provider.Inject("", sim.ServerError(503).Encoded("br").RetryAfter("9"))
			r := w.Request("s", simtest.PlainModel, false)
			var apiErr *sim.APIError
			if r.Status != 503 || r.Header.Get("Content-Encoding") != "br" || r.Header.Get("Retry-After") != "9" || !errors.As(r.Err, &apiErr) || apiErr.Message != "Internal server error" {
				w.Errorf("%d %v: %v", r.Status, r.Header, r.Err)
			}
		})
	})
	t.Run("large", func(t *testing.T) {
		const mebibyte = 1 << 20
		inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
			w.Provider.Inject("", sim.Respond(func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("X-Sent", "yes")
				rw.Header().Set("X-Shunt-Account", "forged")
				rw.WriteHeader(500)
				io.WriteString(rw, "{"+strings.Repeat("0123456789abcdef", 3*mebibyte/16))
			}))
			got := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, false))
			if got.Status != 500 || got.Err != nil || len(got.Body) != mebibyte || got.Header.Get("X-Sent") != "yes" || got.Header["X-Shunt-Account"] != nil {
				w.Errorf("%d, %v, %d bytes, %v", got.Status, got.Err, len(got.Body), got.Header)
			}
		})
	})
}

// FO-10: a pool of one follows the same table.
func TestPoolOfOne(t *testing.T) {
	for _, c := range []struct {
		name     string
		faults   []sim.Fault
		status   int
		by       string
		calls    int
		cooldown time.Duration
		waited   time.Duration
	}{
		{"quota", simtest.Faults(sim.Rejected(messages.FiveHour).RetryAfter("90")), 429, "", 1, 90 * time.Second, 0},
		{"throttle, short", simtest.Faults(sim.Throttled("5")), 200, "a", 2, 0, 5 * time.Second},
		{"throttle twice", simtest.Faults(sim.Throttled("2"), sim.Throttled("7")), 429, "a", 2, 7 * time.Second, 2 * time.Second},
		{"throttle, long", simtest.Faults(sim.Throttled("60")), 200, "a", 2, 0, time.Minute},
		{"throttle, long, twice", simtest.Faults(sim.Throttled("30"), sim.Throttled("30")), 429, "a", 2, 30 * time.Second, 30 * time.Second},
		{"throttle, too long", simtest.Faults(sim.Throttled("61")), 429, "a", 1, 61 * time.Second, 0},
		{"401 once", simtest.Faults(sim.Unauthorized()), 200, "a", 2, 0, 0},
		{"401 twice", simtest.Faults(sim.Unauthorized(), sim.Unauthorized()), 502, "", 2, 300 * time.Second, 0},
		{"401, then throttle", simtest.Faults(sim.Unauthorized(), sim.Throttled("2")), 429, "", 2, 2 * time.Second, 0}, // FO-4: there is no account to rotate to
		{"529", simtest.Faults(sim.Overloaded()), 529, "", 1, 5 * time.Second, 0},
		{"500", simtest.Faults(sim.ServerError(502)), 502, "", 1, 2 * time.Second, 0}, // FO-0c: no other account served it
		{"403 of the credential", simtest.Faults(sim.CredentialForbidden()), 502, "", 1, 300 * time.Second, 0},
		{"reset once", simtest.Faults(sim.ResetConnection()), 200, "a", 2, 0, 0},
		{"reset twice", simtest.Faults(sim.ResetConnection(), sim.ResetConnection()), 502, "", 2, 2 * time.Second, 0},
		{"reset, then 401", simtest.Faults(sim.ResetConnection(), sim.Unauthorized()), 200, "a", 3, 0, 0},
		{"FO-11: overloaded stream", simtest.Faults(sim.ErrorStream(messages.TypeOverloaded)), 200, "", 1, 5 * time.Second, 0},
		{"400", simtest.Faults(sim.Failure(400, messages.TypeInvalidRequest, "no")), 400, "a", 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
				for _, f := range c.faults {
					w.Provider.Inject("a", f.Times(1))
				}
				r := w.Request("s", simtest.PlainModel, true)
				if r.Status != c.status || r.Account != c.by || len(w.Calls(0)) != c.calls || !simtest.Waited(r.Took, c.waited) {
					w.Errorf("%d by %q, %d calls, after %v", r.Status, r.Account, len(w.Calls(0)), r.Took)
				}
				if got := w.State("a").Cooldown; got != c.cooldown {
					w.Errorf("cools down for %v", got)
				}
				// SEL-11: it is tried again, whatever happened.
				w.MustServe("s", simtest.PlainModel)
			})
		})
	}
}

// ACC-5: the failure of a pool without an account to try names the pool and what to do, and is final.
func TestEmptyPools(t *testing.T) {
	for _, c := range []struct {
		name     string
		setup    setup
		accounts int
		words    []string
	}{
		{"no account", poolOf(), 0, []string{"'anthropic'", "no account", "`shunt login claude --name NAME`"}},
		{"all disabled", poolOf(disabled("a"), disabled("b")), 2, []string{"'anthropic'", "disabled = true", "configuration"}},
	} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(c.accounts)}, c.setup, func(w *world) {
			for _, path := range []string{sim.MessagesPath, sim.CountTokensPath} {
				got := w.Send(path, simtest.Minimal, simtest.Body(simtest.PlainModel, true))
				kind, message, _ := messages.ParseError([]byte(got.Body))
				if got.Status != 503 || kind != messages.TypeAPI || got.Header.Get("X-Should-Retry") != "false" {
					w.Errorf("%s: %d %v %s", c.name, got.Status, got.Header, got.Body)
				}
				for _, word := range c.words {
					if !strings.Contains(message, word) {
						w.Errorf("%s: %q does not contain %q", c.name, message, word)
					}
				}
				if got.Header["X-Shunt-Account"] != nil || strings.Contains(message, w.Store) {
					w.Errorf("%s: %v %s", c.name, got.Header, message)
				}
			}
			if w.Seen() != 0 {
				w.Errorf("%s: %d calls", c.name, w.Seen())
			}
		})
	}
}
