package usage_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"shunt/internal/account"
	"shunt/internal/dialect/messages"
	"shunt/internal/sim"
)

// usageFault is a fault of the usage endpoint.
func usageFault(f sim.Fault) sim.Fault { return f.On(sim.UsagePath) }

func respond(h http.HandlerFunc) sim.Fault { return usageFault(sim.Respond(h)) }

// QUO-24: a failed poll changes nothing that is known, and does not move the other account's polls. The next poll comes in the
// account's slot: the first one that is not before retry-after, otherwise after pauses that double up to an hour.
func TestFailure(t *testing.T) {
	const everyMinute, everyTwoHours = time.Minute, 2 * time.Hour
	throttled := func(after string) sim.Fault { return usageFault(sim.Throttled(after)) }
	doubling := []int{0, 120, 360, 840, 1800, 3720, 7320} // 2, 4, 8, 16, 32 and then 60 minutes later
	for name, c := range map[string]struct {
		fault    sim.Fault
		interval time.Duration
		polls    []int // seconds after the first of them
	}{
		"429":                          {throttled(""), everyMinute, doubling},
		"429, retry-after unreadable":  {throttled("soon"), everyMinute, doubling},
		"429, retry-after 0":           {throttled("0"), everyMinute, []int{0, 60, 120, 180}},
		"429, retry-after 59":          {throttled("59"), everyMinute, []int{0, 60, 120, 180}},
		"429, retry-after 300":         {throttled("300"), everyMinute, []int{0, 360, 720}},
		"429, retry-after 3 h":         {throttled("10800"), everyMinute, []int{0, 10860}},
		"429, retry-after for ever":    {throttled("99999999999999"), everyTwoHours, []int{0, 93600}},
		"429, less than the interval":  {throttled("600"), everyTwoHours, []int{0, 7200}},
		"429, interval above an hour":  {throttled(""), everyTwoHours, []int{0, 7200}},
		"503, with a retry-after":      {usageFault(sim.Overloaded()), everyMinute, []int{0, 3660}}, // it is an hour
		"500":                          {usageFault(sim.ServerError(500)), everyMinute, doubling},
		"403":                          {usageFault(sim.CredentialForbidden()), everyMinute, doubling},
		"connection lost":              {usageFault(sim.ResetConnection()), everyMinute, doubling},
		"no response":                  {usageFault(sim.Hang()), everyMinute, doubling},
		"redirect":                     {usageFault(sim.Redirect("http://127.0.0.1:8001/proxy" + sim.ModelsPath)), everyMinute, doubling},
		"no JSON":                      {respond(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }), everyMinute, doubling},
		"JSON of something else":       {respond(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":[]}`) }), everyMinute, doubling},
		"204":                          {respond(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), everyMinute, doubling},
		"a response too large":         {respond(flood), everyMinute, doubling},
		"a response that never ends":   {respond(drip), everyMinute, doubling},
		"a truncated response":         {respond(truncate), everyMinute, doubling},
		"a report with another status": {respond(report), everyMinute, doubling},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, setting{accounts: 2, interval: c.interval}, func(w *world) {
				w.runs(20 * time.Second) // both have been polled
				w.Provider.Fill("a", messages.FiveHour, 0.9)
				w.Provider.Inject("a", c.fault)
				before := len(w.polls("a"))
				last := time.Duration(c.polls[len(c.polls)-1]) * time.Second
				w.runs(c.interval + last)
				got := w.times(w.polls("a"))[before:]
				if len(got) < len(c.polls) {
					t.Fatalf("polled at %v, want %v", got, c.polls)
				}
				for i := 1; i < len(c.polls); i++ {
					pause, want := got[i]-got[i-1], c.polls[i]-c.polls[i-1]
					if pause != want {
						t.Errorf("polled at %v, want %v", got, c.polls)
					}
				}
				if name == "redirect" {
					for _, r := range w.Provider.Requests() {
						if strings.Contains(r.Path, sim.ModelsPath) {
							t.Error("the redirect was followed")
						}
					}
				}
				if last < 4*time.Hour { // else what was known is too old
					if got, want := w.used("claude", "a"), [...]float64{0.25, 0.5, 0.75}; got != want {
						t.Errorf("used %v, want %v", got, want)
					}
				}
				for _, s := range w.registry.Pool("claude").Snapshot() {
					if s.Cooldown != 0 || !s.Available {
						t.Errorf("%s cools down for %v", s.Name, s.Cooldown)
					}
				}
				if others := len(w.polls("b")); others < int(last/c.interval) {
					t.Errorf("b was polled %d times", others)
				}

				// The first success ends the doubling.
				w.Provider.Clear("a")
				w.Provider.Fill("a", messages.FiveHour, 0.5)
				pause := c.polls[len(c.polls)-1] - c.polls[len(c.polls)-2]
				w.runs(time.Duration(pause)*time.Second*11/10 + time.Minute)
				before = len(w.polls("a"))
				w.runs(c.interval * 23 / 10)
				if after := len(w.polls("a")); after-before < 2 || after-before > 3 {
					t.Errorf("then polled %d times in 2.3 intervals", after-before)
				}
			})
		})
	}
}

func flood(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"five_hour":{"utilization":90},"x":"`+strings.Repeat("x", 1<<20)+`"}`)
}

func drip(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, " ")
		_ = http.NewResponseController(w).Flush()
		time.Sleep(time.Second)
	}
}

func truncate(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"five_hour":{"utilization":90},`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func report(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = io.WriteString(w, `{"five_hour":{"utilization":90}}`)
}

// QUO-24: a success ends the doubling, and the next failure starts it again.
func TestDoublingStartsAgain(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.Provider.Inject("a", usageFault(sim.ServerError(500)).Times(3))
		w.runs(2100*time.Second + 4*time.Minute)
		w.expect("a", 0, 600, 1800)
		w.runs(time.Hour)
		before := w.polls("a")
		w.Provider.Inject("a", usageFault(sim.ServerError(500)).Times(1))
		w.runs(interval*11/10 + interval*22/10)
		if more := len(w.polls("a")) - len(before); more < 2 || more > 3 {
			t.Errorf("polled %d times", more)
		}
	})
}

// QUO-24: an hour is the longest pause, however many failures there were.
func TestManyFailures(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.Provider.Inject("a", usageFault(sim.ServerError(500)))
		w.runs(80 * time.Hour)
		times := w.times(w.polls("a"))
		for i := 5; i < len(times); i++ {
			if pause := times[i] - times[i-1]; pause != 3600 {
				t.Errorf("a pause of %d s", pause)
			}
		}
		if len(times) < 70 {
			t.Errorf("polled %d times", len(times))
		}
	})
}

// QUO-21: a poll takes at most ten seconds.
func TestTimeout(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.Provider.Inject("a", usageFault(sim.Hang()))
		w.runs(9 * time.Second)
		if log := w.Log.String(); log != "" {
			t.Errorf("logged %s", log)
		}
		w.runs(2 * time.Second)
		if log := w.Log.String(); !strings.Contains(log, "account=claude/a") || !strings.Contains(log, "deadline exceeded") {
			t.Errorf("logged %s", log)
		}
	})
}

// QUO-21: an expired token is refreshed before it is sent.
func TestRefreshFirst(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.runs(9 * time.Hour) // a token is valid for eight
		calls := w.polls("a")
		for _, c := range calls {
			if c.Status != http.StatusOK {
				t.Errorf("%d at %v", c.Status, c.Received.Sub(w.began))
			}
		}
		if w.Provider.Counters("a").Refreshes != 1 || len(calls) < 9*10 {
			t.Errorf("%d refreshes, %d polls", w.Provider.Counters("a").Refreshes, len(calls))
		}
	})
}

// Without a token there is no poll, and no second condition: the account has its own.
func TestNoToken(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.runs(7 * time.Hour)
		w.Provider.Inject("a", sim.InvalidGrant())
		before := len(w.polls("a"))
		w.runs(9 * time.Hour)
		if more := len(w.polls("a")) - before; more > 12 {
			t.Errorf("%d polls with a token that had an hour left", more)
		}
		if conditions := w.conditions(); len(conditions) != 1 || !strings.Contains(conditions[0], "account claude/a needs login: ") {
			t.Errorf("conditions %q", conditions)
		}
		// A new login is tried within an interval.
		w.runs(time.Second) // past the slot
		w.Provider.Clear("a")
		w.Put("a", w.Provider.Login("a"))
		w.follow(map[string][]account.Spec{"claude": nil})
		before = len(w.polls("a"))
		w.runs(interval)
		if more := len(w.polls("a")) - before; more != 1 || w.conditions() != nil {
			t.Errorf("%d polls with the new login, conditions %q", more, w.conditions())
		}
	})
}

// A token that the provider ended before its time is renewed once, and the next poll is on schedule.
func TestTokenEndedEarly(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.Provider.ExpireTokens("a")
		w.runs(2*interval + time.Minute)
		w.expect("a", 0, 300, 600)
		if calls := w.polls("a"); calls[0].Status != http.StatusUnauthorized || calls[1].Status != http.StatusOK {
			t.Errorf("responded %d, %d", calls[0].Status, calls[1].Status)
		}
		w.Provider.ExpireTokens("a") // again: that the first was renewed is no reason not to
		w.runs(3 * interval)
		if calls := w.polls("a"); calls[len(calls)-1].Status != http.StatusOK {
			t.Error("the second was not renewed")
		}
	})
}

// There is one condition for a token that cannot be refreshed for now: the account's.
func TestNoTokenForNow(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.Provider.Inject("a", sim.ServerError(500).On(sim.TokenPath))
		w.runs(8*time.Hour + 10*time.Minute)
		before := len(w.polls("a"))
		w.runs(3 * time.Hour)
		if more := len(w.polls("a")) - before; more != 0 {
			t.Errorf("%d polls without a token", more)
		}
		if conditions := w.conditions(); len(conditions) != 1 || !strings.Contains(conditions[0], "account claude/a cannot be refreshed: ") {
			t.Errorf("conditions %q", conditions)
		}
		w.Provider.Clear("a")
		w.runs(interval)
		if more := len(w.polls("a")) - before; more != 1 || w.conditions() != nil {
			t.Errorf("%d polls with a token, conditions %q", more, w.conditions())
		}
	})
}

// There is one condition for a login that is no longer accepted: the account's.
func TestLoginLost(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.Provider.Inject("a", usageFault(sim.Unauthorized()))
		w.Provider.Inject("a", sim.InvalidGrant())
		w.runs(3 * time.Hour)
		if conditions := w.conditions(); len(conditions) != 1 || !strings.Contains(conditions[0], "account claude/a needs login: ") {
			t.Errorf("conditions %q", conditions)
		}
	})
}

// If the provider rejects every token, only the first is renewed.
func TestEveryTokenRejected(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.Provider.Inject("a", usageFault(sim.Unauthorized()))
		w.runs(3 * time.Hour)
		w.expect("a", 0, 300, 900, 2100, 4500, 8100)
		if refreshes := w.Provider.Counters("a").Refreshes; refreshes != 1 {
			t.Errorf("%d refreshes", refreshes)
		}
	})
}

// A login without permission is polled with less and less often; a new one is tried at the usual time.
func TestCredentialChanged(t *testing.T) {
	inWorld(t, setting{accounts: 2}, func(w *world) {
		w.Provider.Inject("a", usageFault(sim.CredentialForbidden()))
		w.Provider.Inject("b", usageFault(sim.Throttled("7200")))
		w.runs(2100*time.Second + 3*time.Minute)
		w.expect("a", 0, 600, 1800)
		w.Provider.Clear("a")
		for _, s := range w.registry.Pool("claude").Snapshot() {
			w.poller.CredentialChanged(s.Key)
		}
		w.runs(2 * time.Second)
		if polls := len(w.polls("a")); polls != 4 {
			t.Errorf("a was polled %d times", polls)
		}
		w.expect("b", 15) // QUO-24: a new login is not a reason to poll before retry-after
		w.poller.CredentialChanged(w.registry.Pool("claude").Snapshot()[0].Key)
		w.runs(interval - 10*time.Second)
		if polls := len(w.polls("a")); polls != 4 {
			t.Errorf("QUO-21: a was polled %d times", polls)
		}
	})
}

// Polls that fail for half an hour are a condition, which says for which account, how long and why they fail, and what that
// means. It ends with the first success, or when the account is removed.
func TestCondition(t *testing.T) {
	const name = "account claude/a cannot be polled for its usage: "
	for fault, why := range map[*sim.Fault]string{
		ptr(usageFault(sim.Throttled(""))):                        "the usage endpoint responded 429",
		ptr(usageFault(sim.CredentialForbidden())):                "responded 403 (reading usage requires the scope user:profile; a new login has it)",
		ptr(usageFault(sim.ResetConnection())):                    "/api/oauth/usage",
		ptr(respond(func(http.ResponseWriter, *http.Request) {})): "the response is not a JSON object",
	} {
		inWorld(t, setting{accounts: 2}, func(w *world) {
			w.Provider.Inject("a", *fault)
			w.runs(30 * time.Minute) // polled at 0, 10 and 30 minutes
			if conditions := w.conditions(); conditions != nil {
				t.Errorf("too early: %q", conditions)
			}
			w.runs(10 * time.Minute)
			conditions := w.conditions()
			if len(conditions) != 1 || !strings.HasPrefix(conditions[0], name+"no poll has succeeded for 3") || !strings.Contains(conditions[0], why) ||
				!strings.Contains(conditions[0], "only responses to requests report") {
				t.Fatalf("conditions %q", conditions)
			}
			w.Provider.Clear("a")
			w.runs(time.Hour)
			if conditions := w.conditions(); conditions != nil {
				t.Errorf("it is over: %q", conditions)
			}
			w.Provider.Inject("a", *fault)
			w.runs(2 * time.Hour)
			if len(w.conditions()) != 1 {
				t.Errorf("conditions %q", w.conditions())
			}
			w.follow(map[string][]account.Spec{"claude": {{Name: "b"}}})
			w.runs(time.Second)
			if conditions := w.conditions(); conditions != nil {
				t.Errorf("the account was removed: %q", conditions)
			}
		})
	}
}

// A condition begins after three intervals, if that is more than half an hour.
func TestConditionOfALongInterval(t *testing.T) {
	inWorld(t, setting{accounts: 1, interval: 2 * time.Hour}, func(w *world) {
		w.runs(time.Minute)
		w.Provider.Inject("a", usageFault(sim.ServerError(500)))
		w.runs(5 * time.Hour)
		if conditions := w.conditions(); conditions != nil {
			t.Errorf("too early: %q", conditions)
		}
		w.runs(5 * time.Hour)
		if conditions := w.conditions(); len(conditions) != 1 {
			t.Errorf("conditions %q", conditions)
		}
	})
}

// Reloads do not restart the half hour, and time during which the account was not listed does not count.
func TestConditionAndReloads(t *testing.T) {
	whole := map[string][]account.Spec{"claude": nil}
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.runs(time.Minute)
		w.follow(nil)
		w.runs(3 * time.Hour)
		w.Provider.Inject("a", usageFault(sim.ServerError(500)))
		w.follow(whole)
		w.runs(20 * time.Minute)
		if conditions := w.conditions(); conditions != nil {
			t.Errorf("too early: %q", conditions)
		}
		for range 30 {
			w.follow(whole)
			w.runs(time.Minute)
		}
		if conditions := w.conditions(); len(conditions) != 1 {
			t.Errorf("conditions %q", conditions)
		}
	})
}

func ptr[T any](v T) *T { return &v }
