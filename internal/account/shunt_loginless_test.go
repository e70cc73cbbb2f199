package account_test

import (
	"strings"
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// FO-8, TOK-7: when only a new login helps, the response says so, and the client does not retry.
func TestEveryAccountNeedsALogin(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(2), TokenLifetime: 10 * time.Minute}, apptest.PoolOf(""), func(w *apptest.World) {
		for _, name := range []string{"a", "b"} {
			w.Provider.Inject(name, sim.InvalidGrant())
		}
		time.Sleep(11 * time.Minute)
		r := w.Request("s", simtest.PlainModel, true)
		w.Want("status", r.Status, 502)
		w.Want("x-should-retry", r.Header.Get("X-Should-Retry"), "false")
		w.Want("what to do", strings.Contains(r.Body, "shunt login claude"), true)
		w.Want("which", strings.Contains(r.Body, "and of one more"), true)
	})
}
