package app_test

import (
	"testing"
	"time"

	"shunt/internal/sim"
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
		inWorld(t, sim.Config{Accounts: accountsOf(2)}, planned(c.keys, ""), func(w *world) {
			home := w.mustServe("s", plainModel)
			w.provider.Inject(home, sim.Overloaded().Times(1))
			away := w.mustServe("s", plainModel)
			if away == home {
				w.Fatalf("%s: the session did not leave", name)
			}
			time.Sleep(6 * time.Second) // the home has recovered
			if c.returns > 0 {
				w.wants(name+": warm", w.mustServe("s", plainModel), away)
				time.Sleep(c.returns)
			}
			w.wants(name, w.mustServe("s", plainModel), home)
		})
	}
}
