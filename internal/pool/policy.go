package pool

import (
	"time"

	"shunt/internal/quota"
)

// Policy is what the operator configures for all accounts of a pool. The zero value is the behaviour without [server.pool].
type Policy struct {
	// Planned orders accounts by headroom and keeps those that are over the hard threshold behind the other near ones
	// (SEL-10, SEL-23). The settings below apply without it too.
	Planned bool
	// Hard is the utilization from which an account counts as exhausted, a fraction (SEL-7); 0 = [quota.DefaultHard].
	Hard float64
	// AvoidBurnRate makes an account count as near its quota when its pace would exhaust it early (SEL-22). The account
	// keeps the warm sessions that it serves (STR-5).
	AvoidBurnRate bool
	// ReturnWhenCold keeps a session that had to leave its home where it is until its prompt cache has expired (STR-6).
	ReturnWhenCold bool
	// CacheTTL is how long after a request the session's prompt stays in the account's cache; 0 = defaultCacheTTL.
	CacheTTL time.Duration
	// RampInitial is how many requests an identity may have in flight when its traffic starts (RMP-1); 0 = no limit.
	RampInitial int
}

func (p *Policy) hard() float64 {
	if p.Hard == 0 {
		return quota.DefaultHard
	}
	return p.Hard
}

// defaultCacheTTL is how long the provider keeps a prompt in its cache after its last use (STR-6).
const defaultCacheTTL = 5 * time.Minute

func (p *Policy) cacheTTL() time.Duration {
	if p.CacheTTL == 0 {
		return defaultCacheTTL
	}
	return p.CacheTTL
}
