package upstream_test

import (
	"net/http"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// RTE-4: the response to a count of tokens does not affect the account's health for messages.
func TestCountTokensLeavesMessagesAlone(t *testing.T) {
	count := func(w *world, session string) simtest.Reply {
		return w.Send(sim.CountTokensPath, simtest.Session(session), simtest.Body(simtest.PlainModel, false))
	}
	for name, fault := range map[string]sim.Fault{
		"quota": sim.Rejected(messages.FiveHour), "throttle": sim.Throttled("2"), "long throttle": sim.Throttled("90"),
		"500": sim.ServerError(500), "529": sim.Overloaded(),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
				home := w.MustServe("s", simtest.PlainModel)
				w.Provider.Inject(home, fault.On(sim.CountTokensPath))
				began := time.Now()
				got := count(w, "s")
				if by := got.Header.Get("X-Shunt-Account"); got.Status != http.StatusOK || by == home || by == "" {
					w.Errorf("%d by %q", got.Status, by)
				}
				w.Want("it waited", time.Since(began), time.Duration(0))
				w.Want("home cools down for", w.State(home).Cooldown, time.Duration(0))
				w.Want("moved", w.Last().Move == nil, true)
				w.Want("the session is served by", w.MustServe("s", simtest.PlainModel), home)
			})
		})
	}
	t.Run("a success", func(t *testing.T) {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, poolOf(), func(w *world) {
			w.Provider.Inject("a", sim.Rejected(messages.FiveHour).RetryAfter("600").Times(1))
			w.Request("s", simtest.PlainModel, true)
			time.Sleep(time.Second)
			if got := count(w, "s"); got.Status != http.StatusOK {
				w.Errorf("%d", got.Status)
			}
			w.Want("the quota cooldown stays", w.State("a").Cooldown, 599*time.Second)
		})
	})
	t.Run("a 401 is about the credential", func(t *testing.T) {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, poolOf(), func(w *world) {
			home := w.MustServe("s", simtest.PlainModel)
			w.Provider.Inject(home, sim.Unauthorized().On(sim.CountTokensPath))
			count(w, "s")
			w.Want("home cools down for", w.State(home).Cooldown, 300*time.Second)
		})
	})
}
