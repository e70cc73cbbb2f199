package pool

import "shunt/internal/quota"

// Policy is how the operator wants accounts to be used, beyond what each [Account] says for itself. The zero value is
// the behaviour without [server.pool].
type Policy struct {
	// Planned orders accounts by headroom and keeps those that are over the hard threshold behind the other near ones
	// (SEL-10, SEL-23). The settings below mean something without it too.
	Planned bool
	// Hard is the utilization from which an account counts as exhausted, a fraction (SEL-7); 0 = [quota.DefaultHard].
	Hard float64
	// AvoidBurnRate makes an account count as near its quota when its pace would exhaust it early (SEL-22).
	AvoidBurnRate bool
	// RampInitial is how many requests at once an identity takes when it starts taking traffic (RMP-1); 0 = no limit.
	RampInitial int
}

func (p *Policy) hard() float64 {
	if p.Hard == 0 {
		return quota.DefaultHard
	}
	return p.Hard
}

// burns reports whether a headroom, in seconds, is near by itself (SEL-22).
func (p *Policy) burns(headroom float64) bool { return p.AvoidBurnRate && headroom < 0 }
