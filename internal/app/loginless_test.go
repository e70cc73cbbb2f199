package app_test

import (
	"strings"
	"testing"
	"time"

	"shunt/internal/sim"
)

// FO-8, TOK-7: when only a person can bring any account back, the client is told so and not asked to try again.
func TestEveryAccountNeedsALogin(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(2), TokenLifetime: 10 * time.Minute}, poolOf(""), func(w *world) {
		for _, name := range []string{"a", "b"} {
			w.provider.Inject(name, sim.InvalidGrant())
		}
		time.Sleep(11 * time.Minute)
		r := w.ask("s", plainModel, true)
		w.wants("status", r.status, 502)
		w.wants("x-should-retry", r.header.Get("X-Should-Retry"), "false")
		w.wants("what to do", strings.Contains(r.body, "shunt login claude"), true)
		w.wants("which", strings.Contains(r.body, "and of one more"), true)
	})
}
