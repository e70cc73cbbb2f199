package upstream

import (
	"cmp"
	"net/http"

	"shunt/internal/account"
	"shunt/internal/dialect"
	"shunt/internal/family"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

// faultTries is how many accounts a request tries if it fails in a way that may be the service's fault or the request's
// (FO-0a), and how many may fail to connect to one host (FO-0b).
const faultTries = 2

// exchange is the handling of one request by a pool.
type exchange struct {
	*Pool
	w         http.ResponseWriter
	r         *Request
	model     string // for this upstream
	selection *pool.Selection
	scope     quota.Scope // of the model
	toolScope quota.Scope // that a tool of the request may use as well (SEL-4b)
	counting  bool        // it counts tokens: that says nothing about an account's health for messages (RTE-4)

	translation *translation // nil: the client speaks the dialect of the pool

	tried      int                // accounts
	faults     int                // of them, those whose failure may not be their own fault (FO-0a)
	missing    []string           // of them, those that the account store lacks (CFG-23)
	refused    []*account.Account // of them, those whose credential was rejected: a person has to log in again
	challenged bool               // the provider's front proxy responded in place of the provider
	best       *kept              // the most informative response so far (FO-8)

	// throttled is set after a throttle that is too long to wait out: this request takes a detour to another available account.
	// If there is none, the throttled account gets it again after its wait, unless that is longer than longestWait.
	throttled *attempt
}

// Serve tries accounts in the scheduler's order until one serves the request.
func (p *Pool) Serve(w http.ResponseWriter, r *Request) Outcome {
	x := &exchange{
		Pool: p, w: w, r: r, model: r.Model, scope: p.family.Scope(r.Model), toolScope: p.toolScope(&r.Scan), counting: r.CountsTokens,
	}
	var untranslatable *Failure
	if x.translation, untranslatable = r.translation(p.family, p.Accepts, r.Model); untranslatable != nil {
		return Outcome{Failure: untranslatable}
	}
	defer x.translation.release()
	x.selection = p.scheduler.Begin(pool.Criteria{Session: r.Session, Scope: x.scope, ToolScope: x.toolScope})
	defer x.selection.Release()
	for x.faults < faultTries && !x.hostDown() {
		a, ok := x.next()
		if !ok && x.throttled != nil {
			throttled := x.throttled
			if a, ok = x.afterThrottle(); !ok && !r.gone() {
				return x.relayKept(throttled, throttled.throttle)
			}
		}
		if r.gone() {
			return Outcome{}
		}
		if !ok {
			break
		}
		if done, outcome := x.try(a); done {
			return outcome
		}
	}
	return x.exhausted()
}

// toolScope returns the scope that a tool of the request may use, if any (SEL-4b).
func (p *Pool) toolScope(r *dialect.Request) quota.Scope {
	for _, model := range r.ToolModels {
		if scope := p.family.Scope(model); scope != "" {
			return scope
		}
	}
	return ""
}

// reason returns a class as logs name it.
func (x *exchange) reason(c family.Class) string { return c.In(cmp.Or(x.scope, x.toolScope)) }

// hostDown reports whether enough accounts have failed to connect to the base URL, in this pool or in an earlier one of the chain
// (FO-0b).
func (x *exchange) hostDown() bool { return x.r.hostDowns[x.baseText] >= faultTries }

// next returns an attempt with the next account.
func (x *exchange) next() (*attempt, bool) {
	for {
		var c pool.Candidate
		var ok bool
		if x.throttled != nil {
			c, ok = x.selection.NextAvailable()
		} else {
			c, ok = x.selection.Next(x.r.Client.Context())
		}
		if !ok {
			return nil, false
		}
		if a := x.attempt(c); a != nil {
			return a, true
		}
	}
}

// attempt returns an attempt with a candidate, or nil if the candidate is newer than this pool.
func (x *exchange) attempt(c pool.Candidate) *attempt {
	account, ok := x.accounts[c.Name]
	if !ok {
		return nil
	}
	return &attempt{Candidate: c, account: account, detour: x.throttled != nil}
}

// try sends the request to one account. It reports whether the request is done: the client has a response, or has left. If not,
// the account cools down, and another one may be tried.
func (x *exchange) try(a *attempt) (done bool, _ Outcome) {
	if a.token.IsZero() {
		x.tried++
		a.sent = x.clock.Now()
		token, err := a.account.Token(x.r.Client.Context())
		if x.r.gone() {
			return true, Outcome{}
		}
		if err != nil {
			x.giveUp(a, reply{class: x.unusable(a.account), cause: err.Error()})
			return false, Outcome{}
		}
		a.token = token
	}
	for {
		reply := x.sendOnce(a)
		if reply.done {
			return true, reply.Outcome
		}
		switch x.family.Rules[reply.class].Then {
		case family.ResendOnce:
			if a.mayRepeat(reply) {
				a.resent, a.fresh = true, true
				continue
			}
		case family.RefreshFirst:
			if a.mayRepeat(reply) && x.renew(a) {
				continue
			}
		case family.CutReasoning:
			if !a.mayRepeat(reply) || !x.hasReasoning() {
				return true, x.relayKept(a, reply.kept)
			}
			a.cut = true
			continue
		case family.WaitOrMove:
			if x.counting || a.refreshed { // FO-4
				break
			}
			if a.detour || a.waited {
				x.coolDown(a, reply)
				return true, x.relayKept(a, reply.kept)
			}
			x.throttle(a, reply.kept)
			if a.wait <= shortWait && a.mayRepeat(reply) && x.clock.Sleep(x.r.Client.Context(), a.until.Sub(x.clock.Now())) == nil {
				a.resent, a.waited = true, true
				continue
			}
			x.throttled = a
		}
		if x.r.gone() {
			return true, Outcome{}
		}
		x.giveUp(a, reply)
		return false, Outcome{}
	}
}

// renew replaces a token that was refused.
func (x *exchange) renew(a *attempt) bool {
	a.refreshed = true
	token, err := a.account.Renew(x.r.Client.Context(), a.token)
	if err != nil {
		return false
	}
	a.token = token
	return true
}
