package usage_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/apptest"
	"shunt/internal/clock"
	"shunt/internal/dialect/messages"
	"shunt/internal/family/claude"
	"shunt/internal/sim"
	"shunt/internal/sim/simtest"
)

const everyMinute = "usage_refresh_seconds = 60"

// polls counts the calls of the usage endpoint with an account's token.
func polls(w *apptest.World, account string) (n int) {
	synctest.Wait()
	for _, r := range w.Provider.Requests() {
		if r.Path == sim.UsagePath && r.Header.Get("Authorization") == "Bearer "+w.Provider.Token(account) {
			n++
		}
	}
	return n
}

// rejects is a quota rejection for an hour.
func rejects(windows ...messages.Window) sim.Fault {
	return sim.Rejected(windows...).RetryAfter("3600").Times(1)
}

// FO-12: a poll that was sent after a rejection ends its cooldown if every window that the rejection named is below its
// soft threshold, and only then; and it ends no cooldown of another cause.
func TestPollEndsARejection(t *testing.T) {
	const five, seven, fable = messages.FiveHour, messages.SevenDay, messages.Fable
	for _, c := range []struct {
		name   string
		model  string
		faults []sim.Fault
		used   map[messages.Window]float64 // what the next poll reads; else 0.1
		lines  string
		ends   bool
	}{
		{name: "5h", faults: simtest.Faults(rejects(five)), ends: true},
		{name: "7d", faults: simtest.Faults(rejects(seven)), ends: true},
		{name: "5h and 7d", faults: simtest.Faults(rejects(five, seven)), ends: true},
		{name: "Fable, Fable request", model: simtest.FableModel, faults: simtest.Faults(rejects(fable)), ends: true},
		{name: "Fable, other request", faults: simtest.Faults(rejects(fable)), ends: true},
		{name: "aggregate", faults: simtest.Faults(sim.RejectedAggregate().RetryAfter("3600").Times(1)), ends: true},
		{name: "5h, and another window is over", faults: simtest.Faults(rejects(five)), used: map[messages.Window]float64{seven: 0.99}, ends: true},

		{name: "5h at its threshold", faults: simtest.Faults(rejects(five)), lines: "default_threshold_5h = 0.1"},
		{name: "5h still used up", faults: simtest.Faults(rejects(five)), used: map[messages.Window]float64{five: 1}},
		{name: "5h and 7d, one of them still used up", faults: simtest.Faults(rejects(five, seven)), used: map[messages.Window]float64{seven: 1}},
		{name: "Fable still used up", model: simtest.FableModel, faults: simtest.Faults(rejects(fable)), used: map[messages.Window]float64{fable: 1}},
		{
			name: "aggregate, and a window is over", faults: simtest.Faults(sim.RejectedAggregate().RetryAfter("3600").Times(1)),
			used: map[messages.Window]float64{fable: 0.99},
		},
		{name: "a throttle", faults: simtest.Faults(sim.Throttled("300").Times(1))},
		{name: "a refused credential", faults: simtest.Faults(sim.CredentialForbidden().Times(1))},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.model == "" {
				c.model = simtest.PlainModel
			}
			apptest.Run(t, sim.Config{Accounts: simtest.Accounts(3)}, apptest.Planned(everyMinute+"\n"+c.lines, ""), func(w *apptest.World) {
				time.Sleep(3 * time.Second) // the account that is polled first, which is this session's, has been polled
				home := w.Home("s")
				for _, window := range []messages.Window{five, seven, fable} {
					used, listed := c.used[window]
					if !listed {
						used = 0.1
					}
					w.Provider.Fill(home, window, used)
				}
				for _, f := range c.faults {
					w.Provider.Inject(home, f)
				}
				by := w.MustServe("s", c.model)
				cooldown := w.State(home).In(claude.FableScope).Cooldown
				if by == home || cooldown < 5*time.Minute {
					t.Fatalf("served by %s, %s cools down for %v", by, home, cooldown)
				}
				time.Sleep(48 * time.Second)
				w.Want("served at home before the poll", w.MustServe("s", c.model) == home, false)

				time.Sleep(20 * time.Second)
				w.Want("polls", polls(w, home), 2)
				before := w.Seen()
				cooldown = w.State(home).In(claude.FableScope).Cooldown
				if !c.ends {
					if cooldown == 0 {
						t.Error("the cooldown has ended")
					}
					w.Want("served at home after the poll", w.MustServe("s", c.model) == home, false)
					return
				}
				w.Want("cooldown", cooldown, time.Duration(0))
				if c.used != nil {
					return // it is near its quota by another window
				}
				w.Want("served after the poll by", w.MustServe("s", c.model), home)
				if move := w.Last().Move; move == nil || move.Reason != "returned" {
					t.Errorf("move %+v", move)
				}
				w.Want("calls", len(w.Calls(before)), 1)

				// If the account refuses again, that is newer, and counts again.
				w.Provider.Inject(home, c.faults[0])
				w.Want("served at home after another rejection", w.MustServe("s", c.model) == home, false)
				if cooldown := w.State(home).In(claude.FableScope).Cooldown; cooldown < 59*time.Minute {
					t.Errorf("cools down for %v", cooldown)
				}
			})
		})
	}
}

// FO-12: a poll that was sent before a rejection does not affect it, whenever its response arrives.
func TestPollSentBeforeARejection(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.Planned(everyMinute, ""), func(w *apptest.World) {
		time.Sleep(3 * time.Second)
		home := w.Home("s")
		w.Provider.Inject(home, usageFault(sim.SlowHeaders(8*time.Second)).Times(1))
		w.Provider.Fill(home, messages.SevenDay, 0.3)
		for polls(w, home) < 2 {
			time.Sleep(100 * time.Millisecond)
		}
		w.Provider.Inject(home, rejects(messages.FiveHour))
		away := w.MustServe("s", simtest.PlainModel)
		time.Sleep(9 * time.Second)
		w.Want("the response has arrived", week(w, home), 0.3)
		if cooldown := w.State(home).Cooldown; away == home || cooldown < 59*time.Minute {
			t.Errorf("cools down for %v", cooldown)
		}
		w.Want("served by", w.MustServe("s", simtest.PlainModel), away)
		time.Sleep(time.Minute)
		w.Want("served after the next poll by", w.MustServe("s", simtest.PlainModel), home)
	})
}

// week is what shunt knows of an account's seven days, as a fraction; -1 is unknown.
func week(w *apptest.World, account string) float64 {
	synctest.Wait()
	state := w.State(account)
	if used, known := state.Quota.Utilization(claude.SevenDay); known {
		return used
	}
	return -1
}

// QUO-20, SEL-3: a poll counts before the first request to the account.
func TestPollsBeforeTheFirstRequest(t *testing.T) {
	full := func(w *apptest.World) {
		w.Provider.Fill("a", messages.SevenDay, 0.99)
		w.Provider.Fill("b", messages.SevenDay, 0.4)
	}
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(3)}, apptest.Planned(everyMinute, ""), func(w *apptest.World) {
		time.Sleep(30 * time.Second) // the first round (QUO-24)
		w.Want("a", week(w, "a"), 0.99)
		w.Want("b", week(w, "b"), 0.4)
		w.Want("c", week(w, "c"), 0.0)
		for i := range 30 {
			if by := w.MustServe(strings.Repeat("s", i), simtest.PlainModel); by == "a" {
				t.Errorf("session %d begins on a", i)
			}
		}
		w.Want("429s", w.Provider.Counters("").ByStatus[http.StatusTooManyRequests], int64(0))
		// What others use of it is seen as well.
		w.Provider.Fill("b", messages.SevenDay, 0.99)
		time.Sleep(70 * time.Second)
		for i := range 30 {
			w.Want("served by", w.MustServe(strings.Repeat("s", i), simtest.PlainModel), "c")
		}
	}, full)
}

// QUO-20: off unless it is configured.
func TestPollsAreOff(t *testing.T) {
	for _, toml := range []string{apptest.PoolOf(""), apptest.Planned("", ""), apptest.Planned("usage_refresh_seconds = 0", "")} {
		apptest.Run(t, sim.Config{Accounts: simtest.Accounts(2)}, toml, func(w *apptest.World) {
			time.Sleep(10 * time.Minute)
			w.Want("requests", w.Seen(), 0)
			// A reload does not switch it on, with a warning.
			w.Reload(apptest.Planned(everyMinute, ""))
			time.Sleep(10 * time.Minute)
			w.Want("requests", w.Seen(), 0)
			w.Want("warnings", w.Logged("WARN", "next start", "server.pool.usage_refresh_seconds"), 1)
		})
	}
}

// QUO-20, CFG-51: the interval is that of the start.
func TestPollIntervalIsThatOfTheStart(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.Planned("usage_refresh_seconds = 20", ""), func(w *apptest.World) {
		time.Sleep(30 * time.Second)
		w.Want("polls in half a minute, which 20 s are raised to a minute for", polls(w, "a"), 1)
		w.Reload(apptest.Planned("usage_refresh_seconds = 3600", ""))
		time.Sleep(10 * time.Minute)
		if n := polls(w, "a"); n < 10 || n > 11 {
			t.Errorf("%d polls", n)
		}
		w.Want("warnings", w.Logged("WARN", "next start", "server.pool.usage_refresh_seconds"), 1)
		w.Reload(apptest.PoolOf(""))
		time.Sleep(10 * time.Minute)
		if n := polls(w, "a"); n < 19 || n > 22 {
			t.Errorf("%d polls", n)
		}
	})
}

// QUO-21: accounts that are disabled, not listed, or without a login that can be refreshed are not polled; an account that
// two pools list is polled once an interval, as long as one of them uses it.
func TestWhoIsPolled(t *testing.T) {
	other := func(keys ...string) string {
		return "[providers.other]\nauth = \"claude_oauth\"\nbase_url = \"" + simtest.ProviderURL + "\"\n" +
			"[[providers.other.accounts]]\nname = \"a\"\n" + strings.Join(keys, "\n") + "\n"
	}
	toml := apptest.Planned(everyMinute, apptest.Listed("a")+apptest.Listed("b", "disabled = true")+apptest.Listed("env", `token_env = "SETUP"`, `uuid = "u-1"`)+other())
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(4)}, toml, func(w *apptest.World) {
		polled := func() (names string) { // once a minute
			t.Helper()
			before := map[string]int{}
			for _, name := range w.Provider.Accounts() {
				before[name] = polls(w, name)
			}
			time.Sleep(10 * time.Minute)
			for _, name := range w.Provider.Accounts() {
				switch n := polls(w, name) - before[name]; {
				case n >= 9 && n <= 11:
					names += name
				case n != 0:
					t.Errorf("%s was polled %d times in ten minutes", name, n)
				}
			}
			return names
		}
		w.Want("polled", polled(), "a")
		for _, s := range w.App.Pool("other") {
			if used, known := s.Quota.Utilization(claude.FiveHour); !known || used != 0 {
				t.Errorf("the other pool knows %v, %v", used, known)
			}
		}
		w.Reload(apptest.Planned(everyMinute, apptest.Listed("a", "disabled = true")+apptest.Listed("b")+other()))
		w.Want("polled, a disabled in one pool, b enabled", polled(), "ab")
		w.Reload(apptest.Planned(everyMinute, apptest.Listed("a", "disabled = true")+apptest.Listed("b")+other("disabled = true")))
		w.Want("polled, a disabled in both", polled(), "b")
		w.Want("conditions", w.Conditions(), "")
	}, func(w *apptest.World) {
		w.Env = append(w.Env, "SETUP="+w.Provider.SetupToken("c"))
	})
}

// ACC-4: an account that comes is polled at once, one that goes is not polled any more, and the others keep their turns.
func TestPollsFollowTheStore(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(3)}, apptest.Planned(everyMinute, ""), func(w *apptest.World) {
		time.Sleep(30 * time.Second)
		w.Put("c", w.Provider.Credentials("c"))
		w.Remove("b")
		simtest.Second()
		simtest.Second()
		for name, want := range map[string]int{"a": 1, "b": 1, "c": 1} {
			w.Want("polls of "+name, polls(w, name), want)
		}
		time.Sleep(10 * time.Minute)
		w.Want("polls of b", polls(w, "b"), 1)
		for _, name := range []string{"a", "c"} {
			if n := polls(w, name); n < 10 || n > 11 {
				t.Errorf("%s was polled %d times", name, n)
			}
		}
	}, func(w *apptest.World) { w.Remove("c") })
}

// QUO-24: a failing poll moves no request, cools nothing down and keeps what was known. A lasting failure is a condition until
// it is over.
func TestFailingPollsChangeNothing(t *testing.T) {
	// With a fast clock, an hour of polls takes a minute of watching files.
	fast := func(w *apptest.World) { w.Clock = clock.Accelerated(60) }
	for name, fault := range map[string]sim.Fault{
		"429 that rejects": sim.Rejected(messages.FiveHour, messages.SevenDay).RetryAfter("30"),
		"401":              sim.Unauthorized(),
		"reset":            sim.ResetConnection(),
	} {
		t.Run(name, func(t *testing.T) {
			apptest.Run(t, sim.Config{Accounts: simtest.Accounts(3)}, apptest.Planned(everyMinute, ""), func(w *apptest.World) {
				pass := func(d time.Duration) { time.Sleep(w.Clock.Scale(d)) }
				homes := w.Homes()
				pass(3 * time.Second)
				w.Provider.Fill("a", messages.SevenDay, 0.99) // which no poll reports
				w.Provider.Inject("", usageFault(fault))
				for range 2 {
					pass(35 * time.Minute)
					for session, home := range homes {
						if home != "a" {
							w.Want("served by", w.MustServe(session, simtest.PlainModel), home)
						}
					}
				}
				for _, s := range w.App.Pool("anthropic") {
					if s.Cooldown != 0 || !s.Available || s.NearQuota {
						t.Errorf("%s: cools down for %v, near %v", s.Name, s.Cooldown, s.NearQuota)
					}
				}
				if used := week(w, "a"); used < 0 || used > 0.1 {
					t.Errorf("a has used %v", used)
				}
				w.Want("moves", len(w.Moves()), 0)
				const is = " cannot be polled for its usage"
				w.Want("conditions", w.Conditions(), "account anthropic/a"+is+", account anthropic/b"+is+", account anthropic/c"+is)
				w.Provider.Clear("")
				pass(70 * time.Minute)
				w.Want("conditions", w.Conditions(), "")
				w.Want("a", week(w, "a"), 0.99)
			}, fast)
		})
	}
}

// The end waits for no poll.
func TestEndDuringAPoll(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(2)}, apptest.Planned(everyMinute, ""), func(w *apptest.World) {
		w.Provider.Inject("", usageFault(sim.Hang()))
		simtest.Second()
		began := time.Now()
		w.Must(w.Stop())
		w.Want("it took", time.Since(began), time.Duration(0))
		w.Want("open connections", w.Upstream.Open(), 0)
	})
}

// TOK-1, QUO-21: an expired token is refreshed before a poll, once for all that need it.
func TestPollRefreshesFirst(t *testing.T) {
	apptest.Run(t, sim.Config{Accounts: simtest.Accounts(1)}, apptest.Planned(everyMinute, ""), func(w *apptest.World) {
		time.Sleep(3 * time.Second)
		w.Want("used", week(w, "a"), 0.0)
		w.Want("refreshes", w.Provider.Counters("a").Refreshes, int64(1))
		for _, r := range w.Provider.Requests() {
			if r.Path == sim.UsagePath && r.Status != http.StatusOK {
				t.Errorf("a poll had the response %d", r.Status)
			}
		}
		if !slices.ContainsFunc(w.Provider.Requests(), func(r sim.Request) bool { return r.Path == sim.UsagePath }) {
			t.Error("there was no poll")
		}
	}, func(w *apptest.World) { w.Put("a", simtest.Expiring(w.Provider.Credentials("a"), -time.Minute)) })
}
