package upstream

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"shunt/internal/account"
	"shunt/internal/clock"
	"shunt/internal/dialect"
	"shunt/internal/family"
	"shunt/internal/pool"
)

// Pool is an upstream with several accounts of one provider.
type Pool struct {
	endpoint
	RequestOptions
	name      string
	family    *family.Family
	scheduler *pool.Roster
	accounts  map[string]*account.Account
	transport *Transport
	clock     clock.Clock
	log       *slog.Logger
}

// PoolOptions are the parts of a [Pool].
type PoolOptions struct {
	Name      string
	Family    *family.Family // of the accounts
	Base      *url.URL
	Requests  RequestOptions
	Scheduler *pool.Roster
	Accounts  []*account.Account // the credentials of the scheduler's accounts, by name
	Transport *Transport
	Clock     clock.Clock
	Log       *slog.Logger
}

// NewPool returns an upstream that uses the accounts.
func NewPool(o PoolOptions) *Pool {
	accounts := make(map[string]*account.Account, len(o.Accounts))
	for _, a := range o.Accounts {
		accounts[a.Name()] = a
	}
	return &Pool{
		endpoint: o.Transport.endpoint(o.Base), RequestOptions: o.Requests, name: o.Name, family: o.Family, scheduler: o.Scheduler,
		accounts: accounts, transport: o.Transport, clock: o.Clock, log: o.Log,
	}
}

// HasAccounts implements [Upstream].
func (*Pool) HasAccounts() bool { return true }

// Dialect implements [Upstream].
func (p *Pool) Dialect() dialect.Outbound { return p.family.Dialect }

// PassesTo implements [Upstream]: a pool has its own credentials.
func (*Pool) PassesTo() (origin string, ok bool) { return "", false }

// emptyPool returns the failure of a pool that has no account to try: all are at their caps (CAP-4), paused or disabled, or
// there is none (ACC-5). Missing are the accounts that the account store lacks (CFG-23).
func (p *Pool) emptyPool(v pool.Verdict, missing []string) *Failure {
	if v.Capped > 0 {
		return p.capped(v.Eligible)
	}
	var message string
	switch {
	case len(missing) > 0:
		slices.Sort(missing)
		message = fmt.Sprintf("provider '%s' has no account: the account store has no %s; `shunt login %s "+
			"--name %s` adds it, and it is used within a second",
			p.name, strings.Join(missing, ", "), p.family.StoreName(), missing[0])
	case v.Disabled == 0 && v.Paused == 0:
		message = fmt.Sprintf("provider '%s' has no account: `shunt login %s --name NAME` adds one to the account "+
			"store, where it is used within a second", p.name, p.family.StoreName())
	case v.Paused == 0:
		message = fmt.Sprintf("every account of provider '%s' is disabled: remove `disabled = true` from one in the "+
			"configuration; the change takes effect at once", p.name)
	case v.Disabled == 0:
		message = fmt.Sprintf("every account of provider '%s' is paused: resume one with `shunt accounts resume`", p.name)
	default:
		message = fmt.Sprintf("every account of provider '%s' is paused or disabled: resume one with `shunt accounts resume`, "+
			"or remove `disabled = true` from one in the configuration", p.name)
	}
	return &Failure{Status: http.StatusServiceUnavailable, Kind: dialect.NoAccount, Message: message, Final: true, severity: emptyPool, reason: "no_account"}
}

// shownAtOnce is the longest wait for which a client may retry: in a longer one it would hang instead of showing the error.
const shownAtOnce = 60 * time.Second

// capped returns the failure of a pool whose accounts are all at their caps, until the first is below its cap again.
func (p *Pool) capped(eligible time.Time) *Failure {
	wait := max(eligible.Sub(p.clock.Now()), time.Second)
	return &Failure{
		Status: http.StatusTooManyRequests, Kind: dialect.QuotaExhausted,
		Message: fmt.Sprintf("all selectable accounts for provider '%s' are at their max_utilization cap for this request, the first is back in %s",
			p.name, inWords(wait)),
		RetryAfter: wait, Resets: p.clock.Now().Add(wait), Final: wait > shownAtOnce, severity: rateLimited, reason: "capped",
	}
}
