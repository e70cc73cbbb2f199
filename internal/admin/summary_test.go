package admin

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/family"
	"shunt/internal/observe"
	"shunt/internal/pool"
)

// ADM-6: the state of an account, from the most severe to the least, with what it is about.
func TestSummary(t *testing.T) {
	full, half, most, rejected, until := 0.98, 0.5, 0.9, "rejected", int64(1060)
	for _, c := range []struct {
		account AccountState
		want    Summary
	}{
		{AccountState{Disabled: true, Paused: true}, Summary{State: "disabled", Tone: "idle"}},
		{AccountState{Paused: true, NeedsLogin: true}, Summary{State: "paused", Tone: "idle"}},
		{AccountState{NeedsLogin: true, Cooldown: 60}, Summary{State: "login needed", Tone: "bad"}},
		{
			AccountState{Cooldown: 60, FableCooldown: 60, CooldownCause: "server_error", Capped: true},
			Summary{State: "cooling down", Detail: "server error", Until: &until, Tone: "bad"},
		},
		{
			AccountState{Cooldown: 60, FableCooldown: 90, CooldownCause: "fable_rejected"},
			Summary{State: "cooling down", Until: &until, Tone: "bad"},
		},
		{AccountState{Capped: true, NearQuota: true}, Summary{State: "capped", Tone: "warn"}},
		{AccountState{CappedFable: true, NearQuota: true, ThresholdFable: &most}, Summary{State: "capped", Detail: "Fable", Tone: "warn"}},
		{
			AccountState{NearQuota: true, Utilization5h: &full, Threshold5h: &most, Utilization7d: &half, Threshold7d: &most, UtilizationFable: &full, ThresholdFable: &most},
			Summary{State: "near limit", Detail: "5h", Tone: "warn"},
		},
		{
			AccountState{NearQuota: true, Utilization5h: &full, Threshold5h: &most, Status7d: &rejected, Threshold7d: &most, FableCooldown: 60},
			Summary{State: "near limit", Detail: "5h, 7d", Tone: "warn"},
		},
		{AccountState{NearQuota: true, Status: &rejected}, Summary{State: "near limit", Detail: "rejected by the provider", Tone: "warn"}},
		{
			AccountState{NearQuota: true, Utilization5h: &half, Threshold5h: &most},
			Summary{State: "near limit", Detail: "at the current pace", Tone: "warn"},
		},
		{
			AccountState{FableCooldown: 60, CooldownCause: "fable_rejected", HasState: true, ThresholdFable: &most},
			Summary{State: "cooling down", Detail: "Fable quota used up", Until: &until, Tone: "warn"},
		},
		{
			AccountState{NearQuota: true, Windows: []WindowState{
				{Window: "1h", Utilization: &full, Threshold: most}, {Window: "large", Scope: "large", Utilization: &full, Threshold: most}, {Window: "1d", Status: &rejected},
			}},
			Summary{State: "near limit", Detail: "1h, 1d", Tone: "warn"},
		},
		{
			AccountState{NearQuota: true, Scopes: []ScopeState{{Scope: "large", Capped: true}, {Scope: "small"}, {Scope: "tiny", Capped: true}}},
			Summary{State: "capped", Detail: "Large, Tiny", Tone: "warn"},
		},
		{
			AccountState{Scopes: []ScopeState{{Scope: "small", Cooldown: 30, Cause: "small_rejected"}, {Scope: "large", Cooldown: 60, Cause: "large_rejected"}}},
			Summary{State: "cooling down", Detail: "Large quota used up", Until: &until, Tone: "warn"},
		},
		{AccountState{}, Summary{State: "not seen yet", Tone: "idle"}},
		{AccountState{HasState: true}, Summary{State: "ok", Tone: "ok"}},
	} {
		if diff := cmp.Diff(c.want, c.account.Summary(1000)); diff != "" {
			t.Errorf("%+v: %s", c.want, diff)
		}
	}
}

// ADM-6: the page has words for every reason in the API.
func TestWords(t *testing.T) {
	known := func(words map[string]string, value string) {
		t.Helper()
		if words[value] == "" {
			t.Errorf("no words for %q", value)
		}
	}
	cause := func(value string) {
		t.Helper()
		if value != "large_rejected" {
			known(causes, value)
		} else if got := causeInWords(value); got != "Large quota used up" {
			t.Errorf("%s: %s", value, got)
		}
	}
	for c := range family.Class(family.Classes) {
		if c != family.Success && c != family.Relayed {
			cause(c.In("large"))
		}
	}
	for e := pool.Rejected; e <= pool.LoginNeeded; e++ {
		cause(pool.Cause{Event: e, Scope: "large"}.String())
	}
	for _, reason := range []pool.Reason{
		pool.Sticky, pool.RoundRobin, pool.LastServed, pool.Advisor, pool.NearQuota, pool.Cooled, pool.NeedsLogin,
		pool.Disabled, pool.Paused, pool.Capped, pool.Ramp, pool.Failover, pool.PoolChanged,
	} {
		known(choices, string(reason))
	}
	for _, end := range []observe.End{observe.Truncated, observe.ClientGone, observe.Shutdown, observe.Failed} {
		known(ends, string(end))
	}
	if got := inWords(causes, "a_new_reason"); got != "a new reason" {
		t.Error(got)
	}
}
