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

// subject is one identity, and how asking about it goes.
type subject struct {
	key identity.Key

	// Guarded by the poller's lock.
	entries   []Entry   // nil: it has left
	slot      time.Time // its place in the spread: a whole number of intervals away, either way, are its usual polls
	due       time.Time // when the next poll begins
	notBefore time.Time // when it may begin after a failure; zero: at any time
	asking    bool
	asked     time.Time // when the last poll began; zero: never
	good      time.Time // when the last good answer came; before the first, when it came to be asked about
	failures  int       // in a row
	refused   bool      // the last failure was about the login
	condition string    // the name of the condition that holds, if one does

	// renewed belongs to the ask that is under way: for the sake of asking a token was renewed, and no good answer has come since.
	renewed bool
}

// eligible is the account to ask with: the first whose login can be refreshed, which a setup token cannot (QUO-21).
func (s *subject) eligible() (Entry, bool) {
	for _, e := range s.entries {
		if e.Account.Refreshable() {
			return e, true
		}
	}
	return Entry{}, false
}

// ask asks once about an identity, tells its pools, and decides when to ask again.
func (p *Poller) ask(ctx context.Context, s *subject, with Entry) {
	report, sent, err := p.learn(ctx, s, with)
	if ctx.Err() != nil {
		return
	}
	defer p.wake()
	p.mu.Lock()
	defer p.mu.Unlock()
	s.asking = false
	if err != nil {
		p.failed(s, with, err)
		return
	}
	p.recovered(s)
	s.good, s.failures, s.refused, s.renewed, s.notBefore = p.clock.Now(), 0, false, false, time.Time{}
	for _, e := range s.entries {
		e.Pool.ObserveUsage(s.key, report, sent)
	}
}

// errNoToken says that there was no good token to ask with. It cost the provider nothing, the account paces its own
// refreshes, and it tells the operator what is wrong.
var errNoToken = errors.New("no token to ask with")

// learn gets a report, and says when it was asked for.
func (p *Poller) learn(ctx context.Context, s *subject, with Entry) (report quota.Usage, sent time.Time, err error) {
	token, err := with.Account.Token(ctx)
	if err != nil {
		return report, sent, fmt.Errorf("%w: %w", errNoToken, err)
	}
	sent = p.clock.Now()
	report, err = p.fetch(ctx, with, token)
	if a := (*answerError)(nil); errors.As(err, &a) && a.status == http.StatusUnauthorized && !s.renewed {
		// The token ended before its time, and there may be no request for a long while that would find it out.
		s.renewed = true
		if _, renewErr := with.Account.Renew(ctx, token); renewErr == nil {
			err = fmt.Errorf("%w: renewed it, because %w", errNoToken, err)
		}
	}
	return report, sent, err
}

const (
	longestPause = time.Hour      // after failures without a retry-after, unless the interval is longer
	longestWait  = 24 * time.Hour // for a retry-after

	// tolerance is how long asking may fail before the operator is told, and at least three intervals.
	tolerance = 30 * time.Minute
)

// failed takes in a poll without a report. What is known of the quota stays as it is (QUO-24).
func (p *Poller) failed(s *subject, with Entry, err error) {
	now := p.clock.Now()
	var answer *answerError
	switch {
	case errors.Is(err, errNoToken):
	case errors.As(err, &answer) && answer.hasRetryAfter:
		s.notBefore = now.Add(min(answer.retryAfter, longestWait))
		s.due = slotFrom(s.due, later(s.due, s.notBefore), p.interval)
	default:
		s.failures++
		s.due = s.due.Add(p.backoff(s.failures) - p.interval)
		s.notBefore = s.due
	}
	s.refused = answer != nil && (answer.status == http.StatusUnauthorized || answer.status == http.StatusForbidden)

	title := with.Provider + "/" + with.Account.Name()
	p.log.Debug("an account could not be asked for its quota", "account", title, "error", err, "next", s.due.Sub(now))
	silence := now.Sub(s.good)
	_, known := with.Account.NeedsLogin()
	if known || errors.Is(err, errNoToken) || s.entries == nil || silence < max(tolerance, 3*p.interval) {
		return
	}
	if s.condition == "" {
		s.condition = "account " + title + " cannot be asked for its quota"
	}
	p.health.Set(s.condition, fmt.Sprintf("for %s there has been no good answer, the last time because %v; "+
		"until there is one, only answers to requests tell how much is used", silence.Round(time.Minute), err))
}

// recovered ends the condition of a subject.
func (p *Poller) recovered(s *subject) {
	if s.condition != "" {
		p.health.Clear(s.condition)
		s.condition = ""
	}
}

// backoff returns the time between the beginnings of two polls after a number of failures without a retry-after. It doubles
// up to an hour, in whole intervals, so that the account keeps its slot.
func (p *Poller) backoff(failures int) time.Duration {
	pause := p.interval
	for range failures {
		if pause >= longestPause {
			break
		}
		pause *= 2
	}
	return max(min(pause, longestPause)/p.interval, 1) * p.interval
}
