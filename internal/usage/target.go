package usage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"shunt/internal/identity"
	"shunt/internal/quota"
)

// target is an identity that is polled.
type target struct {
	key identity.Key

	// Guarded by the poller's lock.
	entries   []Entry   // nil: it was removed
	slot      time.Time // its place in the spread: its regular polls are whole numbers of intervals from it, in both directions
	due       time.Time // when the next poll begins
	notBefore time.Time // the earliest time for that after a failure; zero: any
	polling   bool
	polled    time.Time // when the last poll began; zero: never
	succeeded time.Time // when the last poll succeeded; before the first, when the identity was added
	failures  int       // in a row
	rejected  bool      // the last failure was about the login
	condition string    // the name of the health condition that is set, if one is

	// renewed belongs to the poll in flight: the token was renewed because of a poll, and none has succeeded since.
	renewed bool
}

// eligible returns the account to poll with: the first whose login can be refreshed, which a setup token cannot (QUO-21).
func (t *target) eligible() (Entry, bool) {
	for _, e := range t.entries {
		if e.Account.Refreshable() {
			return e, true
		}
	}
	return Entry{}, false
}

// poll polls a target once, passes the report to its pools, and schedules the next poll.
func (p *Poller) poll(ctx context.Context, t *target, with Entry) {
	report, sent, err := p.report(ctx, t, with)
	if ctx.Err() != nil {
		return
	}
	defer p.wake()
	p.mu.Lock()
	defer p.mu.Unlock()
	t.polling = false
	if err != nil {
		p.failed(t, with, err)
		return
	}
	p.clearCondition(t)
	t.succeeded, t.failures, t.rejected, t.renewed, t.notBefore = p.clock.Now(), 0, false, false, time.Time{}
	for _, e := range t.entries {
		e.Pool.ObserveUsage(t.key, report, sent)
	}
}

// errNoToken means that there is no valid token to poll with. Such a poll costs the provider nothing, and the account itself
// limits its refreshes and reports its problem.
var errNoToken = errors.New("no token to poll with")

// report returns the usage of an account, and when the request for it was sent.
func (p *Poller) report(ctx context.Context, t *target, with Entry) (report quota.Usage, sent time.Time, err error) {
	token, err := with.Account.Token(ctx)
	if err != nil {
		return report, sent, fmt.Errorf("%w: %w", errNoToken, err)
	}
	sent = p.clock.Now()
	report, err = p.fetch(ctx, with, token)
	if s := (*statusError)(nil); errors.As(err, &s) && s.status == http.StatusUnauthorized && !t.renewed {
		// The token ended before its time, and it may be long before a request finds that out.
		t.renewed = true
		if _, renewErr := with.Account.Renew(ctx, token); renewErr == nil {
			err = fmt.Errorf("%w: renewed it, because %w", errNoToken, err)
		}
	}
	return report, sent, err
}

const (
	maxBackoff    = time.Hour      // after failures without a retry-after, unless the interval is longer
	maxRetryAfter = 24 * time.Hour // longer ones are shortened

	// conditionAfter is how long polls may fail before a health condition is set, but at least three intervals.
	conditionAfter = 30 * time.Minute
)

// failed schedules the next poll after a failure. What is known of the quota stays as it is (QUO-24).
func (p *Poller) failed(t *target, with Entry, err error) {
	now := p.clock.Now()
	var response *statusError
	switch {
	case errors.Is(err, errNoToken):
	case errors.As(err, &response) && response.hasRetryAfter:
		t.notBefore = now.Add(min(response.retryAfter, maxRetryAfter))
		t.due = slotFrom(t.due, later(t.due, t.notBefore), p.interval)
	default:
		t.failures++
		t.due = t.due.Add(p.backoff(t.failures) - p.interval)
		t.notBefore = t.due
	}
	t.rejected = response != nil && (response.status == http.StatusUnauthorized || response.status == http.StatusForbidden)

	title := with.Provider + "/" + with.Account.Name()
	p.log.Debug("usage poll failed", "account", title, "error", err, "next", t.due.Sub(now))
	since := now.Sub(t.succeeded)
	_, needsLogin := with.Account.NeedsLogin()
	if needsLogin || errors.Is(err, errNoToken) || t.entries == nil || since < max(conditionAfter, 3*p.interval) {
		return
	}
	if t.condition == "" {
		t.condition = "account " + title + " cannot be polled for its usage"
	}
	p.health.Set(t.condition, fmt.Sprintf("no poll has succeeded for %s, the last error: %v; "+
		"until one succeeds, only responses to requests report how much is used", since.Round(time.Minute), err))
}

// clearCondition clears the health condition of a target.
func (p *Poller) clearCondition(t *target) {
	if t.condition != "" {
		p.health.Clear(t.condition)
		t.condition = ""
	}
}

// backoff returns the time between the beginnings of two polls after a number of failures without a retry-after. It doubles
// up to an hour, in whole intervals, so that the account keeps its slot.
func (p *Poller) backoff(failures int) time.Duration {
	pause := p.interval
	for range failures {
		if pause >= maxBackoff {
			break
		}
		pause *= 2
	}
	return max(min(pause, maxBackoff)/p.interval, 1) * p.interval
}
