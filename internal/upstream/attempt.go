package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"shunt/internal/anthropic"
	"shunt/internal/http1"
	"shunt/internal/observe"
	"shunt/internal/pool"
	"shunt/internal/relay"
)

const (
	defaultWait = time.Second      // of a throttle that does not say how long
	shortWait   = 5 * time.Second  // a throttle at most this long is waited out
	longestWait = 60 * time.Second // and one at most this long where no other account is available
	hostTries   = 2                // accounts that may fail to reach one host (FO-0b)
)

// exchange is one request's way through a pool.
type exchange struct {
	*Pool
	w         http.ResponseWriter
	r         *Request
	model     string // asked of this upstream
	selection *pool.Selection
	fable     bool
	tried     int      // accounts
	missing   []string // those of them that the account store has not (CFG-23)
	loginless int      // accounts that only a person can bring back
	last      *kept    // the last real response (FO-8)

	// A throttle too long to wait out sends this one request on a detour to another available account. Where there is
	// none, the throttled account gets it again, if its wait is bearable.
	detour    bool
	throttled *attempt
}

// Serve tries accounts in the scheduler's order until one answers.
func (p *Pool) Serve(w http.ResponseWriter, r *Request) Outcome {
	x := &exchange{Pool: p, w: w, r: r, model: r.Model, fable: IsFable(r.Model)}
	x.selection = p.scheduler.Begin(pool.Request{Session: r.Session, Fable: x.fable})
	defer x.selection.Release()
	for !x.hostDown() {
		a, ok := x.next()
		if !ok && x.throttled != nil {
			a, ok = x.throttled, true
			x.throttled = nil
			if x.r.next || !x.waitFor(a) {
				return x.relayKept(a, a.throttle)
			}
			x.selection.Resume(a.Candidate)
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

// hostDown reports whether no further account is worth a try, since the host is down: that was found out here, or by an
// upstream of the same base URL that was asked before.
func (x *exchange) hostDown() bool { return x.r.hostDowns[x.baseText] >= hostTries }

// next is the account whose turn it is. One that came to the scheduler after this pool was made is passed over.
func (x *exchange) next() (*attempt, bool) {
	pick := func() (pool.Candidate, bool) { return x.selection.Next(x.r.Client.Context()) }
	if x.throttled != nil {
		pick = x.selection.NextAvailable
	}
	for {
		c, ok := pick()
		if !ok {
			return nil, false
		}
		if account, ok := x.accounts[c.Name]; ok {
			return &attempt{Candidate: c, account: account, detour: x.detour}, true
		}
	}
}

// try gives an account its turn: the request is answered, or the account is given up and rests. Answered includes that
// there is nobody to answer any more.
func (x *exchange) try(a *attempt) (answered bool, _ Outcome) {
	if a.token.IsZero() {
		x.tried++
		a.sent = x.clock.Now()
		token, err := a.account.Token(x.r.Client.Context())
		if x.r.gone() {
			return true, Outcome{}
		}
		if err != nil {
			if a.account.Missing() {
				x.missing = append(x.missing, a.Name)
			}
			x.giveUp(a, reply{class: unresolved, cause: err.Error()})
			return false, Outcome{}
		}
		a.token = token
	}
	for {
		reply := x.ask(a)
		if reply.answered {
			return true, reply.Outcome
		}
		switch step := claudeRules[reply.class].then; step {
		case resendOnce:
			if a.mayRepeat(step) {
				a.resent, a.fresh = true, true
				continue
			}
		case refreshFirst:
			if a.mayRepeat(step) && x.renew(a) {
				continue
			}
		case waitOrMove:
			a.throttle = reply.kept
			a.until = x.clock.Now().Add(throttleWait(reply.kept.header, x.clock.Now()))
			switch {
			case a.refreshed:
			case a.detour || a.waited:
				x.rest(a, reply.class, reply.kept)
				return true, x.relayKept(a, reply.kept)
			case a.until.Sub(x.clock.Now()) <= shortWait && x.waitFor(a):
				continue
			default:
				x.detour, x.throttled = true, a
			}
		}
		if x.r.gone() {
			return true, Outcome{}
		}
		x.giveUp(a, reply)
		return false, Outcome{}
	}
}

func throttleWait(h http.Header, now time.Time) time.Duration {
	if after, ok := anthropic.RetryAfter(h, now); ok {
		return after
	}
	return defaultWait
}

// waitFor waits until a throttled account may be asked again, and reports whether to ask it (FO-6).
func (x *exchange) waitFor(a *attempt) bool {
	wait := a.until.Sub(x.clock.Now())
	if wait > longestWait || !a.mayRepeat(waitOrMove) || x.clock.Sleep(x.r.Client.Context(), wait) != nil {
		return false
	}
	a.resent, a.waited = true, true
	return true
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

// reply is what one call of an upstream led to: an answer for the client, or a class and what came with it.
type reply struct {
	answered bool
	Outcome
	class class
	kept  *kept  // nil when no response came
	cause string // why none did
}

// ask calls the upstream once.
func (x *exchange) ask(a *attempt) reply {
	set := make([]field, 0, 2)
	if beta, changed := betas(x.r.Client.Header, oauthBeta); changed {
		set = append(set, beta)
	}
	if x.r.Scan.Stream || x.r.restore() != "" {
		set = append(set, plainAnswer)
	}
	a.sent = x.clock.Now()
	x.r.call(a.Name)
	response, err := x.send(x.r, call{credential: Bearer(a.token), set: set, edits: x.r.edits(a.account.UUID()), fresh: a.fresh})
	x.r.heard(response, err)
	switch {
	case x.r.gone():
		if response != nil {
			response.Body.Close()
		}
		x.r.Record.Account, x.r.Record.Why = a.Name, string(a.Why)
		return reply{answered: true}
	case errors.Is(err, http1.ErrPatience):
		x.r.Record.Account, x.r.Record.Why = a.Name, string(a.Why)
		return reply{answered: true, Outcome: Outcome{Failure: noHeadersInTime}}
	case errors.Is(err, http1.ErrNoConnection):
		return reply{class: hostDown, cause: cause(err)}
	case errors.Is(err, http1.ErrAnswer):
		return reply{class: unreadable, cause: cause(err)}
	case err != nil:
		return reply{class: unreachable, cause: cause(err)}
	}

	limits := anthropic.ParseRateLimit(response.Header)
	x.scheduler.Observe(a.Key, pool.Outcome{Sent: a.sent, Fable: x.fable, Signal: signal(limits)})
	class := classify(response.Status, limits, x.fable)
	if response.Status == http.StatusForbidden && refusesCredential(decoded(response.Header, peek(response))) {
		class = credentialRefused
	}
	relays := claudeRules[class].then == relayIt
	final := !x.r.chained || tellingOf(response.Status) == stops
	x.r.meant(class, relays && final)
	if !relays {
		return reply{class: class, kept: keep(response)}
	}
	if !final {
		return reply{answered: true, Outcome: x.relayKept(a, keep(response))}
	}
	return x.relay(a, class, response)
}

// relay sends a response to the client, unless it is a stream that begins with a refusal (FO-11).
func (x *exchange) relay(a *attempt, class class, response *http1.Response) reply {
	answer := relay.Answer{Status: response.Status, Header: response.Header, Body: response.Body, Length: response.Length}
	result := relay.Relay(x.w, answer, relay.Options{
		KeepAlive: x.r.Times.KeepAlive,
		Idle:      x.r.Times.Idle,
		Hold:      true,
		Model:     x.r.restore(),
		Commit: func(h http.Header) {
			x.writeHeader(h, response.Header, a)
			if class == success {
				x.succeed(a)
			} else {
				x.selection.Release() // RMP-3
			}
			x.r.Release()
		},
	})
	if result.Refusal != "" {
		class, status := classifyRefusal(result.Refusal)
		x.r.meant(class, false)
		return reply{class: class, kept: keepRefused(response, result.Head, status)}
	}
	response.Body.Close()
	x.r.record(response.Status, result)
	return reply{answered: true, Outcome: Outcome{Broken: result.Broken}}
}

func (x *exchange) writeHeader(h, upstream http.Header, a *attempt) {
	copyResponseHeader(h, upstream)
	writeGatewayHeaders(h, x.name, x.r.Scan.Model, x.model)
	if a != nil {
		if isPrintable(a.Name) {
			h[headerAccount] = []string{a.Name}
		}
		x.r.Record.Account, x.r.Record.Why = a.Name, string(a.Why)
	}
}

// succeed notes that an account serves, when the head of its answer goes to the client.
func (x *exchange) succeed(a *attempt) {
	a.account.Confirm(a.token)
	x.scheduler.Observe(a.Key, pool.Outcome{Sent: a.sent, Fable: x.fable, Event: claudeRules[success].event})
	if move, moved := x.selection.Served(a.Candidate, a.detour); moved {
		x.r.Record.Move = &observe.Move{From: move.From, To: move.To, Reason: string(move.Reason)}
		x.log.Info("session moved", "provider", x.name, "session", x.r.Session.String(), "from", move.From, "to", move.To, "reason", move.Reason)
	}
	if x.selection.Moved() && losesThinking(x.r) && x.selection.WarnMoved() {
		x.log.Warn("this session has moved between accounts: the model answers without its earlier reasoning",
			"provider", x.name, "session", x.r.Session.String(), "account", a.Name, "model", x.r.Model)
	}
}

// giveUp ends an account's turn without an answer.
func (x *exchange) giveUp(a *attempt, r reply) {
	x.rest(a, r.class, r.kept)
	if r.kept != nil {
		x.last = r.kept
	}
	switch r.class {
	case hostDown:
		x.r.hostDown(x.baseText)
	case credentialRefused:
		a.account.MarkNeedsLogin(a.token, "the provider refuses the credential (403)")
	case unresolved:
		if _, needed := a.account.NeedsLogin(); needed {
			x.loginless++
		}
	}
	x.r.Record.Rotations = append(x.r.Record.Rotations, observe.Rotation{
		Provider: x.name, From: a.Name, Reason: r.class.String(), Error: r.cause,
	})
}

// rest cools an account as its class says.
func (x *exchange) rest(a *attempt, class class, k *kept) {
	rule := claudeRules[class]
	outcome := pool.Outcome{Sent: a.sent, Fable: x.fable, Event: rule.event}
	var h http.Header
	if k != nil {
		h = k.header
	}
	if class == rejected || class == fableRejected {
		outcome.Signal = signal(anthropic.ParseRateLimit(h)) // names the windows; it was recorded when it came
	}
	outcome.Cooldown = rule.rest.of(h, x.clock.Now())
	x.scheduler.Observe(a.Key, outcome)
}

// relayKept ends with a response that was kept; a is the account it is shown to come from, or nil.
func (x *exchange) relayKept(a *attempt, k *kept) Outcome {
	x.selection.Release() // RMP-3
	return x.r.end(x.w, &held{k, func(h http.Header) { x.writeHeader(h, k.header, a) }})
}

// exhausted answers when no account is left to try: with the last real response, else with a failure of our own (FO-8).
func (x *exchange) exhausted() Outcome {
	switch {
	case x.last != nil:
		return x.relayKept(nil, x.last)
	case x.hostDown():
		return Outcome{Failure: &Failure{
			Status: http.StatusBadGateway, Type: anthropic.TypeAPI,
			Message: fmt.Sprintf("provider '%s' cannot be reached (%d accounts tried): check the network and the provider's base_url", x.name, x.tried),
			telling: unheard,
		}}
	case x.tried == len(x.missing):
		return Outcome{Failure: x.emptyPool(x.selection.Verdict(), x.missing)}
	case x.loginless == x.tried-len(x.missing):
		return Outcome{Failure: &Failure{
			Status: http.StatusBadGateway, Type: anthropic.TypeAPI, Final: true, telling: unheard,
			Message: fmt.Sprintf("every account of provider '%s' needs a new login (%d tried): `shunt login claude --name NAME`", x.name, x.tried),
		}}
	}
	return Outcome{Failure: &Failure{
		Status: http.StatusBadGateway, Type: anthropic.TypeAPI,
		Message: fmt.Sprintf("no account of provider '%s' could answer (%d tried): the log of shunt says why", x.name, x.tried),
		telling: unheard,
	}}
}
