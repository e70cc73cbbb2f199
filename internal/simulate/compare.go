package simulate

import (
	"fmt"
	"sync"
	"time"

	"shunt/internal/family/claude"
	"shunt/internal/pool"
)

// Result is the outcome of the workload under one policy. Amounts are in units.
type Result struct {
	Policy string `json:"policy"`

	Turns     int `json:"turns"`
	Answered  int `json:"answered"`            // turns that were served
	Limited   int `json:"quota_429"`           // turns that were refused to the client for quota
	Avoidable int `json:"quota_429_avoidable"` // of those, while another account could have served
	Refusals  int `json:"upstream_429"`        // attempts that were refused, most of them without the client noticing

	Served  float64 `json:"work_served"`
	Refused float64 `json:"work_refused"`
	OfBound float64 `json:"served_of_bound"`  // fraction
	Spent   float64 `json:"quota_spent"`      // by the turns that were served
	Expired float64 `json:"quota_expired"`    // unused, although turns were refused while it was available
	Wasted  float64 `json:"expired_of_bound"` // the same, as a fraction

	Moves           int     `json:"moves"`
	MovesPer1000    float64 `json:"moves_per_1000_turns"`
	SessionsMoved   int     `json:"sessions_moved"`
	CacheLost       float64 `json:"quota_lost_by_moves"` // spent to write what was in another account's cache
	LostOfBound     float64 `json:"lost_of_bound"`
	CacheLostTokens int64   `json:"tokens_lost_by_moves"`

	Samples []Sample `json:"-"`
}

// Sample is the state at one time of a run.
type Sample struct {
	At          time.Duration
	Utilization [][claude.WindowCount]float64 // by account
	Moves       int
	Refused     float64
	Expired     float64
	CacheLost   float64
}

// Comparison is one workload under all policies.
type Comparison struct {
	Options  Options  `json:"options"`
	Accounts []string `json:"accounts"`
	Sessions int      `json:"sessions"`
	Turns    int      `json:"turns"`
	Skipped  int      `json:"lines_skipped,omitempty"` // of a log
	Work     float64  `json:"work_asked"`              // units
	Capacity float64  `json:"capacity"`                // units
	Bound    float64  `json:"bound"`                   // units
	Results  []Result `json:"policies"`
}

// The policies, in the order of a report.
const (
	Planned    = "shunt+pool" // with [server.pool]
	Plain      = "shunt"      // without
	RoundRobin = "round-robin"
	FillFirst  = "fill-first"
	StickyOnly = "sticky-only"
	Random     = "random"
)

// Compare plays the synthetic workload of the options against all policies.
func Compare(o Options) Comparison { return compare(o, synthesize(o)) }

func compare(o Options, w *workload) Comparison {
	n := len(w.accounts)
	c := Comparison{Options: o, Sessions: w.sessions, Turns: len(w.turns), Skipped: w.skipped, Work: w.work, Capacity: w.capacity}
	for _, a := range w.accounts {
		c.Accounts = append(c.Accounts, a.name)
	}
	runs := []struct {
		name string
		make func(*Result) *run
	}{
		{Planned, func(r *Result) *run {
			s := newShunt(w, o.Threshold, planned(o))
			x := newRun(w, o, s, r)
			if o.Poll > 0 {
				x.poll(s, o.Poll.Duration())
			}
			return x
		}},
		{Plain, func(r *Result) *run { return newRun(w, o, newShunt(w, o.Threshold, pool.Policy{}), r) }},
		{RoundRobin, func(r *Result) *run { return newRun(w, o, &roundRobin{cooldowns: newCooldowns(n)}, r) }},
		{FillFirst, func(r *Result) *run { return newRun(w, o, &fillFirst{newCooldowns(n)}, r) }},
		{StickyOnly, func(r *Result) *run { return newRun(w, o, &stickyOnly{homes: homes(w), accounts: len(w.accounts)}, r) }},
		{Random, func(r *Result) *run { return newRun(w, o, &anywhere{newCooldowns(n), random(o.Seed, ofPolicy)}, r) }},
	}
	c.Results = make([]Result, len(runs))
	var all sync.WaitGroup
	for i, run := range runs {
		c.Results[i].Policy = run.name
		all.Go(func() { run.make(&c.Results[i]).play() })
	}
	c.Bound = bound(w)
	all.Wait()
	for i := range c.Results {
		c.Results[i].relate(c.Bound)
	}
	return c
}

// planned returns the policy of [server.pool] with its defaults.
func planned(o Options) pool.Policy {
	return pool.Policy{Planned: true, AvoidBurnRate: o.BurnRate, ReturnWhenCold: o.WhenCold, CacheTTL: o.Cache.Duration()}
}

func (r *Result) relate(bound float64) {
	r.OfBound, r.Wasted, r.LostOfBound = r.Served/bound, r.Expired/bound, r.CacheLost/bound
	if r.Answered > 0 {
		r.MovesPer1000 = 1000 * float64(r.Moves) / float64(r.Answered)
	}
}

// Summary returns a sentence about what was compared.
func (c *Comparison) Summary() string {
	source := fmt.Sprintf("%d days, seed %d", c.Options.Days, c.Options.Seed)
	if c.Options.Trace != "" {
		source = fmt.Sprintf("the log %s, seed %d", c.Options.Trace, c.Options.Seed)
	}
	return fmt.Sprintf("%s: %s with %s on %s, %.0f %% of what the weekly windows hold; at most %.1f %% of the work could be served.",
		source, some(c.Sessions, "session"), some(c.Turns, "turn"), some(len(c.Accounts), "account"),
		100*c.Work/c.Capacity, 100*c.Bound/c.Work)
}

func some(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
