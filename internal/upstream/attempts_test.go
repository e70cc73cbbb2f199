package upstream_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// hangUp sends something that is not a complete head and then closes the connection.
func hangUp(sent string) sim.Fault {
	return sim.Respond(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			io.WriteString(c, sent)
			c.Close()
		}
	})
}

// FO-0a: a request that may be running is not sent again to the account that has it, and to at most one other.
func TestRequestThatMayBeRunning(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault sim.Fault
		calls []string // to ten accounts, each of which fails like this
	}{
		{"reset at once", sim.ResetConnection(), []string{"a", "a", "b", "b"}},
		{"reset later than a second after it was sent", sim.ResetConnection().After(1100 * time.Millisecond), []string{"a", "b"}},
		{"closed after a 1xx", hangUp("HTTP/1.1 100 Continue\r\n\r\n"), []string{"a", "b"}},
		{"closed after half a head", hangUp("HTTP/1.1 200 OK\r\nContent-Ty"), []string{"a", "b"}},
		{"not HTTP", hangUp("SSH-2.0-OpenSSH_9.9\r\n"), []string{"a", "b"}},
		{"500", sim.ServerError(500), []string{"a", "b"}},
		{"529", sim.Overloaded(), []string{"a", "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(10)}, poolOf(), func(w *world) {
				w.Provider.Inject("", c.fault)
				w.Request("", simtest.PlainModel, true)
				if calls := w.Calls(0); !slices.Equal(calls, c.calls) {
					w.Errorf("calls %v, want %v", calls, c.calls)
				}
			})
		})
	}
}

// FO-0a, CHN-3b: the same for an upstream with one credential.
func TestSingleRequestThatMayBeRunning(t *testing.T) {
	for calls, fault := range map[int]sim.Fault{
		1: hangUp("HTTP/1.1 200 OK\r\nContent-Ty"),
		2: sim.ResetConnection(),
	} {
		inWorld(t, paid, singleOf(apiKey), func(w *world) {
			w.Provider.Inject("", fault)
			r := w.Request("", simtest.PlainModel, true)
			if got := len(w.Provider.Requests()); r.Status != 502 || got != calls {
				w.Errorf("%d after %d requests, want 502 after %d", r.Status, got, calls)
			}
		})
	}
}

// FO-0c: one bad request does not empty a pool, and its sessions do not all land on one account.
func TestOneBadRequest(t *testing.T) {
	for name, fault := range map[string]sim.Fault{
		"reset": sim.ResetConnection(), "500": sim.ServerError(500), "half a head": hangUp("HTTP/1.1 200 OK\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(10)}, poolOf(), func(w *world) {
				homes := map[string]string{}
				for i := range 40 {
					s := fmt.Sprint("s-", i)
					homes[s] = w.MustServe(s, simtest.PlainModel)
				}
				w.Provider.Inject("", fault.Model("poison"))
				for range 5 { // its client retries
					before := w.Seen()
					w.Request("bad", "claude-poison", true)
					accounts := w.Calls(before)
					slices.Sort(accounts)
					if accounts = slices.Compact(accounts); len(accounts) > 2 {
						w.Errorf("tried %v", accounts)
					}
				}
				for s, home := range homes {
					if by := w.MustServe(s, simtest.PlainModel); by != home && w.State(home).Cooldown == 0 {
						w.Errorf("%s is served by %s, its home %s is free", s, by, home)
					}
				}
				time.Sleep(31 * time.Second)
				for s, home := range homes {
					w.Want(s, w.MustServe(s, simtest.PlainModel), home)
				}
			})
		})
	}
}

// FO-0c: an account that alone fails a request cools down for 30 s, and so does one that fails two in a row; where a second
// account fails the same request, it is 2 s for both.
func TestCooldownAfterAFault(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, poolOf(), func(w *world) {
		w.Provider.Inject("a", sim.ServerError(500).Times(1))
		w.Request("", simtest.PlainModel, true)
		w.Want("another account served it", w.State("a").Cooldown, 30*time.Second)
	})
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, poolOf(), func(w *world) {
		w.Provider.Inject("", sim.ServerError(500).Times(2))
		w.Request("", simtest.PlainModel, true)
		w.Want("both failed: a", w.State("a").Cooldown, 2*time.Second)
		w.Want("both failed: b", w.State("b").Cooldown, 2*time.Second)
		w.Want("both failed: c", w.State("c").Cooldown, time.Duration(0))
	})
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
		w.Provider.Inject("a", sim.ServerError(500).Times(2))
		w.Request("", simtest.PlainModel, true)
		w.Want("the only account", w.State("a").Cooldown, 2*time.Second)
		time.Sleep(3 * time.Second)
		w.Request("", simtest.PlainModel, true)
		w.Want("twice in a row", w.State("a").Cooldown, 30*time.Second)
	})
}

// The table: after a 401 about the request, one other account is tried, and none cools down.
func TestUnauthorizedRequest(t *testing.T) {
	refused := sim.Failure(http.StatusUnauthorized, messages.TypeInvalidRequest, "this beta needs another plan")
	inWorld(t, sim.Config{Accounts: simtest.Accounts(4)}, poolOf(), func(w *world) {
		w.Provider.Inject("", refused)
		r := w.Request("", simtest.PlainModel, true)
		if calls := w.Calls(0); r.Status != 401 || !strings.Contains(r.Body, "another plan") || !slices.Equal(calls, []string{"a", "b"}) {
			w.Errorf("%d, calls %v: %s", r.Status, calls, r.Body)
		}
		for _, s := range w.Tested.Pool("anthropic") {
			w.Want(s.Name+" cools down for", s.Cooldown, time.Duration(0))
		}
		w.Want("refreshes", len(w.Refreshes()), 0)

		w.Provider.Clear("")
		w.Provider.Inject("a", refused)
		w.Provider.Inject("b", refused)
		w.Provider.Inject("c", refused)
		for range 4 {
			w.Request("", simtest.PlainModel, true)
		}
		w.Want("a cools down for", w.State("a").Cooldown, time.Duration(0))
	})
}

// The table: a client never gets a page of the provider's front proxy.
func TestChallengePage(t *testing.T) {
	page := func(status int, header, value string) sim.Fault {
		return sim.Respond(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(header, value)
			w.Header().Set("Content-Type", "text/html; charset=UTF-8")
			w.WriteHeader(status)
			io.WriteString(w, "<!DOCTYPE html><title>Just a moment...</title>")
		})
	}
	for name, fault := range map[string]sim.Fault{
		"403, mitigated":  page(403, "Cf-Mitigated", "challenge"),
		"403, cloudflare": page(403, "Server", "cloudflare"),
		"502, cloudflare": page(502, "Server", "cloudflare"),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, poolOf(), func(w *world) {
				w.Provider.Inject("a", fault.Times(1))
				r := w.Request("", simtest.PlainModel, true)
				if r.Status != 200 || r.Account != "b" || w.State("a").Cooldown != 30*time.Second {
					w.Errorf("%d by %q, a cools down for %v", r.Status, r.Account, w.State("a").Cooldown)
				}
				w.Provider.Inject("", fault)
				r = w.Request("", simtest.PlainModel, true)
				if r.Status != 502 || strings.Contains(r.Body, "<") || !strings.Contains(r.Body, "web page") {
					w.Errorf("%d: %s", r.Status, r.Body)
				}
				w.Want("needs a login", w.Conditions(), "")
			})
		})
	}
}

// FO-6: a wait for a throttled account ends when another one is available, which then gets the request.
func TestWaitEndsWhenAnotherRecovers(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
		session := w.SessionAt("a")
		w.Provider.Inject("b", sim.Overloaded().Times(1)) // 5 s
		w.MustServe(w.OtherSession(session, "b"), simtest.PlainModel)
		w.Provider.Inject("a", sim.Throttled("60").Times(1))
		r := w.Request(session, simtest.PlainModel, true)
		if r.Status != 200 || r.Account != "b" || r.Took != 5*time.Second {
			w.Errorf("%d by %q after %v", r.Status, r.Account, r.Took)
		}
		w.Want("moved", w.Last().Move == nil, true)
	})
}
