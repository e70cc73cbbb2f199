package simulate

import (
	"math"

	"shunt/internal/family/claude"
)

// steps is the number of steps of the descent. It comes within a few thousandths of the optimum that a linear program solver
// finds.
const steps = 300

// descend takes one step towards better prices, and returns the value of those before it. Every account gets some
// of an hour's turns, more the cheaper it is, and some are not bought at all: if only the cheapest got them, the prices would
// oscillate.
func (p *pricing) descend(step int) float64 {
	value := p.value()
	done := float64(step) / steps
	heat, rate := 0.05*math.Pow(0.02, done), 0.3*math.Pow(0.01, done)
	for class := range 2 {
		for k, work := range p.work[class] {
			if work == 0 {
				continue
			}
			cheapest := 1.0
			for i := range p.price {
				cheapest = min(cheapest, p.price[i][class][k])
			}
			all := math.Exp((cheapest - 1) / heat)
			for i := range p.price {
				share := math.Exp((cheapest - p.price[i][class][k]) / heat)
				p.bought[i][class][k] = share
				all += share
			}
			for i := range p.price {
				p.bought[i][class][k] *= work / all
			}
		}
	}
	mean, spread := 1-math.Pow(keepMean, float64(step+1)), 1-math.Pow(keepSpread, float64(step+1))
	for _, c := range p.limits {
		c.descend(p.bought[c.account], rate/mean, 1/spread)
	}
	return value
}

// How slowly the descent forgets past slopes and their squares.
const keepMean, keepSpread = 0.9, 0.99

// descend raises the prices where more is bought than there is room for, and lowers the others (Adam, with prices that cannot
// become negative).
func (c *priced) descend(bought [2][]float64, rate, scale float64) {
	fromHere := 0.0
	for k := len(c.price) - 1; k >= 0; k-- {
		fromHere += bought[1][k]
		if c.window != claude.Fable {
			fromHere += bought[0][k]
		}
		if c.binds[k] {
			slope := c.room[k] - fromHere
			c.mean[k] = keepMean*c.mean[k] + (1-keepMean)*slope
			c.spread[k] = keepSpread*c.spread[k] + (1-keepSpread)*slope*slope
			c.price[k] = max(0, c.price[k]-rate*c.mean[k]/(math.Sqrt(scale*c.spread[k])+1))
		}
		if c.first[k] {
			fromHere = 0
		}
	}
}
