package app_test

import (
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// STR-6: return_home and cache_ttl_seconds reach the pool. Without them, a session returns as soon as its home is usable.
func TestReturnHome(t *testing.T) {
	for name, c := range map[string]struct {
		keys    string
		returns time.Duration // of silence, after which the session goes home
	}{
		"by default": {"", 0},
		"when cold":  {"return_home = \"when_cold\"\ncache_ttl_seconds = 60", time.Minute + time.Second},
		"in between": {"return_home = \"when_cold\"", 5*time.Minute + time.Second},
	} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.Planned(c.keys, ""), func(w *world) {
			home := w.MustServe("s", simtest.PlainModel)
			w.Provider.Inject(home, sim.Overloaded().Times(1))
			away := w.MustServe("s", simtest.PlainModel)
			if away == home {
				w.Fatalf("%s: the session did not leave", name)
			}
			time.Sleep(6 * time.Second) // the home has recovered
			if c.returns > 0 {
				w.Want(name+": warm", w.MustServe("s", simtest.PlainModel), away)
				time.Sleep(c.returns)
			}
			w.Want(name, w.MustServe("s", simtest.PlainModel), home)
		})
	}
}
