package pool_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/identity"
	"shunt/internal/pool"
)

// QUO-31: the quota of accounts about which something is known is carried to the next process, and nothing else.
func TestExportImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := pool.NewTestRegistry()
		p := before.Pool("claude")
		p.Configure(accounts("a", "b", "c", "d"), pool.Policy{RampInitial: 1})
		rejection := reading(1, 2*time.Hour)
		rejection.Signal.Windows[pool.FiveHour].Status = "rejected"
		rejection.Event, rejection.Cooldown = pool.Rejected, time.Hour
		p.Observe(account("a").Key, rejection)
		p.Observe(account("b").Key, failure)
		p.Observe(account("c").Key, reading(0.5, time.Hour))
		p.Pause(account("a").Key, true)
		p.Observe(account("gone").Key, reading(0.5, 4*time.Hour))

		time.Sleep(90 * time.Minute)
		records := before.Export()
		var names []string
		for _, name := range []string{"a", "b", "c", "d", "gone"} {
			if _, ok := records[account(name).Key]; ok {
				names = append(names, name)
			}
		}
		if want := []string{"a", "gone"}; !cmp.Equal(names, want) {
			t.Errorf("exported %v, want %v: nothing is known of the others, or no longer", names, want)
		}

		after := pool.NewTestRegistry()
		after.Import(records)
		q := after.Pool("claude")
		q.Configure(accounts("a", "b", "c", "d"), pool.Policy{})
		s := q.Snapshot()[0]
		if u, ok := s.Quota.Utilization(pool.FiveHour); !ok || u != 1 || s.Group != pool.OverHard {
			t.Errorf("a: utilization %v, %v, %v", u, ok, s.Group)
		}
		if s.Cooldown != 0 || s.Paused || s.Requests != 0 || s.InFlight != 0 {
			t.Errorf("a: more than quota was carried over: %+v", s)
		}
		if diff := cmp.Diff(records, after.Export(), cmp.Comparer(func(a, b identity.Key) bool { return a == b })); diff != "" {
			t.Errorf("carried over twice:\n%s", diff)
		}
		time.Sleep(30 * time.Minute)
		if group := q.Snapshot()[0].Group; group != pool.Free {
			t.Errorf("a is %v when its window has reset", group)
		}
	})
}

// QUO-34: what is carried over is expired before it is read.
func TestImportExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := pool.NewTestRegistry()
		before.Pool("claude").Observe(account("a").Key, reading(1, time.Hour))
		records := before.Export()
		time.Sleep(time.Hour)
		after := pool.NewTestRegistry()
		after.Import(records)
		if left := after.Export(); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	})
}
