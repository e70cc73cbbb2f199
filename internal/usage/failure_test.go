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

// QUO-24: after an ask that failed, nothing that was known has changed, the other account's turn is what it was, and the
// next poll comes in the account's slot: the first that is not before retry-after, else after pauses that double up to an
// hour.
func TestFailure(t *testing.T) {
	const everyMinute, everyTwoHours = time.Minute, 2 * time.Hour
	throttled := func(after string) sim.Fault { return usageFault(sim.Throttled(after)) }
	doubling := []int{0, 120, 360, 840, 1800, 3720, 7320} // 2, 4, 8, 16, 32 and then 60 minutes later
	for name, c := range map[string]struct {
		fault    sim.Fault
		interval time.Duration
		asks     []int // seconds after the first of them
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
		"no answer":                    {usageFault(sim.Hang()), everyMinute, doubling},
		"redirect":                     {usageFault(sim.Redirect("http://127.0.0.1:8001/proxy" + sim.ModelsPath)), everyMinute, doubling},
		"no JSON":                      {respond(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }), everyMinute, doubling},
		"JSON of something else":       {respond(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":[]}`) }), everyMinute, doubling},
		"204":                          {respond(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), everyMinute, doubling},
		"a reply too large":            {respond(flood), everyMinute, doubling},
		"a reply that never ends":      {respond(drip), everyMinute, doubling},
		"a reply that breaks off":      {respond(breakOff), everyMinute, doubling},
		"a report with another status": {respond(report), everyMinute, doubling},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, setting{accounts: 2, interval: c.interval}, func(w *world) {
				w.runs(20 * time.Second) // both have been polled
				w.provider.Fill("a", messages.FiveHour, 0.9)
				w.provider.Inject("a", c.fault)
				asked := len(w.asks("a"))
				last := time.Duration(c.asks[len(c.asks)-1]) * time.Second
				w.runs(c.interval + last)
				got := w.times(w.asks("a"))[asked:]
				if len(got) < len(c.asks) {
					t.Fatalf("asked at %v, want %v", got, c.asks)
				}
				for i := 1; i < len(c.asks); i++ {
					pause, want := got[i]-got[i-1], c.asks[i]-c.asks[i-1]
					if pause != want {
						t.Errorf("asked at %v, want %v", got, c.asks)
					}
				}
				if name == "redirect" {
					for _, r := range w.provider.Requests() {
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
						t.Errorf("%s rests %v", s.Name, s.Cooldown)
					}
				}
				if others := len(w.asks("b")); others < int(last/c.interval) {
					t.Errorf("b was asked about %d times", others)
				}

				// The first good answer ends the doubling.
				w.provider.Clear("a")
				w.provider.Fill("a", messages.FiveHour, 0.5)
				pause := c.asks[len(c.asks)-1] - c.asks[len(c.asks)-2]
				w.runs(time.Duration(pause)*time.Second*11/10 + time.Minute)
				before := len(w.asks("a"))
				w.runs(c.interval * 23 / 10)
				if after := len(w.asks("a")); after-before < 2 || after-before > 3 {
					t.Errorf("then asked %d times in 2.3 intervals", after-before)
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

func breakOff(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"five_hour":{"utilization":90},`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func report(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = io.WriteString(w, `{"five_hour":{"utilization":90}}`)
}

// QUO-24: a good answer ends the doubling, and the next failure begins it anew.
func TestDoublingBeginsAnew(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.provider.Inject("a", usageFault(sim.ServerError(500)).Times(3))
		w.runs(2100*time.Second + 4*time.Minute)
		w.expect("a", 0, 600, 1800)
		w.runs(time.Hour)
		asked := w.asks("a")
		w.provider.Inject("a", usageFault(sim.ServerError(500)).Times(1))
		w.runs(interval*11/10 + interval*22/10)
		if more := len(w.asks("a")) - len(asked); more < 2 || more > 3 {
			t.Errorf("asked %d times", more)
		}
	})
}

// QUO-24: an hour is the longest pause, however many failures there were.
func TestManyFailures(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.provider.Inject("a", usageFault(sim.ServerError(500)))
		w.runs(80 * time.Hour)
		times := w.times(w.asks("a"))
		for i := 5; i < len(times); i++ {
			if pause := times[i] - times[i-1]; pause != 3600 {
				t.Errorf("a pause of %d s", pause)
			}
		}
		if len(times) < 70 {
			t.Errorf("asked %d times", len(times))
		}
	})
}

// QUO-21: an ask takes ten seconds at the most.
func TestTimeout(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.provider.Inject("a", usageFault(sim.Hang()))
		w.runs(9 * time.Second)
		if log := w.logged(); log != "" {
			t.Errorf("logged %s", log)
		}
		w.runs(2 * time.Second)
		if log := w.logged(); !strings.Contains(log, "account=claude/a") || !strings.Contains(log, "deadline exceeded") {
			t.Errorf("logged %s", log)
		}
	})
}

// QUO-21: a token that has run out is refreshed before it is sent.
func TestRefreshFirst(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.runs(9 * time.Hour) // a token is good for eight
		calls := w.asks("a")
		for _, c := range calls {
			if c.Status != http.StatusOK {
				t.Errorf("%d at %v", c.Status, c.Received.Sub(w.began))
			}
		}
		if w.provider.Counters("a").Refreshes != 1 || len(calls) < 9*10 {
			t.Errorf("%d refreshes, %d asks", w.provider.Counters("a").Refreshes, len(calls))
		}
	})
}

// While there is no token, nobody is asked, and nobody is told of it twice: the account says so itself.
func TestNoToken(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.runs(7 * time.Hour)
		w.provider.Inject("a", sim.InvalidGrant())
		asked := len(w.asks("a"))
		w.runs(9 * time.Hour)
		if more := len(w.asks("a")) - asked; more > 12 {
			t.Errorf("%d asks with a token that had an hour left", more)
		}
		if conditions := w.conditions(); len(conditions) != 1 || !strings.Contains(conditions[0], "account claude/a needs login: ") {
			t.Errorf("conditions %q", conditions)
		}
		// A new login is tried within an interval.
		w.runs(time.Second) // past the slot
		w.provider.Clear("a")
		w.put("a", w.provider.Login("a"))
		w.follow(map[string][]account.Spec{"claude": nil})
		asked = len(w.asks("a"))
		w.runs(interval)
		if more := len(w.asks("a")) - asked; more != 1 || w.conditions() != nil {
			t.Errorf("%d asks with the new login, conditions %q", more, w.conditions())
		}
	})
}

// A token that the provider ended before its time is renewed once, and the next turn comes as usual.
func TestTokenEndedEarly(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.provider.ExpireTokens("a")
		w.runs(2*interval + time.Minute)
		w.expect("a", 0, 300, 600)
		if calls := w.asks("a"); calls[0].Status != http.StatusUnauthorized || calls[1].Status != http.StatusOK {
			t.Errorf("answered %d, %d", calls[0].Status, calls[1].Status)
		}
		w.provider.ExpireTokens("a") // again: that the first was renewed is no reason not to
		w.runs(3 * interval)
		if calls := w.asks("a"); calls[len(calls)-1].Status != http.StatusOK {
			t.Error("the second was not renewed")
		}
	})
}

// A token that cannot be refreshed for now is told of once, by the account.
func TestNoTokenForNow(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.provider.Inject("a", sim.ServerError(500).On(sim.TokenPath))
		w.runs(8*time.Hour + 10*time.Minute)
		asked := len(w.asks("a"))
		w.runs(3 * time.Hour)
		if more := len(w.asks("a")) - asked; more != 0 {
			t.Errorf("%d asks without a token", more)
		}
		if conditions := w.conditions(); len(conditions) != 1 || !strings.Contains(conditions[0], "account claude/a cannot be refreshed: ") {
			t.Errorf("conditions %q", conditions)
		}
		w.provider.Clear("a")
		w.runs(interval)
		if more := len(w.asks("a")) - asked; more != 1 || w.conditions() != nil {
			t.Errorf("%d asks with a token, conditions %q", more, w.conditions())
		}
	})
}

// A login that is lost altogether is told of once, by the account.
func TestLoginLost(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.provider.Inject("a", usageFault(sim.Unauthorized()))
		w.provider.Inject("a", sim.InvalidGrant())
		w.runs(3 * time.Hour)
		if conditions := w.conditions(); len(conditions) != 1 || !strings.Contains(conditions[0], "account claude/a needs login: ") {
			t.Errorf("conditions %q", conditions)
		}
	})
}

// A provider that refuses every token does not have them renewed for ever.
func TestTokenRefusedForEver(t *testing.T) {
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.provider.Inject("a", usageFault(sim.Unauthorized()))
		w.runs(3 * time.Hour)
		w.expect("a", 0, 300, 900, 2100, 4500, 8100)
		if refreshes := w.provider.Counters("a").Refreshes; refreshes != 1 {
			t.Errorf("%d refreshes", refreshes)
		}
	})
}

// A login that may not ask is asked with ever more seldom; a new one is tried at the usual time.
func TestCredentialChanged(t *testing.T) {
	inWorld(t, setting{accounts: 2}, func(w *world) {
		w.provider.Inject("a", usageFault(sim.CredentialForbidden()))
		w.provider.Inject("b", usageFault(sim.Throttled("7200")))
		w.runs(2100*time.Second + 3*time.Minute)
		w.expect("a", 0, 600, 1800)
		w.provider.Clear("a")
		for _, s := range w.registry.Pool("claude").Snapshot() {
			w.poller.CredentialChanged(s.Key)
		}
		w.runs(2 * time.Second)
		if asks := len(w.asks("a")); asks != 4 {
			t.Errorf("a was asked about %d times", asks)
		}
		w.expect("b", 15) // QUO-24: a new login is not a reason to come before retry-after
		w.poller.CredentialChanged(w.registry.Pool("claude").Snapshot()[0].Key)
		w.runs(interval - 10*time.Second)
		if asks := len(w.asks("a")); asks != 4 {
			t.Errorf("QUO-21: a was asked about %d times", asks)
		}
	})
}

// What fails for half an hour is the operator's business: with the account, how long, why, and what it means. It ends with
// the first good answer, or with the account.
func TestCondition(t *testing.T) {
	const name = "account claude/a cannot be asked for its quota: "
	for fault, why := range map[*sim.Fault]string{
		ptr(usageFault(sim.Throttled(""))):                        "the usage endpoint answered 429",
		ptr(usageFault(sim.CredentialForbidden())):                "answered 403 (a login without the scope user:profile may not ask; a new login has it)",
		ptr(usageFault(sim.ResetConnection())):                    "/api/oauth/usage",
		ptr(respond(func(http.ResponseWriter, *http.Request) {})): "the reply is not a JSON object",
	} {
		inWorld(t, setting{accounts: 2}, func(w *world) {
			w.provider.Inject("a", *fault)
			w.runs(30 * time.Minute) // asked at 0, 10 and 30 minutes
			if conditions := w.conditions(); conditions != nil {
				t.Errorf("too early: %q", conditions)
			}
			w.runs(10 * time.Minute)
			conditions := w.conditions()
			if len(conditions) != 1 || !strings.HasPrefix(conditions[0], name+"for 3") || !strings.Contains(conditions[0], why) ||
				!strings.Contains(conditions[0], "only answers to requests tell") {
				t.Fatalf("conditions %q", conditions)
			}
			w.provider.Clear("a")
			w.runs(time.Hour)
			if conditions := w.conditions(); conditions != nil {
				t.Errorf("it is over: %q", conditions)
			}
			w.provider.Inject("a", *fault)
			w.runs(2 * time.Hour)
			if len(w.conditions()) != 1 {
				t.Errorf("conditions %q", w.conditions())
			}
			w.follow(map[string][]account.Spec{"claude": {{Name: "b"}}})
			w.runs(time.Second)
			if conditions := w.conditions(); conditions != nil {
				t.Errorf("the account has gone: %q", conditions)
			}
		})
	}
}

// Long is three intervals, if that is more than half an hour.
func TestConditionOfALongInterval(t *testing.T) {
	inWorld(t, setting{accounts: 1, interval: 2 * time.Hour}, func(w *world) {
		w.runs(time.Minute)
		w.provider.Inject("a", usageFault(sim.ServerError(500)))
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

// Reloads do not make a failure look young, and the time that an account was away does not make it look old.
func TestConditionAndReloads(t *testing.T) {
	whole := map[string][]account.Spec{"claude": nil}
	inWorld(t, setting{accounts: 1}, func(w *world) {
		w.runs(time.Minute)
		w.follow(nil)
		w.runs(3 * time.Hour)
		w.provider.Inject("a", usageFault(sim.ServerError(500)))
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
