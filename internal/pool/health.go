package pool

import (
	"time"

	"shunt/internal/identity"
	"shunt/internal/quota"
)

// Health is the live state of one identity: its quota, its cooldowns and its counters. It is a plain value. Make one with
// [NewHealth]: the zero value has no quota windows.
type Health struct {
	Quota     quota.State
	Requests  uint64    // how often it was chosen
	Rotations uint64    // how often a request continued with another account
	LastUsed  time.Time // when it was last chosen; zero = never
	Paused    bool      // by the operator, until resumed (PAU-1)

	overPaced quota.Set // the windows that its pace would exhaust early, as of the latest reading (STR-5)

	ramp      ramp
	cooldowns [cooldownKinds]cooldown

	fault     Event     // a doubtful one, if the last request with an outcome ended with it (FO-0c)
	succeeded time.Time // when the latest request that succeeded was sent; zero = none

	credentialSince time.Time // when it was last replaced; zero = not yet
	refused         time.Time // when the provider rejected the current credential (SEL-8b); zero = it did not
	cleared         time.Time // when an operator last cleared it (FO-13); zero = never
}

// NewHealth returns the health of an identity about which nothing is known, of the family that has the table.
func NewHealth(t *quota.Table) Health { return Health{Quota: quota.NewState(t)} }

// Event is the result of one attempt for the account.
type Event uint8

// The events. All but None and Success set a cooldown of that cause.
const (
	None            Event = iota // nothing beyond the headers' readings
	Success                      // a 2xx
	Rejected                     // out of quota, for every model
	ScopeRejected                // out of quota for the models of one scope only
	Throttled                    // a plain 429
	NotIncluded                  // the account's plan does not include the service
	PaymentRequired              // a 402
	Unauthorized                 // a 401
	Forbidden                    // a 403 that refuses the credential
	Overloaded                   // a 529
	ServerError                  // any other 5xx
	Transport                    // no response
	HostDown                     // dial or TLS failure
	Unresolved                   // no usable credential
	LoginNeeded                  // no usable credential until a person logs in
)

// String returns the event's name in logs and snapshots; empty for None.
func (e Event) String() string {
	return [...]string{
		"", "success", "rejected", "scope_rejected", "throttled", "not_included", "payment_required", "unauthorized", "forbidden", "overloaded",
		"server_error", "transport", "host_down", "unresolved", "login_needed",
	}[e]
}

// isFault reports whether the service is at fault and not the account or its quota.
func (e Event) isFault() bool {
	return e == ServerError || e == Transport || e == Overloaded || e == HostDown
}

// isDoubtful reports whether one such failure may be the fault of its request (FO-0c).
func (e Event) isDoubtful() bool { return e == ServerError || e == Transport }

// refusesCredential reports whether the account cannot serve until its credential changes (SEL-8b). A 401 alone does not mean
// that: the provider's own check may be at fault, unless another account serves the same request.
func (e Event) refusesCredential() bool { return e == Forbidden || e == LoginNeeded }

func (e Event) kind() cooldownKind {
	switch e {
	case Rejected, ScopeRejected:
		return ofQuota
	case Unauthorized, Forbidden, Unresolved, LoginNeeded:
		return ofCredential
	default:
		return ofTrouble
	}
}

// Outcome is the result of one attempt.
type Outcome struct {
	Sent   time.Time    // when the request was sent
	Scope  quota.Scope  // of the request
	Signal quota.Signal // the quota headers of the response, for any status
	Event  Event
	// Named are the windows that a rejection is about; empty: those that Signal rejects.
	Named quota.Set
	// RejectedScope is the scope that is out of quota after a ScopeRejected.
	RejectedScope quota.Scope
	Cooldown      time.Duration // how long the event cools the account, clamped by the caller
}

// Observe returns the health after an outcome that became known at now. Soft are the thresholds that decide whether a newer
// reading ends the cooldown of a rejection (FO-12).
//
// A cooldown counts as set before a request, and a reading as newer than a rejection, only if their times differ: equal times do
// not say which came first, and a cooldown that lasts a moment too long does less harm than one that ends too early.
func Observe(h Health, o Outcome, soft quota.Thresholds, now time.Time) Health {
	h.observe(&o, soft, now)
	return h
}

func (h *Health) observe(o *Outcome, soft quota.Thresholds, now time.Time) {
	h.recoverPace(soft, now)
	h.Quota.Record(o.Signal, o.Sent, now)
	switch o.Event {
	case None:
	case Success:
		h.succeed(o)
	default:
		h.cool(o, now)
		if h.fault = None; o.Event.isDoubtful() {
			h.fault = o.Event
		}
	}
	h.updatePace(soft, now)
	h.clearRefuted(soft)
}

// ObserveUsage returns the health after a response of the usage endpoint to a request that was sent at sent (QUO-23).
func ObserveUsage(h Health, u quota.Usage, sent time.Time, soft quota.Thresholds, now time.Time) Health {
	h.recoverPace(soft, now)
	h.Quota.RecordUsage(u, sent, now)
	h.updatePace(soft, now)
	h.clearRefuted(soft)
	return h
}

// updatePace updates which windows are over their pace, after a reading. Without thresholds it leaves them as they are.
func (h *Health) updatePace(soft quota.Thresholds, now time.Time) {
	if soft == (quota.Thresholds{}) {
		return
	}
	var over quota.Set
	for w := range h.Quota.Table().Windows() {
		if h.Quota.OverPace(w, h.overPaced.Has(w), soft[w], now) {
			over |= quota.Of(w)
		}
	}
	h.overPaced = over
}

// recoverPace updates them before a reading: since the last one, time alone may have brought some back below their pace.
func (h *Health) recoverPace(soft quota.Thresholds, now time.Time) {
	if h.overPaced != 0 {
		h.Quota.Expire(now)
		h.updatePace(soft, now)
	}
}

// overPace reports whether the pace of a governing window makes the identity near its quota (SEL-22, STR-5). State is its
// quota, expired.
func (h *Health) overPace(state *quota.State, scope quota.Scope, soft quota.Thresholds, now time.Time) bool {
	governing := state.Governing(scope)
	for w := range state.Table().Windows() {
		if governing.Has(w) && state.OverPace(w, h.overPaced.Has(w), soft[w], now) {
			return true
		}
	}
	return false
}

// clearRefuted ends the cooldowns of rejections that newer readings refute (FO-12).
func (h *Health) clearRefuted(soft quota.Thresholds) {
	for kind := range h.cooldowns {
		c := &h.cooldowns[kind]
		if !c.set.IsZero() && cooldownKind(kind).isQuota() && h.Quota.Refutes(c.named, c.set, soft) {
			*c = cooldown{}
		}
	}
}

// succeed ends the cooldowns that were set before the request was sent, and no later one (FO-2).
func (h *Health) succeed(o *Outcome) {
	h.ramp.succeed(o.Sent)
	h.fault = None
	if h.succeeded.Before(o.Sent) {
		h.succeeded = o.Sent
	}
	for kind := range h.cooldowns {
		c := &h.cooldowns[kind]
		if c.set.Before(o.Sent) && c.concerns(o.Scope) {
			*c = cooldown{}
		}
	}
	if h.refused.Before(o.Sent) {
		h.refused = time.Time{}
	}
}

// doubtfulCooldown is how long an account cools down after a failure that may be the fault of the request (FO-0c).
const doubtfulCooldown = 2 * time.Second

// doubt is a failure that does not count in full until another account serves the same request, which shows that neither the
// request nor the service was at fault.
type doubt struct {
	key   identity.Key
	event Event
	at    time.Time
	until time.Time // the end of the full cooldown
}

// doubts reports whether the event may be the fault of its request. It is not if the account's previous request failed in the
// same way.
func (h *Health) doubts(e Event) bool { return e.isDoubtful() && h.fault != e }

// confirm attributes a doubtful failure to the account, unless something has ended it since (FO-2, FO-13): its cooldown becomes
// as long as it would have been without the doubt, or stays if it is longer (FO-3); a credential that received a 401 counts as
// rejected (SEL-8b).
func (h *Health) confirm(d doubt) {
	if d.at.Before(h.succeeded) || !h.cleared.Before(d.at) {
		return
	}
	if d.event == Unauthorized {
		if !d.at.Before(h.credentialSince) {
			h.refused = d.at
		}
		return
	}
	c := &h.cooldowns[d.event.kind()]
	if !c.until.Before(d.until) {
		return
	}
	c.until, c.cause = d.until, Cause{Event: d.event}
	if c.set.Before(d.at) {
		c.set = d.at
	}
}

// credentialChanged ends the cooldowns that the old credential caused (TOK-7).
func (h *Health) credentialChanged(now time.Time) {
	h.cooldowns[ofCredential], h.refused = cooldown{}, time.Time{}
	h.credentialSince = now
}

// needsLogin reports whether the credential was rejected and has not changed since (SEL-8b).
func (h *Health) needsLogin() bool { return !h.refused.IsZero() }

// clear ends every cooldown and clears every rejection, including that of the credential (FO-13).
func (h *Health) clear(now time.Time) {
	h.cooldowns, h.refused = [cooldownKinds]cooldown{}, time.Time{}
	h.Quota.ClearRejections()
	h.cleared = now
}
