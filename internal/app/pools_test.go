package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// limits are an account's thresholds and caps as the scheduler has them, "5h 7d fable / 5h 7d fable"; a cap that is not
// set is a dash.
func (w *world) limits(account string) string {
	w.Helper()
	s := w.State(account)
	var soft, caps []string
	for i, threshold := range s.Soft {
		soft = append(soft, fmt.Sprint(threshold))
		limit := "-"
		if s.Caps.Set.Has(i) {
			limit = fmt.Sprint(s.Caps.At[i])
		}
		caps = append(caps, limit)
	}
	return strings.Join(soft, " ") + " / " + strings.Join(caps, " ")
}

// SEL-20, CAP-1: an account's setting for a window precedes the pool's, and an account that is not
// listed has the pool's. Account keys work without the table.
func TestThresholdsAndCaps(t *testing.T) {
	const defaults = "hard_threshold = 0.9\ndefault_threshold = 0.5\ndefault_threshold_5h = 0.6\n"
	const caps = "default_max_utilization = 0.99\ndefault_max_utilization_7d = 0.8\n"
	for _, c := range []struct{ toml, want string }{
		{apptest.PoolOf(""), "0.98 0.98 0.98 / - - -"},
		{apptest.Planned("", ""), "0.98 0.98 0.98 / - - -"},
		{apptest.Planned("hard_threshold = 0.9", ""), "0.9 0.9 0.9 / - - -"},
		{apptest.Planned(defaults, ""), "0.6 0.5 0.5 / - - -"},
		{apptest.Planned(defaults, apptest.Listed("a", "threshold = 0.7")), "0.7 0.7 0.7 / - - -"},
		{apptest.Planned(defaults, apptest.Listed("a", "threshold = 0.7", "threshold_5h = 0.95")), "0.9 0.7 0.7 / - - -"},
		{apptest.Planned(defaults, apptest.Listed("a", "threshold_fable = 0.1")), "0.6 0.5 0.1 / - - -"},
		{apptest.Planned("default_threshold_7d = 0.3\ndefault_threshold_fable = 0.4", apptest.Listed("a", "threshold_7d = 0")), "0.98 0 0.4 / - - -"},
		{apptest.PoolOf(apptest.Listed("a", "threshold_7d = 0.5")), "0.98 0.5 0.98 / - - -"},

		{apptest.Planned(caps, ""), "0.98 0.98 0.98 / 0.99 0.8 0.99"},
		{apptest.Planned(caps, apptest.Listed("a", "max_utilization = 1")), "0.98 0.98 0.98 / 1 1 1"},
		{apptest.Planned(caps, apptest.Listed("a", "max_utilization_5h = 0.5")), "0.98 0.98 0.98 / 0.5 0.8 0.99"},
		{apptest.Planned("default_max_utilization_fable = 0.4", ""), "0.98 0.98 0.98 / - - 0.4"},
		{apptest.Planned("default_max_utilization_5h = 0.4", apptest.Listed("a", "max_utilization_fable = 0")), "0.98 0.98 0.98 / 0.4 - 0"},
		{apptest.PoolOf(apptest.Listed("a", "max_utilization_7d = 0.9")), "0.98 0.98 0.98 / - 0.9 -"},
	} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(1)}, c.toml, func(w *world) {
			if got := w.limits("a"); got != c.want {
				t.Errorf("%s\n%s, want %s", c.toml, got, c.want)
			}
		})
	}
}

// CFG-51, CAP-3: a reload brings thresholds and caps to accounts whose quota is known already.
func TestReloadOfThresholdsAndCaps(t *testing.T) {
	inBoth(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.Planned("", ""), func(w *world, reload func(string)) {
		w.Provider.Fill("a", messages.SevenDay, 0.5)
		session := w.SessionAt("a")
		reload(apptest.Planned("default_threshold_7d = 0.5", ""))
		w.Want("served, a near its quota, by", w.MustServe(session, simtest.PlainModel), "b")
		reload(apptest.Planned("default_threshold_7d = 0.6", ""))
		w.Want("served by", w.MustServe(session, simtest.PlainModel), "a")
		reload(apptest.Planned("default_max_utilization = 0.5", ""))
		w.Want("served, a capped, by", w.MustServe(session, simtest.PlainModel), "b")
		reload(apptest.Planned("default_max_utilization = 0.6", ""))
		w.Want("served by", w.MustServe(session, simtest.PlainModel), "a")
		reload(apptest.PoolOf(apptest.Listed("a", "max_utilization_7d = 0.4") + apptest.Listed("b")))
		w.Want("served, a capped by its own key, by", w.MustServe(session, simtest.PlainModel), "b")
	})
}

// SEL-10, SEL-21, SEL-22: the table, though empty, orders by headroom; burn_rate_avoidance leaves an account whose pace is
// too high.
func TestPlanning(t *testing.T) {
	const day = 24 * time.Hour
	accounts := []sim.Account{
		{Name: "a"},
		{Name: "fast", SevenDay: sim.Window{Fill: 0.9, ResetIn: day}},     // its week resets first, and would not last
		{Name: "slow", SevenDay: sim.Window{Fill: 0.1, ResetIn: 5 * day}}, // much is left
	}
	for _, c := range []struct{ toml, instead, atFast string }{
		{apptest.PoolOf(""), "fast", "fast"},
		{apptest.Planned("", ""), "slow", "fast"},
		{apptest.Planned("burn_rate_avoidance = true", ""), "slow", "slow"},
		{apptest.Planned("burn_rate_avoidance = true\ndefault_threshold = 0.95", ""), "slow", "slow"},
		{apptest.Planned("burn_rate_avoidance = false\nusage_refresh_seconds = 60", ""), "slow", "fast"},
	} {
		inWorld(t, sim.Config{Accounts: accounts}, c.toml, func(w *world) {
			time.Sleep(3 * time.Second)
			var sessionAt [3]string
			for i := range 100 {
				session := fmt.Sprint(i)
				sessionAt[slices.Index(w.Provider.Accounts(), w.Home(session))] = session
			}
			for range 3 {
				w.MustServe("", simtest.PlainModel)
			}
			w.Provider.Inject("a", sim.Rejected(messages.FiveHour))
			w.Want(c.toml+"instead of a", w.MustServe(sessionAt[0], simtest.PlainModel), c.instead)
			w.Want(c.toml+"at home on fast", w.MustServe(sessionAt[1], simtest.PlainModel), c.atFast)
		})
	}
}
