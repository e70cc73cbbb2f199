package simulate

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"shunt/internal/family/claude"
)

// workload is the same for every policy of a comparison: accounts, turns in order of time, and the traffic of others.
type workload struct {
	start    time.Time
	length   time.Duration
	accounts []account
	turns    []turn
	others   []charge
	sessions int
	names    []string // of the sessions, if they have any
	threads  int
	skipped  int     // lines of a log that are not valid records
	work     float64 // of all turns
	capacity float64 // what the weekly windows hold for turns during the run, at an even pace
}

// charge is a use of an account by others.
type charge struct {
	at      time.Duration
	account int
	fable   bool
	units   float64
}

// monday is when synthetic workloads begin: a midnight, because office hours matter.
var monday = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// Separate random streams, so that a change of one part of the workload does not change the others.
const (
	ofAccounts uint64 = iota
	ofSessions
	ofOthers
	ofPolicy
)

func random(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// synthesize returns the workload that the options describe.
func synthesize(o Options) *workload {
	w := &workload{start: monday, length: time.Duration(o.Days) * 24 * time.Hour}
	w.addAccounts(o, 1)
	sessions := sessionMaker{rng: random(o.Seed, ofSessions), workload: w, fable: o.Fable, life: o.Cache.Duration()}
	for w.work < o.Demand*w.capacity {
		sessions.session(arrival(sessions.rng, w.length))
	}
	w.finish(o.Demand)
	return w
}

// finish sorts the turns, and fills the windows as much as an even week would have.
func (w *workload) finish(demand float64) {
	slices.SortStableFunc(w.turns, func(a, b turn) int { return cmp.Compare(a.at, b.at) })
	var fable float64
	for i := range w.turns {
		if w.turns[i].fable {
			fable += w.turns[i].work
		}
	}
	fable *= sizes[claude.SevenDay] / sizes[claude.Fable] / w.work
	for i := range w.accounts {
		seven, fables := &w.accounts[i].windows[claude.SevenDay], &w.accounts[i].windows[claude.Fable]
		seven.used = seven.size * min(0.95, seven.elapsed()*demand)
		fables.used = fables.size * min(0.95, fables.elapsed()*demand*fable)
	}
}

// weeks returns the length of the run in weeks.
func (w *workload) weeks() float64 { return w.length.Hours() / (7 * 24) }

// addAccounts makes the accounts, their plans multiplied by scale, with the traffic of others on them.
func (w *workload) addAccounts(o Options, scale float64) {
	w.accounts = newAccounts(o.Plans, scale, random(o.Seed, ofAccounts))
	w.others, w.capacity = nil, 0
	w.addOthers(o)
}

// addOthers makes the traffic that does not go through shunt, and the capacity that it leaves. Some accounts have much of it and
// some almost none. It comes in sessions of ten minutes to two hours, each a twentieth to a half of a five-hour window.
func (w *workload) addOthers(o Options) {
	rng := random(o.Seed, ofOthers)
	for i := range w.accounts {
		a := &w.accounts[i]
		all := a.windows[claude.SevenDay].size * w.weeks()
		share := 2 * o.Others * rng.Float64() * all
		w.capacity += all - share
		for left := share; left > 0; {
			fable := rng.Float64() < o.Fable
			size := min(left, a.windows[claude.FiveHour].size*(0.05+0.45*rng.Float64()))
			left -= size
			start, length := arrival(rng, w.length), 10*time.Minute+time.Duration(rng.Int64N(int64(110*time.Minute)))
			requests := 5 + rng.IntN(60)
			for range requests {
				at := start + time.Duration(rng.Int64N(int64(length)))
				w.others = append(w.others, charge{at, i, fable, size / float64(requests)})
			}
		}
	}
	slices.SortStableFunc(w.others, func(a, b charge) int { return cmp.Compare(a.at, b.at) })
}

// office is how many sessions arrive in each hour of a working day, as a fraction of the busiest.
var office = [24]float64{
	0.05, 0.03, 0.02, 0.02, 0.02, 0.03, 0.1, 0.3, 0.7, 1, 1, 1, 0.7, 0.9, 1, 1, 0.9, 0.7, 0.4, 0.3, 0.3, 0.25, 0.15, 0.1,
}

const (
	weekend = 0.15 // how many arrive on a day off, as a fraction of a working day
	anyHour = 0.2  // fraction of the sessions that arrive at any hour
)

// arrival returns when a session begins.
func arrival(rng *rand.Rand, length time.Duration) time.Duration {
	always := rng.Float64() < anyHour
	for {
		at := time.Duration(rng.Int64N(int64(length)))
		hours := int(at.Hours())
		likely := office[hours%24]
		if hours/24%7 >= 5 {
			likely *= weekend
		}
		if always || rng.Float64() < likely {
			return at
		}
	}
}

// around returns a random positive number with that median; sigma is the deviation of its logarithm.
func around(rng *rand.Rand, median, sigma float64) float64 {
	return median * math.Exp(sigma*rng.NormFloat64())
}

// several returns a random number of at least 1, with that mean.
func several(rng *rand.Rand, mean float64) int {
	return 1 + int(rng.ExpFloat64()*(mean-1)+0.5)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
