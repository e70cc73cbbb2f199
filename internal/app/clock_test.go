package app_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"shunt/internal/clock"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

// A clock that jumps, forward or back, and however often, costs no request and no login, and does not have tokens
// refreshed over and over. (A real clock that is set does less than this: differences of times outlive it.)
func TestClockJumps(t *testing.T) {
	var offset atomic.Int64
	jump := func(to time.Duration) { offset.Store(int64(to)) }
	inWorld(t, sim.Config{Accounts: accountsOf(3)}, poolOf(""), func(w *world) {
		w.provider.Fill("b", messages.FiveHour, 0.99)
		for range 3 {
			w.mustServe("", plainModel)
		}
		w.provider.Inject("a", sim.ServerError(500).Times(1))
		w.mustServe("", plainModel)
		for _, to := range []time.Duration{
			-time.Hour, 0, 7*time.Hour + 58*time.Minute, 0, 9 * time.Hour, -9 * time.Hour, 8 * 24 * time.Hour, -8 * 24 * time.Hour, 0,
		} {
			jump(to)
			for range 6 {
				time.Sleep(5 * time.Second)
				if r := w.ask("s", plainModel, true); r.status != http.StatusOK || r.err != nil {
					w.Errorf("at %v: %d, %v: %s", to, r.status, r.err, r.body)
				}
				w.mustServe("", plainModel)
			}
		}
		if n := len(w.refreshes()); n > 9 { // three jumps forward make the tokens of three accounts look old
			w.Errorf("%d refreshes", n)
		}
		for _, name := range w.provider.Accounts() {
			w.saved(name)
		}
		time.Sleep(time.Minute)
		w.wants("conditions", w.conditions(), "")
	}, func(w *world) {
		jump(0)
		w.clock = clock.Virtual(func() time.Time { return time.Now().Add(time.Duration(offset.Load())) })
	})
}

// TOK-1, 5-failover: a clock that is an hour slow believes in tokens that have expired; the 401 sets that right.
func TestSlowClock(t *testing.T) {
	inWorld(t, sim.Config{Accounts: accountsOf(2), TokenLifetime: 30 * time.Minute}, poolOf(""), func(w *world) {
		for range 14 {
			time.Sleep(9 * time.Minute)
			w.mustServe("s", plainModel)
		}
		w.wants("moves", w.logged("session moved"), 0)
		w.wants("conditions", w.conditions(), "")
	}, func(w *world) {
		w.clock = clock.Virtual(func() time.Time { return time.Now().Add(-time.Hour) })
	})
}
