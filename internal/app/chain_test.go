package app_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// CFG-50: a request goes on in the chain that it began with; the next one has the new one.
func TestReloadOfAChain(t *testing.T) {
	inWorld(t, withKey(1), poolAndKey("a"), func(w *world) {
		w.Provider.Inject("a", sim.ServerError(500).After(time.Minute).Times(1))
		begun := w.Begin(w.Context(), "s", simtest.PlainModel)
		synctest.Wait()
		w.Reload(chainOf(keyAt(simtest.ProviderURL), poolAt(simtest.ProviderURL, "a")))
		w.Want("upstream of the next", w.Request("s", simtest.PlainModel, true).Header.Get("X-Gateway-Upstream"), "one")
		w.Want("account of the next", w.Received().Account, "k")
		r := <-begun
		w.Want("status", r.Status, 200)
		w.Want("upstream", r.Header.Get("X-Gateway-Upstream"), "two")
		w.Want("calls", strings.Join(w.Calls(0), " "), "a k k")
	}, keyNotInStore)
}

// RTE-4: tokens are counted by the first upstream of a chain, or not at all.
func TestCountTokensInAChain(t *testing.T) {
	inWorld(t, withKey(1), poolAndKey("a"), func(w *world) {
		for status, fault := range map[int]sim.Fault{429: sim.Rejected(messages.SevenDay), 404: sim.Failure(404, messages.TypeNotFound, "no"), 500: sim.ServerError(500)} {
			w.Provider.Inject("a", fault.Times(1))
			before := w.Seen()
			r := w.Post(w.Context(), sim.CountTokensPath, "s", simtest.Body(simtest.PlainModel, false))
			if r.Status != status || !slices.Equal(w.Calls(before), []string{"a"}) || r.Header.Get("X-Gateway-Upstream") != "one" {
				w.Errorf("%d: %d by %v: %s", status, r.Status, w.Calls(before), r.Body)
			}
		}
	}, keyNotInStore)
}
