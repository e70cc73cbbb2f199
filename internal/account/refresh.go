package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"shunt/internal/oauth"
	"shunt/internal/store"
)

const (
	leaseTimeout = 30 * time.Second      // the longest that a refresh of another process takes
	settleTime   = 50 * time.Millisecond // for a write in place to complete

	firstBackoff = 5 * time.Second // after a failed refresh, doubled with each further one
	maxBackoff   = time.Minute

	// demandBackoff is the same for requests that wait. A pool of one account may have hundreds of them.
	demandBackoff = 2 * time.Second
)

// cause is why a refresh is needed.
type cause bool

const (
	scheduled cause = false // the token expires soon or has expired
	forced    cause = true  // a 401 (TOK-9)
)

// flight is one refresh. Everyone who needs it waits for it.
type flight struct {
	done chan struct{}
	err  error // valid after done

	began cause

	// The source's lock guards these.
	rejected bool // the provider rejected the token that this refresh replaces
	rotated  bool // the provider has issued a new token
}

// renew replaces the token old and waits for the refresh. Only one refresh of a source runs at a time; callers that arrive
// meanwhile share its result. The end of ctx ends the wait, not the refresh.
func (s *source) renew(ctx context.Context, old Token, why cause) error {
	if s.store == nil {
		return ErrNotRefreshable
	}
	f, err := s.start(old, why)
	if err != nil {
		return err
	}
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start begins a refresh, or returns the one in flight.
func (s *source) start(old Token, why cause) (*flight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight != nil {
		s.flight.rejected = s.flight.rejected || why == forced
		s.noteUnproven(s.flight)
		return s.flight, nil
	}
	f := &flight{done: make(chan struct{}), began: why, rejected: why == forced}
	if !s.keeper.spawn(func() {
		f.err = s.refresh(f, old)
		s.mu.Lock()
		s.flight = nil
		s.mu.Unlock()
		close(f.done)
	}) {
		return nil, ErrClosed
	}
	s.flight = f
	return f, nil
}

// noteUnproven records that a refresh followed a 401, once both have happened. The caller holds mu.
func (s *source) noteUnproven(f *flight) {
	if f.rejected && f.rotated {
		s.keeper.unproven.add(s.keys)
	}
}

// refreshSpent reports whether a 401 must not cause a refresh, because the last refresh after a 401 did not help (TOK-9). An
// expired token is refreshed because it has expired, not because of the 401.
func (s *source) refreshSpent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.refreshable() && !s.current.expired(s.keeper.clock.Now()) && s.keeper.unproven.has(s.keys)
}

// refresh replaces the token old, unless an alias or another process has done so (TOK-4). Its waits end when the keeper
// closes, but once the refresh token is sent, nothing interrupts it (TOK-5).
func (s *source) refresh(f *flight, old Token) error {
	ctx := s.keeper.ctx
	leave, err := s.keeper.gate.enter(ctx, s.labels()...)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.keeper.pace.wait(ctx); err != nil {
		return err
	}
	lease, err := s.lease(ctx)
	if ctx.Err() != nil {
		if err == nil {
			lease.Release()
		}
		return context.Cause(ctx)
	}
	if err != nil {
		return s.fail(err)
	}
	defer lease.Release()
	ctx = context.WithoutCancel(ctx)
	if err := s.reread(ctx); err != nil {
		return s.fail(err)
	}
	c, err := s.usable()
	switch {
	case err != nil:
		return err
	case s.replaced():
		return errOtherAccount
	case c.Access != old && (!c.expired(s.keeper.clock.Now()) || !c.refreshable()):
		return nil
	case !c.refreshable():
		return ErrNotRefreshable
	case f.began == forced && s.refreshSpent(): // an alias has just refreshed
		return ErrRefreshSpent
	}
	if err := cmp.Or(s.refreshForbidden(), s.recentFailure()); err != nil {
		return err
	}
	return s.exchange(ctx, f, c)
}

// lease acquires the lease of the document, which other processes respect.
func (s *source) lease(ctx context.Context) (store.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	return s.store.Lease(ctx, s.name)
}

// exchange sends the refresh token, and makes the new login durable before anything uses it (TOK-5).
func (s *source) exchange(ctx context.Context, f *flight, c credential) error {
	k := s.keeper
	sent := k.clock.Now()
	grant, err := s.family.Refresher.Refresh(ctx, c.Credential)
	if err == nil {
		_, badAccess := oauth.ParseToken(grant.AccessToken.Reveal())
		_, badRefresh := oauth.ParseToken(grant.RefreshToken.Reveal())
		err = cmp.Or(badAccess, badRefresh)
	}
	if k.onRefresh != nil {
		k.onRefresh(s.title(), err)
	}
	if err != nil {
		// Another program may have refreshed it first; then its login is the valid one (TOK-7b).
		_ = s.reread(ctx)
		if now, unusable := s.usable(); unusable == nil && !sameTokens(now, c) {
			return nil
		}
		if errors.Is(err, oauth.ErrInvalidGrant) {
			if s.recoverLogin(ctx) {
				return s.refreshExpired(ctx, f)
			}
			k.markRejected(c.Refresh, rejectionOf(err))
			return fmt.Errorf("%w: %w", ErrNeedsLogin, err)
		}
		return s.fail(err)
	}
	renewed := credential{Credential: grant.Credential(c.Credential, sent)}
	if !renewed.Expires.IsZero() {
		renewed.half = sent.Add(renewed.Expires.Sub(sent) / 2)
	}
	s.mu.Lock()
	f.rotated = true
	s.noteUnproven(f) // before a request with the token can succeed
	rejected := f.rejected
	s.mu.Unlock()
	s.rotate(ctx, c, renewed, rejected)
	if renewed.Access == c.Access {
		return s.fail(errNoAccess)
	}
	k.log.Info("token refreshed", "account", s.title(), "expires", renewed.Expires.Round(time.Second))
	return nil
}

// rotate replaces a spent login with its successor: in the document, before anything uses it (TOK-5), and in the other
// sources that have the spent login. Rejected is set if a 401 was the cause.
func (s *source) rotate(ctx context.Context, spent, renewed credential, rejected bool) {
	s.mu.Lock()
	if sameTokens(s.current, spent) { // else there is a new login in the document
		s.rotated = &renewed
	}
	s.mu.Unlock()
	s.keeper.successors.add(spent, renewed)
	s.write(ctx)
	s.keeper.share(s, spent, renewed, rejected)
}

// refreshExpired refreshes a recovered login if it has expired.
func (s *source) refreshExpired(ctx context.Context, f *flight) error {
	c, err := s.usable()
	if err == nil && c.expired(s.keeper.clock.Now()) {
		err = s.exchange(ctx, f, c)
	}
	return err
}

// fail records a failed refresh that may be retried, and returns its error.
func (s *source) fail(err error) error {
	s.mu.Lock()
	s.refreshErr = err
	backoff := min(firstBackoff<<min(s.failures, 10), maxBackoff)
	s.failures++
	s.failedAt = s.keeper.clock.Now()
	s.backoffUntil = s.failedAt.Add(backoff)
	s.mu.Unlock()
	s.report()
	return err
}

// recentFailure returns the error of the last refresh if it failed a moment ago.
func (s *source) recentFailure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refreshErr != nil && s.keeper.clock.Now().Before(s.failedAt.Add(demandBackoff)) {
		return s.refreshErr
	}
	return nil
}

// refreshForbidden returns an error if only a changed credential may be refreshed (TOK-7).
func (s *source) refreshForbidden() error {
	s.mu.Lock()
	if s.current.Refresh == s.rejected {
		s.loginReason = s.rejection // a success of the old token may have cleared it
	}
	reason := s.loginReason
	s.mu.Unlock()
	if reason == "" {
		return nil
	}
	s.report()
	return fmt.Errorf("%w: %s", ErrNeedsLogin, reason)
}

var errNoAccess = errors.New("the response to the refresh had no new access token")

// rejectionOf returns why a login is needed after an [oauth.ErrInvalidGrant].
func rejectionOf(err error) string {
	how := "invalid_grant"
	if response := (*oauth.StatusError)(nil); errors.As(err, &response) {
		how = cmp.Or(response.Code, fmt.Sprintf("status %d", response.Status))
	}
	return fmt.Sprintf("the provider no longer accepts its refresh token (%s)", how)
}

// markRejected records in every source of a refresh token that the provider will never accept the token again, and how it said
// so.
func (k *Keeper) markRejected(refresh Token, rejection string) {
	for _, s := range k.allSources() {
		s.mu.Lock()
		affected := s.current.Refresh == refresh
		if affected {
			s.rejected, s.rejection, s.loginReason = refresh, rejection, rejection
		}
		s.mu.Unlock()
		if affected {
			s.report()
		}
	}
}

// share gives the renewed credential to the other sources of the spent one (TOK-7e). Run writes it to their files.
func (k *Keeper) share(leader *source, spent, renewed credential, rejected bool) {
	if spent.Refresh == renewed.Refresh {
		return
	}
	for _, s := range k.allSources() {
		if s == leader {
			continue
		}
		s.mu.Lock()
		affected := s.current.Refresh == spent.Refresh
		if affected {
			s.rotated = &renewed
			s.adopt(renewed)
			if rejected {
				k.unproven.add(s.keys)
			}
		}
		s.mu.Unlock()
		if affected {
			s.notify(true)
		}
	}
}

// labels returns what only one refresh at a time may involve: the identities of the source (TOK-4) and its refresh token
// (TOK-7e).
func (s *source) labels() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	labels := []string{"token " + s.current.Refresh.Reveal()}
	for _, key := range s.keys {
		labels = append(labels, "identity "+key.String())
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}
