package simulate

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"shunt/internal/family/claude"
)

// small is a comparison that takes little time.
func small() Options {
	o := Defaults()
	o.Days, o.Plans = 5, []float64{2, 1, 1}
	return o
}

// SIM-1: the same seed gives the same bytes, another seed others.
func TestSameSeedSameBytes(t *testing.T) {
	written := func(seed uint64) (out [2]string) {
		o := small()
		o.Seed = seed
		c := Compare(o)
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		if err := WritePage(&page, &c); err != nil {
			t.Fatal(err)
		}
		return [2]string{string(text), page.String()}
	}
	first := written(7)
	if written(7) != first {
		t.Error("two runs of one seed differ")
	}
	if other := written(8); other[0] == first[0] || other[1] == first[1] {
		t.Error("two seeds do not differ")
	}
}

// SIM-1: laws of every comparison: each turn is served or refused, work is neither lost nor created, no policy passes the bound, quota is
// spent on work, on caches left behind and on what a refusal kept from being cached, and never without reason.
func TestAccounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Seed: rapid.Uint64().Draw(t, "seed"), Days: rapid.IntRange(1, 2).Draw(t, "days"),
			Plans:  rapid.SliceOfN(rapid.Float64Range(0.2, 1), 1, 3).Draw(t, "plans"),
			Demand: rapid.Float64Range(0.2, 2).Draw(t, "demand"), Others: rapid.Float64Range(0, 0.4).Draw(t, "others"),
			Fable: rapid.Float64Range(0, 1).Draw(t, "fable"), Cache: Seconds(rapid.IntRange(0, 3600).Draw(t, "cache")),
			Poll: Seconds(rapid.SampledFrom([]int{0, 60, 600}).Draw(t, "poll")), BurnRate: rapid.Bool().Draw(t, "burn"),
			WhenCold:  rapid.Bool().Draw(t, "when cold"),
			Threshold: rapid.SampledFrom([]float64{0, 0.5, 0.9}).Draw(t, "threshold"),
		}
		if err := o.Check(); err != nil {
			t.Fatal(err)
		}
		c := Compare(o)
		for _, r := range c.Results {
			if r.Turns != c.Turns || r.Answered+r.Limited != r.Turns || r.Avoidable > r.Limited || r.SessionsMoved > r.Moves {
				t.Errorf("%s: %+v", r.Policy, r)
			}
			if !near(r.Served+r.Refused, c.Work) {
				t.Errorf("%s: served %v and refused %v of %v", r.Policy, r.Served, r.Refused, c.Work)
			}
			if r.Served > c.Bound*(1+1e-9) {
				t.Errorf("%s: serves %v, at most %v can be", r.Policy, r.Served, c.Bound)
			}
			if r.Limited == 0 && !near(r.Spent, r.Served+r.CacheLost) {
				t.Errorf("%s: spends %v on work of %v and %v of lost cache", r.Policy, r.Spent, r.Served, r.CacheLost)
			}
			if r.Expired > r.Refused*(1+1e-9) {
				t.Errorf("%s: %v expired, although only %v was refused", r.Policy, r.Expired, r.Refused)
			}
			if r.Policy == StickyOnly && r.Moves > 0 {
				t.Errorf("%s: %d moves", r.Policy, r.Moves)
			}
			tries := len(o.Plans) // FO-15: shunt tries at most two accounts that cool down, although a third could serve
			if r.Policy == Planned || r.Policy == Plain {
				tries = 2
			}
			if r.Policy != StickyOnly && len(o.Plans) <= tries && r.Avoidable > 0 {
				t.Errorf("%s: %d refusals although an account could serve", r.Policy, r.Avoidable)
			}
		}
	})
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b)) }

// SIM-1, QUO-20: polls show shunt what others use, and when a window has reset.
func TestPolling(t *testing.T) {
	o := small()
	w := synthesize(o)
	polled, blind := Result{}, Result{}
	s := newShunt(w, 0, planned(o))
	x := newRun(w, o, s, &polled)
	x.poll(s, o.Poll.Duration())
	x.play()
	newRun(w, o, newShunt(w, 0, planned(o)), &blind).play()
	if reflect.DeepEqual(polled, blind) {
		t.Error("polls change nothing")
	}
	for i, status := range s.pool.Snapshot() {
		got, known := status.Quota.Utilization(claude.SevenDay)
		m := &x.provider.accounts[i].windows[claude.SevenDay]
		if want := m.used / m.size; !known || math.Abs(got-want) > 0.05 {
			t.Errorf("%s: week %.3f known as %.3f, %v", status.Name, want, got, known)
		}
	}
}

// SIM-1: invalid options are errors that name the option.
func TestCheck(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"days":          func(o *Options) { o.Days = 0 },
		"plans":         func(o *Options) { o.Plans = nil },
		"plans: each":   func(o *Options) { o.Plans = []float64{1, 0} },
		"demand":        func(o *Options) { o.Demand = math.NaN() },
		"others":        func(o *Options) { o.Others = 0.5 },
		"fable":         func(o *Options) { o.Fable = -0.1 },
		"threshold":     func(o *Options) { o.Threshold = 1 },
		"usage refresh": func(o *Options) { o.Poll = 59 },
		"million turns": func(o *Options) { o.Days, o.Plans = 365, []float64{1000, 1000} },
	} {
		o := Defaults()
		if err := o.Check(); err != nil {
			t.Fatal(err)
		}
		change(&o)
		if err := o.Check(); err == nil || !bytes.Contains([]byte(err.Error()), []byte(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := Defaults()
	if o.Plans, o.Trace = nil, "log"; o.Check() != nil {
		t.Error("a log needs no plans")
	}
}

func BenchmarkCompare(b *testing.B) {
	o := Defaults()
	turns := 0
	for b.Loop() {
		turns += Compare(o).Turns
	}
	b.ReportMetric(float64(turns)/b.Elapsed().Seconds(), "turns/s")
}
