package upstream

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"shunt/internal/account"
	"shunt/internal/anthropic"
	"shunt/internal/clock"
	"shunt/internal/pool"
	"shunt/internal/secret"
)

// Pool is an upstream of several accounts of one provider.
type Pool struct {
	name      string
	base      *url.URL
	scheduler *pool.Pool
	accounts  map[string]*account.Account
	transport *Transport
	clock     clock.Clock
	log       *slog.Logger
}

// PoolOptions are what a [Pool] is made of.
type PoolOptions struct {
	Name      string
	Base      *url.URL
	Scheduler *pool.Pool
	Accounts  []*account.Account // whose credentials the scheduler's accounts of the same names use
	Transport *Transport
	Clock     clock.Clock
	Log       *slog.Logger
}

// NewPool returns an upstream of accounts.
func NewPool(o PoolOptions) *Pool {
	accounts := make(map[string]*account.Account, len(o.Accounts))
	for _, a := range o.Accounts {
		accounts[a.Name()] = a
	}
	return &Pool{o.Name, o.Base, o.Scheduler, accounts, o.Transport, o.Clock, o.Log}
}

// attempt is one account's turn at a request.
type attempt struct {
	pool.Candidate
	account   *account.Account
	token     secret.String
	sent      time.Time
	detour    bool // another account was throttled: this turn does not move the session
	resent    bool
	waited    bool // the resend came after a throttle's wait
	refreshed bool
	fresh     bool // dial anew
	throttle  *kept
	until     time.Time // the throttle's end
}

// mayRepeat decides whether the same account gets the same request once more (FO-0): one resend, and one with a renewed
// token. What follows a renewed token is never waited for or resent again (FO-4).
func (a *attempt) mayRepeat(after step) bool {
	switch after {
	case resendOnce, waitOrMove:
		return !a.resent && !a.refreshed
	case refreshFirst:
		return !a.refreshed && a.account.Refreshable()
	}
	return false
}

// emptyPool is the failure of a pool that has no account to try (ACC-5).
func (p *Pool) emptyPool() *Failure {
	message := fmt.Sprintf("provider '%s' has no account: put a credentials file into the account store as <name>.json, "+
		"or list accounts in the configuration; `shunt check` tells which file that is", p.name)
	if identities, _ := p.scheduler.Count(); identities > 0 {
		message = fmt.Sprintf("every account of provider '%s' is disabled: remove `disabled = true` from one in the "+
			"configuration; `shunt check` tells which file that is", p.name)
	}
	return &Failure{Status: http.StatusServiceUnavailable, Type: anthropic.TypeAPI, Message: message, Final: true}
}
