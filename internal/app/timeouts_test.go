package app_test

import (
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/observe"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// CFG [server], WIRE-12, WIRE-12b: each time of the configuration is that of the requests to upstreams.
func TestConfiguredTimes(t *testing.T) {
	for _, c := range []struct {
		toml   string
		stream bool
		fault  sim.Fault
		status int
		end    observe.End
		took   time.Duration
	}{
		{"[server.timeouts]\nupstream_ttfb_ms = 1500\n", true, sim.Hang(), 504, "", 1500 * time.Millisecond},
		{"[server.timeouts]\nupstream_ttfb_nonstream_ms = 2500\n", false, sim.Hang(), 504, "", 2500 * time.Millisecond},
		{"[server.timeouts]\nupstream_idle_ms = 7000\n", true, simtest.Script(simtest.StartEvent, time.Hour), 200, observe.Truncated, 7 * time.Second},
	} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf(c.toml), func(w *world) {
			w.Provider.Inject("", c.fault)
			r := w.Request("s", simtest.PlainModel, c.stream)
			w.Want(c.toml+"status", r.Status, c.status)
			w.Want(c.toml+"end", w.Last().End, c.end)
			w.Want(c.toml+"took", r.Took, c.took)
		})
	}
	inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.PoolOf("[server]\nsse_keepalive_seconds = 3\n"), func(w *world) {
		w.Provider.Inject("", sim.SlowFirstEvent(10*time.Second))
		r := w.Request("s", simtest.PlainModel, true)
		w.Want("pings", r.Response.Pings, 3+1) // the provider sends one
	})
}
