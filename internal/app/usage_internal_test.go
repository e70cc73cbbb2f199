package app

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/family/claude"
	"shunt/internal/gateway"
	"shunt/internal/identity"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

// USE-1, USE-2: what the usage endpoints show of an account. A disabled account is left out, a paused one is not capped, and a
// window of a scope is available by the scope's own status.
func TestEnabledUsage(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	used := quota.NewState(claude.Family.Windows)
	used.Record(quota.Signal{Windows: [quota.MaxWindows]quota.WindowSignal{
		claude.FiveHour: {Utilization: 0.25, HasUtilization: true, Reset: noon.Add(time.Hour)},
		claude.Fable:    {Utilization: 1.5, HasUtilization: true},
	}}, noon, noon)
	status := func(change func(*pool.Status)) pool.Status {
		s := pool.Status{
			Account: pool.Account{Name: "a", Key: identity.OfStoreEntry("claude", "a"), Priority: 7}, Quota: used, Available: true,
			Scopes: []pool.ScopeStatus{{Scope: claude.FableScope}},
		}
		change(&s)
		return s
	}
	usage := func(available, capped, near, plain, scoped bool) gateway.AccountUsage {
		return gateway.AccountUsage{
			Identity: identity.OfStoreEntry("claude", "a").String(), Priority: 7, Available: available, Capped: capped, NearQuota: near,
			Windows: map[string]gateway.WindowUsage{
				"5h":    {Utilization: 0.25, Reset: noon.Add(time.Hour), Available: plain},
				"fable": {Utilization: 1.5, Available: scoped},
			},
		}
	}
	for name, c := range map[string]struct {
		change func(*pool.Status)
		want   []gateway.AccountUsage
	}{
		"free":         {func(*pool.Status) {}, []gateway.AccountUsage{usage(true, false, false, true, true)}},
		"disabled":     {func(s *pool.Status) { s.Disabled = true }, nil},
		"near":         {func(s *pool.Status) { s.NearQuota = true }, []gateway.AccountUsage{usage(true, false, true, true, true)}},
		"scope cooled": {func(s *pool.Status) { s.Scopes[0].Cooldown = time.Minute }, []gateway.AccountUsage{usage(true, false, false, true, false)}},
		"capped": {func(s *pool.Status) {
			s.Available, s.Group, s.CappedUntil = false, pool.Out, noon
		}, []gateway.AccountUsage{usage(false, true, false, false, true)}},
		"capped and paused": {func(s *pool.Status) {
			s.Available, s.Group, s.CappedUntil, s.Paused, s.Scopes[0].Group = false, pool.Out, noon, true, pool.Out
		}, []gateway.AccountUsage{usage(false, false, false, false, false)}},
	} {
		if diff := cmp.Diff(c.want, enabledUsage([]pool.Status{status(c.change)})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
