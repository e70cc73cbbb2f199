package simulate

import (
	"time"

	"shunt/internal/family/claude"
)

// run plays the workload against one policy.
type run struct {
	*workload
	scheduler scheduler
	poller    *shunt // nil = no polls
	every     time.Duration
	provider  *provider
	caches    *caches
	served    [][2]int32 // the account that last served each session, by class of model; -1 = none
	moved     []bool     // by session
	waste     *waste
	result    *Result

	nextOther  int
	nextSample time.Duration
	nextPoll   []time.Duration
}

// mostSamples is how many points a plot has at most.
const mostSamples = 720

// sampling returns the interval of the points, in whole hours.
func (w *workload) sampling() time.Duration {
	return time.Hour * ((w.length/time.Hour + mostSamples - 1) / mostSamples)
}

func newRun(w *workload, o Options, s scheduler, r *Result) *run {
	x := &run{
		workload: w, scheduler: s, provider: newProvider(w.start, w.accounts), result: r,
		caches: newCaches(o.Cache.Duration(), w.threads, len(w.accounts)), served: make([][2]int32, w.sessions), moved: make([]bool, w.sessions),
		waste: &waste{},
	}
	for i := range x.served {
		x.served[i] = [2]int32{-1, -1}
	}
	for i := range x.provider.accounts {
		x.waste.watch(&x.provider.accounts[i].windows[claude.SevenDay])
	}
	return x
}

// poll makes s poll the usage of the accounts in turn, each once in an interval.
func (x *run) poll(s *shunt, every time.Duration) {
	x.poller, x.every = s, every
	for i := range x.accounts {
		x.nextPoll = append(x.nextPoll, every*time.Duration(i)/time.Duration(len(x.accounts)))
	}
}

func (x *run) play() {
	for i := range x.turns {
		t := &x.turns[i]
		x.advance(t.at)
		x.turn(t)
	}
	x.advance(x.length)
	x.nextSample = x.length
	x.sample()
	x.result.Expired = x.waste.total
}

// advance plays the events before that time other than turns, in order of time.
func (x *run) advance(until time.Duration) {
	for {
		next, event := until, func() {}
		if x.nextOther < len(x.others) && x.others[x.nextOther].at < next {
			next, event = x.others[x.nextOther].at, x.other
		}
		if x.nextSample < next {
			next, event = x.nextSample, x.sample
		}
		for i, at := range x.nextPoll {
			if at < next {
				next, event = at, func() { x.pollUsage(i) }
			}
		}
		x.provider.advance(next)
		if next == until {
			return
		}
		event()
	}
}

func (x *run) other() {
	c := &x.others[x.nextOther]
	x.provider.accounts[c.account].charge(c.units, c.fable)
	x.nextOther++
}

func (x *run) pollUsage(account int) {
	x.poller.poll(account, x.nextPoll[account], x.provider.usage(account))
	x.nextPoll[account] += x.every
}

// turn plays a turn on the accounts that the policy chooses, and counts the result.
func (x *run) turn(t *turn) {
	r := x.result
	r.Turns++
	x.scheduler.begin(t, t.at)
	for {
		account, ok := x.scheduler.next()
		if !ok {
			break
		}
		a := x.provider.send(account, t.fable, t.at)
		if a.served {
			x.serve(t, account)
		} else {
			r.Refusals++
		}
		x.scheduler.observe(account, &a)
		if a.served {
			return
		}
	}
	r.Limited++
	r.Refused += t.work
	x.waste.refuse(t.work)
	for i := range x.provider.accounts {
		if x.provider.accounts[i].full(t.fable) == 0 {
			r.Avoidable++
			break
		}
	}
}

func (x *run) serve(t *turn, account int) {
	cached, elsewhere := x.caches.use(t, account)
	cost := t.cost(cached)
	x.provider.accounts[account].charge(cost, t.fable)
	r := x.result
	r.Answered++
	r.Served += t.work
	r.Spent += cost
	if elsewhere > 0 {
		r.CacheLost += cost - t.cost(cached+elsewhere)
		r.CacheLostTokens += int64(min(elsewhere, t.prompt-cached))
	}
	if t.session < 0 {
		return
	}
	if last := &x.served[t.session][classOf(t.fable)]; *last != int32(account) {
		if *last >= 0 {
			r.Moves++
			if !x.moved[t.session] {
				x.moved[t.session] = true
				r.SessionsMoved++
			}
		}
		*last = int32(account)
	}
}

func (x *run) sample() {
	var s Sample
	s.At = x.nextSample
	for i := range x.provider.accounts {
		var u [claude.WindowCount]float64
		for w := range u {
			m := &x.provider.accounts[i].windows[w]
			u[w] = m.used / m.size
		}
		s.Utilization = append(s.Utilization, u)
	}
	s.Moves, s.Refused, s.Expired, s.CacheLost = x.result.Moves, x.result.Refused, x.waste.total, x.result.CacheLost
	x.result.Samples = append(x.result.Samples, s)
	x.nextSample += x.sampling()
}
