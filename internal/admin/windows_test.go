package admin_test

import (
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/family/claude"
	"shunt/internal/identity"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

// ADM-3: accounts whose windows and scopes all have fields of their own have no lists of them.
func TestFlatState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSurface(t)
		soft, half := quota.Soft(quota.DefaultHard), 0.5
		a := identity.OfStoreEntry("claude", "a")
		s.pool.Configure([]pool.Account{
			{Name: "a", Key: a, Priority: 100, Soft: soft, Caps: quota.Cap(quota.Setting{Window: [quota.MaxWindows]*float64{claude.Fable: &half}})},
			{Name: "b", Key: identity.OfStoreEntry("claude", "b"), Priority: 100, Soft: soft},
		}, pool.Policy{Planned: true})
		signal := quota.Signal{Status: "allowed"}
		signal.Windows[claude.FiveHour] = quota.WindowSignal{Status: "allowed", Utilization: 0.5, HasUtilization: true, Reset: time.Now().Add(time.Hour)}
		signal.Windows[claude.Fable] = quota.WindowSignal{Status: "rejected", Utilization: 1, HasUtilization: true, Reset: time.Now().Add(2 * time.Hour)}
		s.pool.Observe(a, pool.Outcome{Sent: time.Now(), Event: pool.ScopeRejected, RejectedScope: claude.FableScope, Cooldown: time.Hour, Signal: signal})
		const want = `{"providers":[{"provider":"anthropic","auth":"claude_oauth","accounts":[{"name":"a","account_ref":"e0de8e6f4f91626e","has_state":true,"available":true,"near_quota":false,"capped":false,"capped_fable":true,"paused":false,"disabled":false,"needs_login":false,"priority":100,"cooldown_secs_remaining":0,"cooldown_fable_secs_remaining":3600,"cooldown_cause":"fable_rejected","headroom_secs":10224,"utilization_5h":0.5,"utilization_7d":null,"utilization_7d_oi":1,"reset_5h":946688400,"reset_7d":null,"reset_7d_oi":946692000,"status":"allowed","status_5h":"allowed","status_7d":null,"status_7d_oi":"rejected","max_utilization_5h":null,"max_utilization_7d":null,"max_utilization_fable":0.5,"threshold_5h":0.98,"threshold_7d":0.98,"threshold_fable":0.98,"requests":0,"rotations":0,"last_used":null}` +
			`,{"name":"b","account_ref":"154278abeae4bcf7","has_state":false,"available":true,"near_quota":false,"capped":false,"capped_fable":false,"paused":false,"disabled":false,"needs_login":false,"priority":100,"cooldown_secs_remaining":0,"cooldown_fable_secs_remaining":0,"headroom_secs":null,"utilization_5h":null,"utilization_7d":null,"utilization_7d_oi":null,"reset_5h":null,"reset_7d":null,"reset_7d_oi":null,"status":null,"status_5h":null,"status_7d":null,"status_7d_oi":null,"max_utilization_5h":null,"max_utilization_7d":null,"max_utilization_fable":null,"threshold_5h":0.98,"threshold_7d":0.98,"threshold_fable":0.98,"requests":0,"rotations":0,"last_used":null}]},{"provider":"paid","auth":"api_key","accounts":[]}]}` + "\n"
		if got := s.call("GET", "/admin/api/pool", readKey, "").Body.String(); got != want {
			t.Errorf("\ngot  %swant %s", got, want)
		}
	})
}
