package upstream

import (
	"cmp"
	"net/http"

	"shunt/internal/account"
	"shunt/internal/family"
	"shunt/internal/observe"
	"shunt/internal/pool"
)

// giveUp ends an attempt without a response for the client.
func (x *exchange) giveUp(a *attempt, r reply) {
	x.coolDown(a, r)
	if r.kept != nil {
		r.kept.cooldown = r.details.Cooldown
	}
	x.collect(r.class, r.kept)
	if r.details.Reason != "" {
		a.account.Exclude(a.token, r.details.Reason)
	}
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

// coolDown cools the account down as the rule for the reply's class says.
func (x *exchange) coolDown(a *attempt, r reply) {
	rule := x.family.Rules[r.class]
	if rule.Event == pool.None || x.counting && rule.MessagesOnly {
		return
	}
	outcome := pool.Outcome{Sent: a.sent, Scope: x.scope, Event: rule.Event, RejectedScope: cmp.Or(x.scope, x.toolScope)}
	var h http.Header
	if r.kept != nil {
		h = r.kept.header
	}
	if r.class.IsQuota() {
		outcome.Signal = x.family.ReadQuota(h) // names the windows; it was recorded when it came
	}
	outcome.Named, outcome.Cooldown = r.details.Windows, cmp.Or(r.details.Cooldown, rule.Cooldown.For(h, x.clock.Now()))
	x.selection.Observe(a.Candidate, outcome)
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
