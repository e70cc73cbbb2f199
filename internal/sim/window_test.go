package sim_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/clock"
	"shunt/internal/dialect/messages"
	"shunt/internal/family/claude"
	"shunt/internal/sim"
)

func statuses(r messages.RateLimit) string {
	s := r.Status
	for _, w := range r.Windows {
		s += " " + w.Status
	}
	return s
}

func (r *rig) wantLimits(got reply, want string) {
	r.Helper()
	reported := claude.Family.Quota(got.Header)
	s := reported.Status
	for _, w := range reported.Windows {
		s += " " + w.Status
	}
	if s != want {
		r.Errorf("statuses %q, want %q", s, want)
	}
}

// QUO-1: served requests fill the windows, the headers report it, and a full window rejects requests until its reset.
func TestWindowFills(t *testing.T) {
	config := sim.Config{Accounts: []sim.Account{{Name: "a", FiveHour: sim.Window{Size: 1000, Fill: 0.75, ResetIn: time.Hour}}}}
	bubble(t, config, func(r *rig) {
		first := r.do("a", sim.MessagesPath, plainBody)
		first.want(r, 200)
		used := claude.Family.Quota(first.Header).Windows[claude.FiveHour]
		if used.Utilization <= 0.75 || used.Utilization > 0.9 || !used.HasUtilization {
			r.Errorf("utilization %v after one response", used)
		}
		if got := time.Until(used.Reset); got != time.Hour {
			r.Errorf("resets in %v", got)
		}
		var response struct{ Usage sim.Tokens }
		if err := json.Unmarshal([]byte(first.body), &response); err != nil {
			r.Fatal(err)
		}
		if want := 0.75 + float64(response.Usage.Input+response.Usage.Output)/1000; used.Utilization != want {
			r.Errorf("utilization %v, the tokens make %v", used.Utilization, want)
		}

		r.Fill("a", messages.FiveHour, 0.8)
		if got := statuses(r.Limits("a")); got != "allowed_warning allowed_warning allowed allowed" {
			r.Errorf("at four fifths: %q", got)
		}
		r.Fill("a", messages.FiveHour, 0.999)
		last := r.do("a", sim.MessagesPath, plainBody)
		last.want(r, 200)
		r.wantLimits(last, "allowed_warning allowed_warning allowed allowed")
		time.Sleep(10 * time.Minute)
		rejected := r.do("a", sim.MessagesPath, streamBody)
		rejected.want(r, http.StatusTooManyRequests, "rate_limit_error")
		r.wantLimits(rejected, "rejected rejected allowed allowed")
		if got := rejected.Header.Get("Retry-After"); got != strconv.Itoa(50*60) {
			r.Errorf("retry-after %q", got)
		}

		time.Sleep(50 * time.Minute)
		reset := r.do("a", sim.MessagesPath, plainBody)
		reset.want(r, 200)
		r.wantLimits(reset, "allowed allowed allowed allowed")
		next := claude.Family.Quota(reset.Header).Windows[claude.FiveHour]
		if got := time.Until(next.Reset); got != 5*time.Hour {
			r.Errorf("the next reset is in %v", got)
		}
		time.Sleep(23 * time.Hour)
		if got := r.Limits("a").Windows[messages.FiveHour]; got.Utilization != 0 || time.Until(time.Unix(got.Reset, 0)) != 2*time.Hour {
			r.Errorf("after four idle windows and three hours: %+v", got)
		}
	})
}

// QUO-1: the weekly windows are a week long; the Fable window counts and rejects the Fable family only.
func TestFableWindow(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		r.do("a", sim.MessagesPath, plainBody).want(r, 200)
		if got := r.Limits("a").Windows; got[messages.Fable].Utilization != 0 || got[messages.SevenDay].Utilization == 0 {
			r.Errorf("after a request of another family: %+v", got)
		}
		r.do("a", sim.MessagesPath, bodyFor("claude-Fable-5")).want(r, 200)
		if r.Limits("a").Windows[messages.Fable].Utilization == 0 {
			r.Error("a Fable request leaves its window untouched")
		}
		r.Fill("a", messages.Fable, 1)
		rejected := r.do("a", sim.MessagesPath, bodyFor("claude-fable-5"))
		rejected.want(r, http.StatusTooManyRequests)
		r.wantLimits(rejected, "rejected allowed allowed rejected")
		if got := rejected.Header.Get("Retry-After"); got != strconv.Itoa(7*24*3600) {
			r.Errorf("retry-after %q", got)
		}
		other := r.do("a", sim.MessagesPath, plainBody)
		other.want(r, 200)
		r.wantLimits(other, "allowed allowed allowed rejected")
	})
}

// A fault rejects the windows that it names and no others, even full ones.
func TestRejectedFaultNamesItsWindows(t *testing.T) {
	bubble(t, oneAccount, func(r *rig) {
		r.Fill("a", messages.FiveHour, 1.5)
		r.Inject("a", sim.Rejected(messages.Fable))
		r.wantLimits(r.do("a", sim.MessagesPath, plainBody), "rejected allowed_warning allowed rejected")
	})
}

// CLI-3: on an accelerated clock windows reset sooner.
func TestAcceleratedClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.Accelerated(3600)
		p := sim.New(sim.Config{Clock: c, Accounts: []sim.Account{{Name: "a", FiveHour: sim.Window{Fill: 0.5}}}})
		time.Sleep(4 * time.Second)
		if got := p.Limits("a").Windows[messages.FiveHour]; got.Utilization != 0.5 || time.Unix(got.Reset, 0).Sub(c.Now()) != time.Hour {
			t.Errorf("after four hours: %+v", got)
		}
		time.Sleep(time.Second)
		if got := p.Limits("a").Windows[messages.FiveHour]; got.Utilization != 0 {
			t.Errorf("after five hours: %+v", got)
		}
	})
}

// A disabled window is not reported and never full; a paid key has no windows.
func TestNoWindow(t *testing.T) {
	config := sim.Config{Accounts: []sim.Account{
		{Name: "a", FiveHour: sim.Window{Off: true, Fill: 5}, Fable: sim.Window{Off: true}},
		{Name: "key", APIKey: "sk-paid"},
	}}
	bubble(t, config, func(r *rig) {
		r.wantLimits(r.do("a", sim.MessagesPath, plainBody), "allowed  allowed ")
		for _, header := range []string{"X-Api-Key", "Authorization"} {
			value := strings.TrimPrefix(header, "X-Api-Key")
			if value != "" {
				value = "Bearer "
			}
			paid := r.do("", sim.MessagesPath, plainBody, header, value+r.Token("key"))
			paid.want(r, 200)
			r.wantLimits(paid, "   ")
		}
		if got := r.Counters("key").ByStatus[200]; got != 2 {
			r.Errorf("the key served %d", got)
		}
	})
}

// A conversation's prompt is cached for five minutes on its account, and a cached token costs a tenth.
func TestCacheReads(t *testing.T) {
	config := sim.Config{Accounts: []sim.Account{{Name: "a"}, {Name: "b"}}}
	bubble(t, config, func(r *rig) {
		const session = "X-Claude-Code-Session-Id"
		usage := func(account string, header ...string) sim.Tokens {
			got := r.do(account, sim.MessagesPath, plainBody, header...)
			var response struct{ Usage sim.Tokens }
			if err := json.Unmarshal([]byte(got.body), &response); err != nil {
				r.Fatal(err)
			}
			return response.Usage
		}
		cold := usage("a", session, "s")
		if cold.CacheRead != 0 || cold.CacheCreation == 0 {
			r.Errorf("the first turn: %+v", cold)
		}
		before := r.Limits("a").Windows[messages.FiveHour].Utilization
		if warm := usage("a", session, "s"); warm.CacheRead != cold.CacheCreation || warm.CacheCreation != 0 || warm.Prompt() != cold.Prompt() {
			r.Errorf("the second turn: %+v after %+v", warm, cold)
		}
		if got := r.Limits("a").Windows[messages.FiveHour].Utilization - before; got >= before {
			r.Errorf("a warm turn costs %v, the cold one %v", got, before)
		}
		if moved := usage("b", session, "s"); moved.CacheRead != 0 {
			r.Errorf("another account's cache: %+v", moved)
		}
		if nameless := usage("a"); nameless.Input != cold.Prompt() {
			r.Errorf("without a session: %+v", nameless)
		}
		time.Sleep(5 * time.Minute)
		if late := usage("a", session, "s"); late.CacheRead != 0 {
			r.Errorf("after five minutes: %+v", late)
		}
	})
}

// QUO-22, QUO-25: the usage API reports the windows in both shapes.
func TestUsage(t *testing.T) {
	config := sim.Config{Accounts: []sim.Account{{
		Name:     "a",
		FiveHour: sim.Window{Fill: 0.25, ResetIn: time.Hour}, SevenDay: sim.Window{Fill: 0.5}, Fable: sim.Window{Fill: 1.25},
	}}}
	bubble(t, config, func(r *rig) {
		got := r.do("a", sim.UsagePath, "")
		got.want(r, 200)
		type row struct {
			Utilization, Percent float64
			Kind                 string
			ResetsAt             time.Time `json:"resets_at"`
			Scope                struct {
				Model struct {
					Name string `json:"display_name"`
				}
			}
		}
		var usage struct {
			FiveHour row `json:"five_hour"`
			SevenDay row `json:"seven_day"`
			Limits   []row
		}
		if err := json.Unmarshal([]byte(got.body), &usage); err != nil {
			r.Fatal(err)
		}
		if usage.FiveHour.Utilization != 25 || usage.SevenDay.Utilization != 50 || time.Until(usage.FiveHour.ResetsAt) != time.Hour {
			r.Errorf("%+v", usage)
		}
		if len(usage.Limits) != 3 {
			r.Fatalf("limits: %+v", usage.Limits)
		}
		if f := usage.Limits[2]; f.Kind != "weekly_scoped" || f.Percent != 125 || f.Scope.Model.Name != "Fable" {
			r.Errorf("the Fable limit: %+v", f)
		}
		r.do("", sim.UsagePath, "", "Authorization", "Bearer "+r.SetupToken("a")).want(r, http.StatusForbidden, "user:profile")
	})
}
