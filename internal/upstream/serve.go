package upstream

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"time"

	"shunt/internal/account"
	"shunt/internal/dialect"
	"shunt/internal/family"
	"shunt/internal/observe"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/wire"
)

const (
	defaultWait = time.Second      // of a throttle that does not say how long
	shortWait   = 5 * time.Second  // a throttle at most this long is waited out
	longestWait = 60 * time.Second // and one at most this long where no other account is available

	// faultTries is how many accounts a request tries while it fails in a way that may be the service's fault or its own
	// (FO-0a), and how many may fail to connect to one host (FO-0b).
	faultTries = 2
)

// exchange is one request's way through a pool.
type exchange struct {
	*Pool
	w         http.ResponseWriter
	r         *Request
	model     string // for this upstream
	selection *pool.Selection
	scope     quota.Scope // of the model
	toolScope quota.Scope // that a tool of the request may use as well (SEL-4b)
	counting  bool        // it counts tokens: that says nothing about an account's health for messages (RTE-4)

	tried      int                // accounts
	faults     int                // those of them whose failure may not be their own fault (FO-0a)
	missing    []string           // those that the account store does not have (CFG-23)
	refused    []*account.Account // those whose credential was rejected: only a person can bring them back
	challenged bool               // the provider's front proxy responded in its place
	best       *kept              // the most informative response so far (FO-8)

	// A throttle too long to wait out sends this one request on a detour to another available account. Where there is
	// none, the throttled account gets it again, if its wait is bearable.
	throttled *attempt
}

// Serve tries accounts in the scheduler's order until one answers.
func (p *Pool) Serve(w http.ResponseWriter, r *Request) Outcome {
	x := &exchange{
		Pool: p, w: w, r: r, model: r.Model, scope: p.family.ScopeOf(r.Model), toolScope: p.toolScope(&r.Scan), counting: r.CountsTokens,
	}
	x.selection = p.scheduler.Begin(pool.Request{Session: r.Session, Fable: x.scope != "", Advisor: x.toolScope != ""})
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
		if answered, outcome := x.try(a); answered {
			return outcome
		}
	}
	return x.exhausted()
}

// toolScope returns the scope that a tool of the request may use, if any (SEL-4b).
func (p *Pool) toolScope(r *dialect.Request) quota.Scope {
	for _, model := range r.ToolModels {
		if scope := p.family.ScopeOf(model); scope != "" {
			return scope
		}
	}
	return ""
}

// reason returns a class as logs name it.
func (x *exchange) reason(c family.Class) string { return c.In(cmp.Or(x.scope, x.toolScope)) }

// hostDown reports whether enough accounts have failed to connect to the base URL, in this pool or in one that the chain tried
// before (FO-0b).
func (x *exchange) hostDown() bool { return x.r.hostDowns[x.baseText] >= faultTries }

// next returns the account whose turn it is.
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

// attempt returns an attempt at a candidate; nil for one that the scheduler got after this pool was made.
func (x *exchange) attempt(c pool.Candidate) *attempt {
	account, ok := x.accounts[c.Name]
	if !ok {
		return nil
	}
	return &attempt{Candidate: c, account: account, detour: x.throttled != nil}
}

// afterThrottle waits until the request may be resent to the throttled account, or another one is available (FO-6). It
// reports false if the request must not wait: the chain continues, the wait is too long, or the account has had its resend.
func (x *exchange) afterThrottle() (*attempt, bool) {
	a := x.throttled
	if x.r.next || a.wait > longestWait || !a.mayRepeat(reply{class: family.Throttled}) {
		return nil, false
	}
	for {
		c, ok := x.selection.Wait(x.r.Client.Context(), a.until)
		if !ok {
			break
		}
		if other := x.attempt(c); other != nil {
			return other, true
		}
	}
	if x.r.gone() {
		return nil, false
	}
	x.throttled = nil
	x.selection.Resume(a.Candidate)
	a.resent, a.waited = true, true
	return a, true
}

// try sends the request to one account. It reports whether the request is over: the client has a response, or is gone. If it
// is not, the account cools down, and another one may be tried.
func (x *exchange) try(a *attempt) (answered bool, _ Outcome) {
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
		reply := x.ask(a)
		if reply.answered {
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
		case family.WaitOrMove:
			if x.counting || a.refreshed { // FO-4
				break
			}
			if a.detour || a.waited {
				x.cool(a, reply)
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

// unusable returns the class of an account without a usable credential.
func (x *exchange) unusable(a *account.Account) family.Class {
	if a.Missing() {
		x.missing = append(x.missing, a.Name())
	}
	if _, needed := a.NeedsLogin(); needed {
		return family.LoginNeeded
	}
	return family.Unresolved
}

// throttle records a plain 429 and how long to wait before a resend: up to a fifth longer than it says, so that clients do not
// all come back at once (FO-6).
func (x *exchange) throttle(a *attempt, k *kept) {
	now := x.clock.Now()
	a.throttle, a.wait = k, defaultWait
	if after, ok := wire.RetryAfter(k.header, now); ok {
		a.wait = after
	}
	a.until = now.Add(a.wait + rand.N(a.wait/5+1))
}

// renew gets a new token in place of one that was refused.
func (x *exchange) renew(a *attempt) bool {
	a.refreshed = true
	token, err := a.account.Renew(x.r.Client.Context(), a.token)
	if err != nil {
		return false
	}
	a.token = token
	return true
}

// giveUp ends an account's turn without a response for the client.
func (x *exchange) giveUp(a *attempt, r reply) {
	x.cool(a, r)
	x.collect(r.class, r.kept)
	if x.family.Rules[r.class].Fault {
		x.faults++
	}
	switch r.class {
	case family.HostDown:
		x.r.hostDown(x.baseText)
	case family.Challenged:
		x.challenged = true
	case family.CredentialRefused:
		a.account.MarkNeedsLogin(a.token, "the provider rejects the credential (403)")
		x.refused = append(x.refused, a.account)
	case family.Unauthorized, family.LoginNeeded:
		x.refused = append(x.refused, a.account)
	}
	x.r.Record.Rotations = append(x.r.Record.Rotations, observe.Rotation{
		Provider: x.name, From: a.Name, Reason: x.reason(r.class), Error: r.cause,
	})
}

// cool cools an account down according to the class of its reply.
func (x *exchange) cool(a *attempt, r reply) {
	rule := x.family.Rules[r.class]
	if rule.Event == pool.None || x.counting && rule.Messages {
		return
	}
	outcome := pool.Outcome{Sent: a.sent, Fable: x.scope != "", Event: rule.Event}
	var h http.Header
	if r.kept != nil {
		h = r.kept.header
	}
	if r.class.IsQuota() {
		outcome.Signal = x.family.Quota(h) // names the windows; it was recorded when it came
	}
	outcome.Cooldown = rule.Cooldown.For(h, x.clock.Now())
	x.selection.Observe(a.Candidate, outcome)
}
