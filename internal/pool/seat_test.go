package pool_test

import (
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/pool"
)

// STR-6: a session is as warm as its latest request, even if the response of an earlier one begins after it.
func TestWarmthIsOfTheLatestRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pool.NewTestRegistry().Pool("claude")
		p.Configure(accounts("a", "b"), pool.Policy{ReturnWhenCold: true})
		req := pool.Criteria{Session: 1}
		home := next(t, p.Begin(req))
		p.Observe(home.Key, pool.Outcome{Event: pool.Throttled, Cooldown: 3 * time.Minute})
		slow, quick := p.Begin(req), p.Begin(req)
		late := next(t, slow)
		time.Sleep(2 * time.Minute)
		soon := next(t, quick)
		quick.Served(soon, false)
		slow.Served(late, false)
		time.Sleep(4 * time.Minute)
		if c := next(t, p.Begin(req)); c.Name != soon.Name || c.Why != pool.LastServed {
			t.Errorf("%s was chosen (%s)", c.Name, c.Why)
		}
		time.Sleep(time.Minute + 1)
		if c := next(t, p.Begin(req)); c.Name != home.Name {
			t.Errorf("%s was chosen (%s) for a cold session", c.Name, c.Why)
		}
	})
}
