package simulate

import (
	"math"
	"slices"
	"testing"
	"time"

	"shunt/internal/family/claude"
)

// SIM-1: the workload follows the options: demand, Fable, others, accounts of these sizes with phases of their own.
func TestWorkload(t *testing.T) {
	o := Defaults()
	w := synthesize(o)
	if got := w.work / w.capacity; got < o.Demand || got > o.Demand*1.01 {
		t.Errorf("demands %.3f of what the windows hold", got)
	}
	var all, others float64
	phases := map[time.Duration]bool{}
	for i, a := range w.accounts {
		week := a.windows[claude.SevenDay]
		all += 2 * week.size
		phases[week.reset] = true
		if week.size != o.Plans[i]*15e6 || week.used <= 0 || week.used >= week.size || week.reset%time.Hour != 0 {
			t.Errorf("%s: %+v", a.name, week)
		}
	}
	for i, c := range w.others {
		others += c.units
		if i > 0 && c.at < w.others[i-1].at || c.units <= 0 {
			t.Fatalf("others: %+v", c)
		}
	}
	if !near(w.capacity, all-others) || others < 0.02*all || others > 0.16*all {
		t.Errorf("others use %.3f, capacity is %.3f", others/all, w.capacity/all)
	}
	if len(phases) != len(w.accounts) {
		t.Errorf("weeks reset at %v", phases)
	}

	type life struct {
		turns, prompt int
		first         time.Duration
	}
	threads := map[int32]life{}
	fableSessions, sessions, office := map[int32]bool{}, map[int32]bool{}, 0
	for i := range w.turns {
		u := &w.turns[i]
		if i > 0 && u.at < w.turns[i-1].at || u.at >= w.length || u.work <= 0 || u.work > u.cost(0) {
			t.Fatalf("turn %d: %+v", i, u)
		}
		l := threads[u.thread]
		if l.turns == 0 {
			l.first = u.at
			if u.work != u.cost(0) {
				t.Fatalf("turn %d begins a conversation and is cached", i)
			}
		}
		if u.prompt <= l.prompt || u.prompt > 220_000 {
			t.Fatalf("turn %d: prompt of %d after %d", i, u.prompt, l.prompt)
		}
		l.turns, l.prompt = l.turns+1, u.prompt
		threads[u.thread] = l
		sessions[u.session] = true
		fableSessions[u.session] = fableSessions[u.session] || u.fable
		if hour, day := int(u.at.Hours())%24, int(u.at.Hours())/24%7; hour >= 8 && hour < 18 && day < 5 {
			office++
		}
	}
	count := 0
	for _, yes := range fableSessions {
		if yes {
			count++
		}
	}
	if share := float64(count) / float64(len(sessions)); math.Abs(share-o.Fable) > 0.06 {
		t.Errorf("%.3f of the sessions use Fable", share)
	}
	if len(sessions) != w.sessions || len(threads) != w.threads || len(threads) < 2*len(sessions) {
		t.Errorf("%d sessions of %d, %d threads of %d", len(sessions), w.sessions, len(threads), w.threads)
	}
	if share := float64(office) / float64(len(w.turns)); share < 0.55 || share > 0.85 {
		t.Errorf("%.3f of the turns come in office hours", share)
	}
}

// Where one account has all the room, what the windows can serve is known, and the bound is close to it.
func TestBoundIsTight(t *testing.T) {
	o := small()
	o.Plans, o.Demand, o.Others, o.Fable = []float64{10}, 3, 0, 0
	w := synthesize(o)
	var turn float64
	for i := range w.turns {
		turn = max(turn, w.turns[i].work)
	}
	week := w.accounts[0].windows[claude.SevenDay]
	most := week.size - week.used + turn
	if week.reset < w.length {
		most += week.size + turn
	}
	if got := bound(w); got > 1.002*most {
		t.Errorf("bound %.0f, the weeks hold %.0f", got, most)
	}
	r := Result{}
	newRun(w, o, &fillFirst{newCooldowns(1)}, &r).play()
	if got := bound(w); r.Served > got || r.Served < 0.9*got {
		t.Errorf("bound %.0f, %.0f can be served", got, r.Served)
	}
}

// Any prices give a bound (weak duality), so the descent needs no proof.
func TestAnyPricesBound(t *testing.T) {
	o := small()
	w := synthesize(o)
	r := Result{}
	newRun(w, o, newShunt(w, 0, planned(o)), &r).play()
	rng := random(1, 1)
	p := newPricing(w)
	for range 200 {
		scale := rng.Float64()
		for _, c := range p.limits {
			for k := range c.price {
				c.price[k] = max(0, scale*(rng.Float64()-0.7))
			}
		}
		if v := p.value(); v < r.Served {
			t.Fatalf("prices give %v, %v was served", v, r.Served)
		}
	}
	for _, c := range p.limits {
		clear(c.price)
	}
	if v := p.value(); !near(v, w.work) {
		t.Errorf("free windows give %v of %v", v, w.work)
	}
}

// SIM-1: the samples of a plot are in order, from the beginning to the end, and not too many for a page.
func TestSamples(t *testing.T) {
	o := small()
	o.Days, o.Plans, o.Demand = 90, []float64{0.3}, 0.3
	c := Compare(o)
	for _, r := range c.Results {
		if len(r.Samples) > mostSamples+1 || r.Samples[0].At != 0 || r.Samples[len(r.Samples)-1].At != 90*24*hour {
			t.Fatalf("%s: %d samples", r.Policy, len(r.Samples))
		}
		if !slices.IsSortedFunc(r.Samples, func(a, b Sample) int { return int(a.At - b.At) }) {
			t.Errorf("%s: not in order", r.Policy)
		}
		if last := r.Samples[len(r.Samples)-1]; last.Moves != r.Moves || last.Refused != r.Refused || last.Expired != r.Expired || last.CacheLost != r.CacheLost {
			t.Errorf("%s ends with %+v", r.Policy, last)
		}
	}
}
