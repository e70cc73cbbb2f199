package upstream

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"shunt/internal/account"
	"shunt/internal/dialect"
	"shunt/internal/family"
	"shunt/internal/http1"
	"shunt/internal/observe"
	"shunt/internal/pool"
	"shunt/internal/relay"
	"shunt/internal/secret"
)

// attempt is the use of one account for a request.
type attempt struct {
	pool.Candidate
	account   *account.Account
	token     secret.String
	sent      time.Time
	detour    bool // another account was throttled: this attempt does not move the session
	resent    bool
	waited    bool // the resend came after a throttle's wait
	refreshed bool
	fresh     bool // on a new connection
	dropped   observe.Dropped
	cut       bool // without the reasoning of earlier turns (GPT-10b)
	throttle  *kept
	wait      time.Duration // the throttle's retry-after
	until     time.Time     // the end of that wait, with jitter
}

// soonAfter is how soon after a request was sent a connection fails if the upstream has hardly begun to work on it.
const soonAfter = time.Second

// mayRepeat reports whether the request may be sent to the same account once more. There is one resend, and one with a
// refreshed token (FO-0); after a refresh, the attempt neither waits nor resends again (FO-4). After a failed connection, a resend is
// allowed only if the upstream is unlikely to be working on the request: no part of a response arrived, and the connection
// was reused, the request was not fully sent, or the failure came at once (FO-0a).
func (a *attempt) mayRepeat(r reply) bool {
	once := !a.resent && !a.refreshed
	switch r.class {
	case family.HostDown, family.Throttled:
		return once
	case family.Unreachable:
		return once && mayResend(r.failure)
	case family.ForeignReasoning:
		return !a.cut
	case family.Unauthorized:
		return !a.refreshed && a.account.Refreshable()
	}
	return false
}

func mayResend(f *http1.SendError) bool {
	return !f.Received && (f.Reused || !f.Sent || f.After <= soonAfter)
}

// reply is the result of one request to an upstream: either the request is done, with an Outcome, or the response has a class
// and the client has received nothing.
type reply struct {
	done bool
	Outcome
	class   family.Class
	details family.Details
	kept    *kept            // nil: there was no response
	failure *http1.SendError // of class unreachable
	cause   string           // why there was no response
}

// call returns the request of an attempt, and where it goes.
func (x *exchange) call(a *attempt) (c call, to destination, _ *Failure) {
	if x.translation == nil {
		c = x.r.passing(x.family, x.edits(a))
	} else {
		origin := originOf(x.family, a.Key)
		if a.cut {
			origin = dialect.Origin{}
		}
		if f := x.translation.encode(origin); f != nil {
			return c, to, f
		}
		a.dropped.Reasoning = x.translation.encoded.Dropped
		c = x.translation.call(x.Agent)
	}
	c.set = x.appendItems(c.set, c.header)
	c.set = x.appendAccount(c.set, a)
	to = x.routeOf(x.r.Client.Context(), a.account, a.token)
	c.set = to.appendOverride(c.set, x.family)
	if x.r.Scan.Stream || x.translation != nil || x.r.restore() != "" {
		c.set = append(c.set, identityEncoding)
	}
	c.set, c.credential, c.fresh = withStatic(c.set, x.Headers), Bearer(a.token), a.fresh
	return c, to, nil
}

// sendOnce sends the request to the upstream once.
func (x *exchange) sendOnce(a *attempt) reply {
	c, to, f := x.call(a)
	if f != nil {
		return reply{done: true, Outcome: Outcome{Failure: f}}
	}
	a.sent = x.clock.Now()
	x.r.noteSent(a.Name)
	if x.translation != nil || x.r.Times.CommitNative {
		x.r.mayBegin()
	}
	response, err := to.send(x.r, c)
	x.r.noteResponse(response, err)
	switch {
	case x.r.gone():
		if response != nil {
			response.Body.Close()
		}
		x.r.Record.Account, x.r.Record.Why = a.Name, string(a.Why)
		return reply{done: true}
	case errors.Is(err, http1.ErrTimeout):
		x.r.Record.Account, x.r.Record.Why = a.Name, string(a.Why)
		return reply{done: true, Outcome: Outcome{Failure: noHeadersInTime}}
	case err != nil:
		class, failure := classifyError(err)
		return reply{class: class, failure: failure, cause: cause(err)}
	}

	signal := x.family.ReadQuota(response.Header)
	if !x.counting {
		x.scheduler.Observe(a.Key, pool.Outcome{Sent: a.sent, Scope: x.scope, Signal: signal})
	}
	facts := family.Response{
		Status: response.Status, Header: response.Header, Quota: signal, Scope: cmp.Or(x.scope, x.toolScope), Now: x.clock.Now(),
	}
	if response.Status >= http.StatusMultipleChoices {
		facts.Body = func() []byte { return decoded(response.Header, peek(response)) }
	}
	verdict := x.family.Classify(facts)
	class := verdict.Class
	relays := x.family.Rules[class].Then == family.Relay
	final := !x.r.chained || severityOf(response.Status) == final
	x.r.noteClass(x.reason(class), relays && final)
	if !relays {
		return reply{class: class, details: verdict.Details, kept: keep(x.family, response)}
	}
	switch {
	case !final || response.Status >= http.StatusMultipleChoices && !x.r.passes(x.translation):
		return reply{done: true, Outcome: x.relayKept(a, keep(x.family, response))}
	case x.translation != nil:
		return x.translate(a, facts, response)
	}
	return x.relay(a, facts, response)
}

// relay sends a response to the client unless it is a stream that begins with a refusal (FO-11).
func (x *exchange) relay(a *attempt, facts family.Response, response *http1.Response) reply {
	success := facts.Status < http.StatusMultipleChoices
	body := relay.Response{Status: response.Status, Header: response.Header, Body: response.Body, Length: response.Length}
	result := relay.Relay(x.w, body, relay.Options{
		Dialect:   x.r.Dialect,
		KeepAlive: x.r.Times.KeepAlive,
		Idle:      x.r.Times.Idle,
		Hold:      true,
		Model:     x.r.restore(),
		Tap:       x.tap(a),
		Client:    x.r.client,
		Commit: func(h http.Header) {
			x.writeHeader(h, response.Header, a)
			if success {
				x.succeed(a)
			} else {
				x.selection.Release() // RMP-3
			}
			x.r.Release()
		},
	})
	if result.Refusal != nil {
		return x.failedEarly(facts, response, result)
	}
	response.Body.Close()
	x.r.record(response.Status, result)
	return reply{done: true, Outcome: Outcome{Aborted: result.Aborted}}
}

// failedEarly returns the reply of a response that failed before its content (FO-11, FAM-7).
func (x *exchange) failedEarly(facts family.Response, response *http1.Response, result relay.Result) reply {
	facts.Failure, facts.Now = result.Refusal, x.clock.Now()
	verdict, status := x.family.ClassifyEvent(facts)
	x.r.noteClass(x.reason(verdict.Class), false)
	k := keepRefused(x.family, response, result.Head, status)
	k.failure = result.Refusal
	return reply{class: verdict.Class, details: verdict.Details, kept: k}
}

// succeed records that an account serves the request, when the head of its response is sent to the client. A count of tokens
// says nothing about messages (RTE-4).
func (x *exchange) succeed(a *attempt) {
	a.account.Confirm(a.token)
	if x.counting {
		return
	}
	x.selection.Observe(a.Candidate, pool.Outcome{Sent: a.sent, Scope: x.scope, Event: x.family.Rules[family.Success].Event})
	if move, moved := x.selection.Served(a.Candidate, a.detour); moved {
		x.r.Record.Move = &observe.Move{From: move.From, To: move.To, Reason: string(move.Reason)}
		x.log.Info("session moved", "provider", x.name, "session", x.r.Session.String(), "from", move.From, "to", move.To, "reason", move.Reason)
	}
	if x.selection.Moved() && (a.dropped.Reasoning > 0 || x.losesReasoning()) && x.selection.WarnMoved() {
		x.log.Warn("this session has moved between accounts: the model responds without its earlier reasoning",
			"provider", x.name, "session", x.r.Session.String(), "account", a.Name, "model", x.r.Model)
	}
}

// writeHeader sets the headers of a response; a is the account that it names, or nil.
func (x *exchange) writeHeader(h, upstream http.Header, a *attempt) {
	if x.translation == nil {
		x.r.copyResponseHeader(h, upstream, x.family)
	}
	writeGatewayHeaders(h, x.name, x.r.Scan.Model, x.model)
	if a != nil {
		x.rememberSticky(upstream, a)
		x.r.Record.Dropped = a.dropped
		if isPrintable(a.Name) {
			h[headerAccount] = []string{a.Name}
		}
		x.r.Record.Account, x.r.Record.Why = a.Name, string(a.Why)
	}
}

// relayKept ends the request with a response that was kept; a is the account that it names, or nil.
func (x *exchange) relayKept(a *attempt, k *kept) Outcome {
	x.selection.Release() // RMP-3
	return x.r.end(x.w, x.hold(k, func(h http.Header) { x.writeHeader(h, k.header, a) }))
}
