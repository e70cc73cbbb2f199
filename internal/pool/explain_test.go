package pool_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/pool"
	"shunt/internal/quota"
)

// reading is a response with a reading of the five-hour window and its reset.
func reading(used float64, reset time.Duration) pool.Outcome {
	o := pool.Outcome{Sent: time.Now()}
	o.Signal.Windows[pool.FiveHour] = quota.WindowSignal{Utilization: used, HasUtilization: true, Reset: time.Now().Add(reset), Status: "allowed"}
	return o
}

// lines returns the places of an explanation in the form that shows the decision.
func lines(e pool.Explanation) []string {
	var all []string
	for _, p := range e.Places {
		all = append(all, fmt.Sprintf("%s %v %s %s", p.Name, p.Group, p.Why, p.By))
	}
	return all
}

// SEL-32: each candidate is in its place, with the reason; so is each identity that is out of the list.
func TestExplain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pool.NewTestRegistry().Pool("claude")
		all := accounts("home", "wide", "tight", "dear", "near", "over", "soon", "late", "off", "paused", "capped")
		for i := range all {
			a := &all[i]
			a.Soft = quota.Thresholds{0.8, 0.8, 0.8}
			a.Caps = quota.Caps{At: quota.Thresholds{0.99, 0, 0}, Set: quota.Of(pool.FiveHour)}
			switch a.Name {
			case "dear":
				a.Priority = 1
			case "off":
				a.Disabled = true
			}
		}
		p.Configure(all, pool.Policy{Planned: true, Hard: 0.95})
		for name, o := range map[string]pool.Outcome{
			"home": reading(0.7, time.Hour), "wide": reading(0.1, time.Hour), "tight": reading(0.6, 4*time.Hour), "dear": reading(0.1, time.Hour),
			"near": reading(0.85, 3*time.Hour), "over": reading(0.96, time.Hour), "capped": reading(0.99, 2*time.Hour),
			"soon": {Event: pool.Throttled, Cooldown: 5 * time.Second}, "late": {Event: pool.ServerError, Cooldown: 30 * time.Second},
		} {
			p.Observe(account(name).Key, o)
		}
		p.Pause(account("paused").Key, true)

		// A session whose home is the account "home".
		var req pool.Criteria
		for req.Session = 1; p.Explain(req).Preferred != "home"; req.Session++ {
		}
		e := p.Explain(req)
		want := []string{
			"home free sticky ",
			"wide free  lead",
			"tight free  headroom",
			"dear free  priority",
			"near near_quota  group",
			"over over_hard  group",
			"soon cooled  group",
			"late cooled  recovery",
			"off out disabled ",
			"paused out paused ",
			"capped out capped ",
		}
		if diff := cmp.Diff(want, lines(e)); diff != "" {
			t.Error(diff)
		}

		near := e.Places[4] // STR-5: ordered by its headroom to the hard threshold
		if want := 0.1*7200/0.85 - 3*3600; math.Abs(near.Headroom-want) > 1e-6 || near.Rejected || near.Cooldown != 0 || !near.CappedUntil.IsZero() || near.Denied {
			t.Errorf("near: %+v", near)
		}
		five := near.Windows[pool.FiveHour]
		wantWindow := pool.WindowPlace{
			Window:  pool.Tables["claude"].Windows()[pool.FiveHour],
			Governs: true, Utilization: 0.85, Known: true, Reset: time.Now().Add(3 * time.Hour), Status: "allowed",
			Soft: 0.8, Cap: 0.99, HasCap: true, Headroom: math.Inf(-1),
		}
		if !five.Reset.Equal(wantWindow.Reset) {
			t.Errorf("reset %v", five.Reset)
		}
		five.Reset = wantWindow.Reset
		if five != wantWindow {
			t.Errorf("got  %+v\nwant %+v", five, wantWindow)
		}
		if w := near.Windows; !w[pool.SevenDay].Governs || w[pool.FableWeek].Governs || w[pool.SevenDay].Known {
			t.Errorf("windows %+v", w)
		}
		if tight := e.Places[2]; math.Abs(tight.Headroom-(0.2*3600/0.6-4*3600)) > 1e-6 {
			t.Errorf("headroom %v", tight.Headroom)
		}
		if late := e.Places[7]; late.Cooldown != 30*time.Second || late.Cause.Event != pool.ServerError {
			t.Errorf("cooled for %v because of %v", late.Cooldown, late.Cause)
		}
		if capped := e.Places[10]; !capped.CappedUntil.Equal(time.Now().Add(2 * time.Hour)) {
			t.Errorf("capped until %v", capped.CappedUntil)
		}
	})
}

// SEL-32: an explanation also contains the last identity, the turn, the weekly reset without a plan, and ties.
func TestExplainWithoutAPlan(t *testing.T) {
	p := poolOf(accounts("a", "b", "c", "d")...)
	for name, days := range map[string]time.Duration{"b": 2, "c": 3} {
		o := pool.Outcome{Sent: time.Now()}
		o.Signal.Windows[pool.SevenDay] = quota.WindowSignal{Reset: time.Now().Add(days * 24 * time.Hour)}
		p.Observe(account(name).Key, o)
	}
	e := p.Explain(pool.Criteria{})
	want := []string{"a free round_robin ", "d free  lead", "b free  weekly_reset", "c free  weekly_reset"}
	if diff := cmp.Diff(want, lines(e)); diff != "" || e.Preferred != "a" || e.Last != "" {
		t.Errorf("preferred %q, last %q\n%s", e.Preferred, e.Last, diff)
	}

	req := pool.Criteria{Session: 1}
	s := p.Begin(req)
	home := next(t, s)
	p.Observe(home.Key, failure)
	away := next(t, s)
	s.Served(away, false)
	e = p.Explain(req)
	if e.Preferred != home.Name || e.Last != away.Name || e.Places[0].Name != away.Name || e.Places[0].Why != pool.LastServed {
		t.Errorf("preferred %q, last %q, first %+v", e.Preferred, e.Last, e.Places[0])
	}
	p.Configure(accounts(home.Name), pool.Policy{})
	if e = p.Explain(req); e.Last != "" || len(e.Places) != 1 {
		t.Errorf("last %q of a pool that has it no more: %v", e.Last, lines(e))
	}
	p.Configure(nil, pool.Policy{})
	if e = p.Explain(req); e.Preferred != "" || e.Places != nil {
		t.Errorf("an empty pool: %+v", e)
	}
}

// SEL-32, FO-0c, FO-15: what orders those that cool down. Those with a fault of the service are together.
func TestExplainCoolingDown(t *testing.T) {
	p := poolOf(accounts("a", "b", "c", "d", "e", "f")...)
	for name, o := range map[string]pool.Outcome{
		"a": {Event: pool.Throttled, Cooldown: time.Hour},
		"b": {Event: pool.Throttled, Cooldown: 2 * time.Second},
		"c": {Event: pool.ServerError, Cooldown: 5 * time.Second}, "d": {Event: pool.HostDown, Cooldown: time.Minute},
		"e": {Event: pool.Throttled, Cooldown: 10 * time.Second},
		"f": {Event: pool.Unauthorized, Cooldown: 5 * time.Minute},
	} {
		p.Observe(account(name).Key, o)
	}
	var req pool.Criteria
	for req.Session = 1; ; req.Session++ {
		e := p.Explain(req)
		if e.Preferred == "a" && e.Places[2].Name == "d" { // whose tie puts d before c, although c recovers first
			break
		}
	}
	want := []string{"a cooled  ", "b cooled  own", "d cooled  recovery", "c cooled  tie", "e cooled  fault", "f cooled  credential"}
	if diff := cmp.Diff(want, lines(p.Explain(req))); diff != "" {
		t.Error(diff)
	}
}

// SEL-3, SEL-32: an explanation changes nothing, not even the turn.
func TestExplainTakesNoTurn(t *testing.T) {
	p := poolOf(accounts("a", "b")...)
	p.Explain(pool.Criteria{})
	p.Explain(pool.Criteria{})
	if c := next(t, p.Begin(pool.Criteria{})); c.Name != "a" {
		t.Errorf("served by %s", c.Name)
	}
	if s := p.Snapshot()[0]; s.Requests != 1 || s.InFlight != 1 {
		t.Errorf("%d requests, %d in flight", s.Requests, s.InFlight)
	}
}

// SEL-32, RMP-2: an identity whose ramp admits no request now is shown as denied.
func TestExplainRamp(t *testing.T) {
	p := poolOf()
	p.Configure(accounts("a", "b"), pool.Policy{RampInitial: 1})
	next(t, p.Begin(pool.Criteria{}))
	e := p.Explain(pool.Criteria{})
	if first, second := e.Places[0], e.Places[1]; first.Name != "b" || first.Denied || !second.Denied {
		t.Errorf("%+v", e.Places)
	}
}
