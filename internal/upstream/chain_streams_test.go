package upstream_test

import (
	"strings"
	"testing"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// FO-11 at the end of a chain: a stream of status 200 that begins with an error has the severity of that error, and is relayed
// unchanged unless another response has a higher one.
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
		inWorld(t, withKey(2), chainOf(keyAt(simtest.ProviderURL), poolAt(simtest.ProviderURL, "a", "b")), func(w *world) {
			w.Provider.Inject("k", c.first)
			w.Provider.Inject("a", sim.ErrorStream(c.kind))
			w.Provider.Inject("b", sim.ErrorStream(c.kind))
			r := w.Send(sim.MessagesPath, simtest.Minimal, simtest.Body(simtest.PlainModel, true))
			w.Want(c.name+": by", r.Header.Get("X-Gateway-Upstream"), c.by)
			w.Want(c.name+": as it came", r.Status == 200 && strings.Contains(r.Body, "event: ping") && strings.Contains(r.Body, string(c.kind)), c.by == "two")
			w.Want(c.name+": record", w.Last().Status, r.Status)
		}, keyNotInStore)
	}
}

// RTE-3: a model's name is restored in a stream whose first event is late, too.
func TestModelOfALateFirstEvent(t *testing.T) {
	for name, setup := range map[string]setup{
		"pool": poolOf(), "single": singleOf(apiKey), "no pings": poolOf().keepAlive(0), "often": poolOf().keepAlive(7 * time.Second),
	} {
		inWorld(t, withKey(1), setup, func(w *world) {
			w.Provider.Inject("", sim.SlowFirstEvent(100*time.Second))
			r := w.Request("s", simtest.PlainModel+"[1m]", true)
			if r.Status != 200 || r.Err != nil || r.Response.Model != simtest.PlainModel+"[1m]" {
				w.Errorf("%s: %d, %v, a response by %s, %d pings", name, r.Status, r.Err, r.Response.Model, r.Response.Pings)
			}
		}, keyNotInStore)
	}
}
