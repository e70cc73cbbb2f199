package simulate

import (
	"math"
	"time"

	"shunt/internal/family/claude"
)

// slot is the resolution of the bound. Windows reset at whole hours, so each hour is within one instance of each window.
const slot = time.Hour

// pricing finds the upper bound: the most work, in units, that any policy could serve with full knowledge of the
// future.
//
// The bound is the value of a relaxation: turns may be split between accounts, and a conversation costs the same on every
// account. The remaining constraint is the size of each account's windows. Take a window from any hour until it resets. If any
// turn is served in that time, then before the last of them the account had used less than the window's size, and others had
// used at least what they had used when that hour began. So all turns that are served in the whole window amount to no more than
// the rest, plus the one turn that may exceed the limit. This also holds for the turns from that hour on:
//
//	work served in the window from hour h on <= size - used by others before h + largest turn
//
// (For a week, the constraints at its beginning and at each midnight suffice.) These are linear constraints, and by linear
// duality every choice of prices bounds the optimum: give each of them a price p >= 0 per unit, let the price of an account at an
// hour be the sum of the prices that apply there, and let every hour buy its turns where they are cheapest, if that is less than
// their value, 1. Then
//
//	work served <= sum of p * right side + sum over turns of work * max(0, 1 - cheapest price)
//
// for any prices. Descent finds good ones; the bound holds even if they are not the best.
type pricing struct {
	work   [2][]float64 // by class (Fable or not) and slot
	limits []*priced
	slots  int

	// price and bought are by account, class and slot.
	price  [][2][]float64
	bought [][2][]float64
}

// priced is one kind of window of one account over the run.
type priced struct {
	account int
	window  int
	first   []bool    // by slot: an instance begins
	binds   []bool    // by slot: there is a constraint from there on
	room    []float64 // by slot: its right side
	price   []float64 // by slot: of that constraint, 0 where there is none

	mean, spread []float64 // of the slopes of the descent
}

// bound returns the least bound among the prices of the descent.
func bound(w *workload) float64 {
	p := newPricing(w)
	best := math.Inf(1)
	for step := range steps {
		best = min(best, p.descend(step))
	}
	return min(best, p.value())
}

func newPricing(w *workload) *pricing {
	p := &pricing{slots: int((w.length + slot - 1) / slot)}
	largest := make([]float64, p.slots)
	for class := range p.work {
		p.work[class] = make([]float64, p.slots)
	}
	for i := range w.turns {
		t := &w.turns[i]
		at := int(t.at / slot)
		p.work[classOf(t.fable)][at] += t.work
		largest[at] = max(largest[at], t.work)
	}
	p.price, p.bought = make([][2][]float64, len(w.accounts)), make([][2][]float64, len(w.accounts))
	for i := range w.accounts {
		for class := range 2 {
			p.price[i][class], p.bought[i][class] = make([]float64, p.slots), make([]float64, p.slots)
		}
		for window := range claude.WindowCount {
			p.limits = append(p.limits, newPriced(w, i, window, largest))
		}
	}
	return p
}

func classOf(fable bool) int {
	if fable {
		return 1
	}
	return 0
}

func newPriced(w *workload, account int, window int, largest []float64) *priced {
	n := len(largest)
	c := &priced{
		account: account, window: window,
		first: make([]bool, n), binds: make([]bool, n), room: make([]float64, n), price: make([]float64, n),
		mean: make([]float64, n), spread: make([]float64, n),
	}
	l := w.accounts[account].windows[window]
	others := make([]float64, n)
	for _, o := range w.others {
		if at := int(o.at / slot); o.account == account && counts(window, o.fable) && at < n {
			others[at] += o.units
		}
	}
	for k := 0; k < n; {
		end := k + 1
		for end < n && l.began(time.Duration(end)*slot) == l.began(time.Duration(k)*slot) {
			end++
		}
		used, turn := 0.0, 0.0
		if k == 0 {
			used = l.used
		}
		for i := k; i < end; i++ {
			turn = max(turn, largest[i])
		}
		c.first[k] = true
		for ; k < end; k++ {
			c.binds[k] = c.first[k] || window == claude.FiveHour || k%24 == 0
			c.room[k] = max(0, l.size-used) + turn
			used += others[k]
		}
	}
	return c
}

// sum computes the prices of the accounts from those of the constraints: a constraint's price applies from its slot until the
// window resets.
func (p *pricing) sum() {
	for i := range p.price {
		for class := range 2 {
			clear(p.price[i][class])
		}
	}
	for _, c := range p.limits {
		var at float64
		for k, price := range c.price {
			if c.first[k] {
				at = 0
			}
			at += price
			if c.window != claude.Fable {
				p.price[c.account][0][k] += at
			}
			p.price[c.account][1][k] += at
		}
	}
}

// value returns the bound that the current prices give.
func (p *pricing) value() float64 {
	p.sum()
	var total float64
	for _, c := range p.limits {
		for k, price := range c.price {
			total += price * c.room[k]
		}
	}
	for class := range 2 {
		for k, work := range p.work[class] {
			cheapest := 1.0
			for i := range p.price {
				cheapest = min(cheapest, p.price[i][class][k])
			}
			total += work * (1 - cheapest)
		}
	}
	return total
}
