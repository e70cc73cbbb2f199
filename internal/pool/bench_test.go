package pool_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"shunt/internal/identity"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

// crowd returns n accounts in all possible states: unseen, free with different resets, near, rejected, cooling down.
func crowd(n int, now time.Time) []pool.Member {
	members := make([]pool.Member, n)
	for i := range members {
		h := pool.NewHealth(pool.Tables["claude"])
		if i%5 != 0 {
			var sig quota.Signal
			for w := range sig.Windows {
				sig.Windows[w] = quota.WindowSignal{
					Utilization: float64(i*7%100) / 100, HasUtilization: true,
					Reset: now.Add(time.Duration(i*13%97+1) * time.Minute), Status: "allowed",
				}
			}
			event := pool.Success
			if i%7 == 0 {
				sig.Windows[pool.FiveHour].Status, event = "rejected", pool.Rejected
			}
			h = pool.Observe(h, pool.Outcome{Sent: now, Signal: sig, Event: event, Cooldown: time.Minute}, anySoft, now)
		}
		name := fmt.Sprintf("account-%d", i)
		members[i] = pool.NewMember(
			pool.Account{Name: name, Key: identity.OfAccount("claude", name, ""), Priority: i % 3, Soft: anySoft, Caps: anyCaps}, &h)
	}
	return members
}

// anyCaps exclude no account, but must be checked.
var anyCaps = quota.Caps{At: quota.Thresholds{1, 1, 1}, Set: quota.Of(pool.FiveHour, pool.SevenDay)}

var anySoft = quota.Thresholds{0.8, 0.8, 0.8}

func BenchmarkOrder(b *testing.B) {
	now := time.Now()
	policies := map[string]pool.Policy{"": {}, "/planned": {Planned: true, Hard: 0.95, AvoidBurnRate: true, RampInitial: 2}}
	for _, n := range []int{3, 20, 100} {
		members := crowd(n, now)
		for name, session := range map[string]string{"session": "a session", "turn": ""} {
			for suffix, policy := range policies {
				q := pool.Query{Criteria: pool.Criteria{Session: pool.SessionOf(session)}, Policy: policy}
				b.Run(fmt.Sprintf("%d/%s%s", n, name, suffix), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						q.Turn++
						if len(pool.Order(members, q, now)) != n {
							b.Fatal("someone is missing")
						}
					}
				})
			}
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	r := pool.NewTestRegistry()
	p := r.Pool("claude")
	var accounts []pool.Account
	for _, m := range crowd(20, time.Now()) {
		accounts = append(accounts, m.Account)
	}
	p.Configure(accounts, pool.Policy{})
	b.ReportAllocs()
	for b.Loop() {
		s := p.Begin(pool.Criteria{Session: pool.SessionOf("5f0c6a3e-7d55-4b7e-9c2f-0a1b2c3d4e5f")})
		c, _ := s.Next(context.Background())
		p.Observe(c.Key, pool.Outcome{Sent: time.Now(), Event: pool.Success})
		s.Served(c, false)
	}
}

// Order allocates its result and nothing else.
func TestOrderAllocatesItsResult(t *testing.T) {
	now := time.Now()
	members := crowd(20, now)
	for _, session := range []string{"a session", ""} {
		q := pool.Query{
			Criteria: pool.Criteria{Session: pool.SessionOf(session)}, Policy: pool.Policy{Planned: true, AvoidBurnRate: true},
			Tried: []identity.Key{members[0].Key},
		}
		if n := testing.AllocsPerRun(100, func() { pool.Order(members, q, now) }); n > 1 {
			t.Errorf("session %q: %v allocations", session, n)
		}
	}
}
