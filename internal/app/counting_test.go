package app_test

import (
	"net/http"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

// RTE-4: what happens to a count of tokens says nothing about the account's health for messages.
func TestCountTokensLeavesMessagesAlone(t *testing.T) {
	count := func(w *world, session string) plain {
		return w.send(sim.CountTokensPath, with(minimal, "X-Claude-Code-Session-Id", session), bodyFor(plainModel, false))
	}
	for name, fault := range map[string]sim.Fault{
		"quota": sim.Rejected(messages.FiveHour), "throttle": sim.Throttled("2"), "long throttle": sim.Throttled("90"),
		"500": sim.ServerError(500), "529": sim.Overloaded(),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
				home := w.mustServe("s", plainModel)
				w.provider.Inject(home, fault.On(sim.CountTokensPath))
				began := time.Now()
				got := count(w, "s")
				if by := got.header.Get("X-Shunt-Account"); got.status != http.StatusOK || by == home || by == "" {
					w.Errorf("%d by %q", got.status, by)
				}
				w.wants("it waited", time.Since(began), time.Duration(0))
				w.wants("home cools down for", w.state(home).Cooldown, time.Duration(0))
				w.wants("moved", w.last().Move == nil, true)
				w.wants("the session is served by", w.mustServe("s", plainModel), home)
			})
		})
	}
	t.Run("a success", func(t *testing.T) {
		inWorld(t, sim.Config{Accounts: accountsOf(1)}, poolOf(""), func(w *world) {
			w.provider.Inject("a", sim.Rejected(messages.FiveHour).RetryAfter("600").Times(1))
			w.ask("s", plainModel, true)
			time.Sleep(time.Second)
			if got := count(w, "s"); got.status != http.StatusOK {
				w.Errorf("%d", got.status)
			}
			w.wants("the quota cooldown stays", w.state("a").Cooldown, 599*time.Second)
		})
	})
	t.Run("a 401 is about the credential", func(t *testing.T) {
		inWorld(t, sim.Config{Accounts: accountsOf(2)}, poolOf(""), func(w *world) {
			home := w.mustServe("s", plainModel)
			w.provider.Inject(home, sim.Unauthorized().On(sim.CountTokensPath))
			count(w, "s")
			w.wants("home cools down for", w.state(home).Cooldown, 300*time.Second)
		})
	})
}
