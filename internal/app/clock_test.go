package app_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/clock"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// A clock that jumps, forward or back, and however often, costs no request and no login, and does not have tokens
// refreshed over and over. (A real clock that is set does less than this: differences of times outlive it.)
func TestClockJumps(t *testing.T) {
	var offset atomic.Int64
	jump := func(to time.Duration) { offset.Store(int64(to)) }
	inWorld(t, sim.Config{Accounts: simtest.Accounts(3)}, apptest.PoolOf(""), func(w *world) {
		w.Provider.Fill("b", messages.FiveHour, 0.99)
		for range 3 {
			w.MustServe("", simtest.PlainModel)
		}
		w.Provider.Inject("a", sim.ServerError(500).Times(1))
		w.MustServe("", simtest.PlainModel)
		for _, to := range []time.Duration{
			-time.Hour, 0, 7*time.Hour + 58*time.Minute, 0, 9 * time.Hour, -9 * time.Hour, 8 * 24 * time.Hour, -8 * 24 * time.Hour, 0,
		} {
			jump(to)
			for range 6 {
				time.Sleep(5 * time.Second)
				if r := w.Request("s", simtest.PlainModel, true); r.Status != http.StatusOK || r.Err != nil {
					w.Errorf("at %v: %d, %v: %s", to, r.Status, r.Err, r.Body)
				}
				w.MustServe("", simtest.PlainModel)
			}
		}
		if n := len(w.Refreshes()); n > 9 { // three jumps forward make the tokens of three accounts look old
			w.Errorf("%d refreshes", n)
		}
		for _, name := range w.Provider.Accounts() {
			w.WantSaved(name)
		}
		time.Sleep(time.Minute)
		w.Want("conditions", w.Conditions(), "")
	}, func(w *world) {
		jump(0)
		w.Clock = clock.Virtual(func() time.Time { return time.Now().Add(time.Duration(offset.Load())) })
	})
}

// TOK-1, 5-failover: a clock that is an hour slow believes in tokens that have expired; the 401 sets that right.
func TestSlowClock(t *testing.T) {
	inWorld(t, sim.Config{Accounts: simtest.Accounts(2), TokenLifetime: 30 * time.Minute}, apptest.PoolOf(""), func(w *world) {
		for range 14 {
			time.Sleep(9 * time.Minute)
			w.MustServe("s", simtest.PlainModel)
		}
		w.Want("moves", w.Logged("session moved"), 0)
		w.Want("conditions", w.Conditions(), "")
	}, func(w *world) {
		w.Clock = clock.Virtual(func() time.Time { return time.Now().Add(-time.Hour) })
	})
}
