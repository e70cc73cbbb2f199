package simulate

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// SIM-1: the product's claims, on twenty workloads that demand 85 to 100 % of what the windows hold. The pool is small,
// so that a test can simulate it: two accounts of one size and two of a third of it. Where a single session is large against a
// five-hour window, or the pool has no more than three accounts, luck decides by a percent or two between shunt with
// and without the plan.
func TestPlanningPays(t *testing.T) {
	const seeds = 20
	served := map[string]float64{}
	for seed := range uint64(seeds) {
		o := Defaults()
		o.Seed, o.Plans, o.Demand = seed+1, []float64{6, 6, 2, 2}, 0.85+0.15*float64(seed)/(seeds-1)
		c := Compare(o)
		ours := c.Results[0]
		if ours.Policy != Planned {
			t.Fatalf("the first is %s", ours.Policy)
		}
		for _, r := range c.Results {
			served[r.Policy] += r.OfBound / seeds
			if r.OfBound > ours.OfBound+0.01 {
				t.Errorf("seed %d: %s serves %.4f of the bound, %s %.4f", o.Seed, r.Policy, r.OfBound, Planned, ours.OfBound)
			}
			if r.Policy == RoundRobin && 4*ours.Moves > r.Moves {
				t.Errorf("seed %d: %s moves %d times, %s %d", o.Seed, Planned, ours.Moves, r.Policy, r.Moves)
			}
			if (r.Policy == Planned || r.Policy == Plain) && r.Avoidable > 0 {
				t.Errorf("seed %d: %s shows clients %d 429s while an account could serve", o.Seed, r.Policy, r.Avoidable)
			}
		}
	}
	for policy, share := range served {
		if policy != Planned && share >= served[Planned] {
			t.Errorf("%s serves %.4f in the mean, %s %.4f", policy, share, Planned, served[Planned])
		}
	}
	t.Logf("served, of the bound: %v", served)
}

// SIM-1: on the default pool, shunt moves few sessions compared with round-robin.
func TestFewSessionsMove(t *testing.T) {
	o := Defaults()
	w := synthesize(o)
	var turns Result
	ours := playPlanned(o, w)
	newRun(w, o, &roundRobin{cooldowns: newCooldowns(len(w.accounts))}, &turns).play()
	if 4*ours.SessionsMoved > turns.SessionsMoved || ours.SessionsMoved == 0 {
		t.Errorf("%s moves %d sessions, %s %d", Planned, ours.SessionsMoved, RoundRobin, turns.SessionsMoved)
	}
}

// playPlanned returns the result of a workload under shunt with [server.pool].
func playPlanned(o Options, w *workload) (r Result) {
	s := newShunt(w, 0, planned(o))
	x := newRun(w, o, s, &r)
	if o.Poll > 0 {
		x.poll(s, o.Poll.Duration())
	}
	x.play()
	return r
}

// STR-5: to avoid a high pace costs next to no work and no more cache than it saves. Without hysteresis and with sessions that
// leave in the middle of their work it cost 4 to 10 points of the work and more than a tenth of all quota in lost cache.
func TestAvoidingAHighPaceIsCheap(t *testing.T) {
	const seeds = 5
	for seed := range uint64(seeds) {
		o := Defaults()
		o.Seed, o.Plans = seed+1, []float64{6, 6, 2, 2}
		w := synthesize(o)
		off := playPlanned(o, w)
		o.BurnRate = true
		on := playPlanned(o, w)
		if on.Served < 0.97*off.Served || on.CacheLost > off.CacheLost+0.02*off.Spent {
			t.Errorf("seed %d: serves %.3f of what it serves without; loses %.3f of its quota in cache, %.3f without", o.Seed,
				on.Served/off.Served, on.CacheLost/on.Spent, off.CacheLost/off.Spent)
		}
	}
}

// STR-6: sessions that return home only when they are cold move no more often and leave less cache behind.
func TestReturningColdIsCheaper(t *testing.T) {
	var lost, moves [2]float64
	for seed := range uint64(5) {
		for i, cold := range []bool{false, true} {
			o := Defaults()
			o.Seed, o.Plans, o.WhenCold = seed+1, []float64{6, 6, 2, 2}, cold
			r := playPlanned(o, synthesize(o))
			lost[i] += r.CacheLost
			moves[i] += float64(r.Moves)
		}
	}
	if lost[1] >= lost[0] || moves[1] > moves[0] {
		t.Errorf("cold: %.0f moves, %.0f units; always: %.0f moves, %.0f units", moves[1], lost[1], moves[0], lost[0])
	}
}
