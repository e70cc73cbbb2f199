package app_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

// SEL-1, ACC-4: sessions stay where they are, every account has its share, and a new account takes about 1/n of the
// sessions and moves no other.
func TestSessionsStay(t *testing.T) {
	const sessions = 200
	away := func(w *world) { os.Remove(filepath.Join(w.Store, "e.json")) }
	inWorld(t, sim.Config{Accounts: simtest.Accounts(5)}, apptest.PoolOf(""), func(w *world) {
		homes, share := map[string]string{}, map[string]int{}
		for i := range sessions {
			s := fmt.Sprint("s", i)
			homes[s] = w.MustServe(s, simtest.PlainModel)
			share[homes[s]]++
		}
		if len(share) != 4 || slices.Min(slices.Collect(maps.Values(share))) < sessions/4/2 {
			w.Errorf("shares %v", share)
		}
		w.Put("e", w.Provider.Credentials("e"))
		time.Sleep(2 * time.Second)
		moved := 0
		for s, home := range homes {
			switch now := w.MustServe(s, simtest.PlainModel); now {
			case home:
			case "e":
				moved++
			default:
				w.Errorf("%s went from %s to %s", s, home, now)
			}
		}
		if moved < sessions/5/2 || moved > sessions/5*2 {
			w.Errorf("%d of %d sessions moved to a fifth account", moved, sessions)
		}
		if moves := w.Moves(); len(moves) != moved || !strings.HasSuffix(moves[0], ">e pool_changed") {
			w.Errorf("%d moves are logged, the first as %q", len(moves), moves[0])
		}
	}, away)
}

// SEL-4, SEL-20: an account's own thresholds, window by window.
func TestAccountThresholds(t *testing.T) {
	for _, c := range []struct {
		keys   string
		window messages.Window
		fill   float64
		model  string
		leaves bool
	}{
		{"", messages.FiveHour, 0.97, simtest.PlainModel, false},
		{"", messages.SevenDay, 0.98, simtest.PlainModel, true},
		{"threshold = 0.5", messages.FiveHour, 0.49, simtest.PlainModel, false},
		{"threshold = 0.5", messages.FiveHour, 0.5, simtest.PlainModel, true},
		{"threshold = 0.5", messages.SevenDay, 0.6, simtest.PlainModel, true},
		{"threshold = 0.5\nthreshold_7d = 0.7", messages.SevenDay, 0.6, simtest.PlainModel, false},
		{"threshold_7d = 0.7", messages.SevenDay, 0.7, simtest.PlainModel, true},
		{"threshold_5h = 0.3", messages.FiveHour, 0.3, simtest.FableModel, true},
		{"threshold = 1.0", messages.FiveHour, 0.98, simtest.PlainModel, true}, // never above 0.98
		{"threshold_fable = 0.4", messages.Fable, 0.4, simtest.FableModel, true},
		{"threshold_fable = 0.4", messages.Fable, 0.4, simtest.PlainModel, false},
		{"threshold_7d = 0.4", messages.SevenDay, 0.4, simtest.FableModel, false}, // the Fable week governs
		{"threshold = 0.0", messages.FiveHour, 0, simtest.PlainModel, true},
	} {
		inWorld(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.PoolOf(apptest.Listed("a", c.keys)+apptest.Listed("b")), func(w *world) {
			w.Provider.Fill("a", c.window, c.fill)
			session, at := "", ""
			for i := 0; at != "a"; i++ {
				session = fmt.Sprint("s", i)
				at = w.MustServe(session, c.model) // a is unseen until it has served a request
			}
			if got := w.MustServe(session, c.model); (got != "a") != c.leaves {
				w.Errorf("%q, %v at %v, %s: served by %s", c.keys, c.window, c.fill, c.model, got)
			}
		})
	}
}

// SEL-10: where a session goes: first by priority, then to the account whose week ends first, an unknown one before all;
// priority does not decide where sessions start.
func TestWhereSessionsGo(t *testing.T) {
	day := 24 * time.Hour
	week := func(reset time.Duration) sim.Window { return sim.Window{ResetIn: reset} }
	accounts := []sim.Account{{Name: "a"}, {Name: "b", SevenDay: week(5 * day)}, {Name: "c", SevenDay: week(2 * day)}, {Name: "d", SevenDay: week(3 * day)}}
	for _, c := range []struct {
		toml string
		seen string // accounts that have served before
		want string // where sessions of a go
	}{
		{"", "abcd", "c"},
		{"", "abc", "d"}, // unknown first
		{apptest.Listed("a") + apptest.Listed("b", "priority = 10") + apptest.Listed("c", "priority = 20") + apptest.Listed("d"), "abcd", "b"},
		{apptest.Listed("a", "priority = 900") + apptest.Listed("b", "priority = 10") + apptest.Listed("c") + apptest.Listed("d", "priority = 10"), "abcd", "d"},
		{apptest.Listed("a") + apptest.Listed("b") + apptest.Listed("c", "disabled = true") + apptest.Listed("d"), "abd", "d"},
	} {
		inWorld(t, sim.Config{Accounts: accounts}, apptest.PoolOf(c.toml), func(w *world) {
			sessions := map[string]string{}
			for i := 0; len(sessions) < len(c.seen); i++ { // an account that serves is seen
				home := w.Home(fmt.Sprint("s", i))
				if strings.Contains(c.seen, home) && sessions[home] == "" {
					sessions[home] = fmt.Sprint("s", i)
				}
			}
			for _, home := range slices.Sorted(maps.Keys(sessions)) {
				if got := w.MustServe(sessions[home], simtest.PlainModel); got != home {
					w.Fatalf("a session of %s began at %s", home, got)
				}
			}
			w.Provider.Fill("a", messages.FiveHour, 0.99)
			w.MustServe(sessions["a"], simtest.PlainModel)
			if got := w.MustServe(sessions["a"], simtest.PlainModel); got != c.want {
				w.Errorf("%q, seen %s: it went to %s, want %s", c.toml, c.seen, got, c.want)
			}
		})
	}
}
