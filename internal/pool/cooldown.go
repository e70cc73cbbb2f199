package pool

import (
	"slices"
	"time"

	"shunt/internal/quota"
)

// Cooldowns are kept separately by what can end them early, so that the end of one never ends another.
type cooldownKind uint8

const (
	ofQuota      cooldownKind = iota // ended by a newer reading (FO-12)
	ofCredential                     // ended by a changed credential (TOK-7)
	ofTrouble                        // ended by nothing but time and success
	ofScope                          // as ofQuota, for the first scope of the table only; those of the other scopes follow

	cooldownKinds = ofScope + quota.MaxWindows
)

type cooldown struct {
	until time.Time
	set   time.Time
	cause Cause
	named quota.Set // the windows of a quota rejection
}

// isQuota reports whether the cooldown follows from a quota rejection.
func (k cooldownKind) isQuota() bool { return k == ofQuota || k >= ofScope }

// Cause is why an identity cools down.
type Cause struct {
	Event
	Scope quota.Scope // of a ScopeRejected
}

// String returns the cause's name in logs and snapshots, that of its event or SCOPE_rejected.
func (c Cause) String() string {
	if c.Event == ScopeRejected {
		return string(c.Scope) + "_rejected"
	}
	return c.Event.String()
}

// causeOf returns the kind of cooldown that an outcome sets, and its cause. An account that has no window of the rejected scope
// cools down as a whole.
func (h *Health) causeOf(o *Outcome) (cooldownKind, Cause) {
	if o.Event != ScopeRejected {
		return o.Event.kind(), Cause{Event: o.Event}
	}
	i := slices.Index(h.Quota.Table().Scopes(), o.RejectedScope)
	if i < 0 {
		return ofQuota, Cause{Event: Rejected}
	}
	return ofScope + cooldownKind(i), Cause{ScopeRejected, o.RejectedScope}
}

func (h *Health) cool(o *Outcome, now time.Time) {
	kind, cause := h.causeOf(o)
	if kind == ofCredential && o.Sent.Before(h.credentialSince) {
		return // it is about a credential that has been replaced (TOK-7)
	}
	if o.Event.refusesCredential() {
		h.refused = now
	}
	fresh := cooldown{until: now.Add(o.Cooldown), set: now, cause: cause}
	if kind.isQuota() {
		if fresh.named = o.Named; fresh.named == 0 {
			fresh.named = o.Signal.Rejected()
		}
		if relief, ok := h.Quota.Relief(fresh.named, now); ok && relief.Before(fresh.until) {
			fresh.until = relief // FO-12
		}
	}
	if old := h.cooldowns[kind]; old.ahead(now) {
		fresh = old.renewed(fresh)
	}
	h.cooldowns[kind] = fresh
	if o.Cooldown > 0 {
		h.ramp.restart(now)
	}
}

// renewed returns a running cooldown after another of its kind: as long as the longer one (FO-3), as new as the newer one,
// and ended by readings only if they refute both.
func (c cooldown) renewed(by cooldown) cooldown {
	if c.named == 0 || by.named == 0 {
		by.named = 0 // every reported window
	} else {
		by.named |= c.named
	}
	if c.until.After(by.until) {
		by.until, by.cause = c.until, c.cause
	}
	return by
}

// CooledUntil returns when the identity's cooldown for requests of a scope ends, and its cause; the zero time if it does not
// cool down (SEL-8).
func (h *Health) CooledUntil(scope quota.Scope, now time.Time) (time.Time, Cause) {
	var last cooldown
	cooldowns := h.possible()
	for kind := range cooldowns {
		c := &cooldowns[kind]
		if c.ahead(now) && c.until.After(last.until) && c.concerns(scope) {
			last = *c
		}
	}
	return last.until, last.cause
}

// possible returns the cooldowns of the kinds that the identity can have, by kind.
func (h *Health) possible() []cooldown {
	return h.cooldowns[:int(ofScope)+len(h.Quota.Table().Scopes())]
}

// concerns reports whether the cooldown holds for requests of a scope.
func (c *cooldown) concerns(scope quota.Scope) bool {
	return c.cause.Event != ScopeRejected || c.cause.Scope == scope
}

func (c *cooldown) ahead(now time.Time) bool { return c.until.After(now) }
