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
	lockTimeout = 30 * time.Second // for a refresh of another process, which takes at most that long
	settleTime  = 50 * time.Millisecond

	firstBackoff = 5 * time.Second // after a failed refresh, doubled with each further one
	maxBackoff   = time.Minute

	// The same where requests wait for it. They may come by the hundred, and a pool of one account sends them all here.
	demandBackoff = 2 * time.Second
)

// cause is why a refresh is needed.
type cause bool

const (
	scheduled cause = false // the token is about to expire, or has
	forced    cause = true  // a 401 (TOK-9)
)

// flight is one refresh, which all who need it wait for.
type flight struct {
	done chan struct{}
	err  error // valid after done

	began cause

	// The source's lock guards these.
	rejected bool // a token was refused that this refresh is to replace
	rotated  bool // the provider has issued another
}

// renew has the token old replaced and waits for it. Only one refresh of a source runs at a time; whoever comes while it
// runs shares its result. It ends with ctx; the refresh does not.
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

// start begins a refresh, or returns the one that runs.
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

// refreshSpent reports whether a 401 must not cause a refresh, because the last one that did has not helped (TOK-9). A
// token that has expired is refreshed for that reason, not for the 401.
func (s *source) refreshSpent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current.refreshable() && !s.current.expired(s.keeper.clock.Now()) && s.keeper.unproven.has(s.keys)
}

// refresh replaces the token old, unless that has happened already: by an alias, or by another process (TOK-4). What it
// waits for ends when the keeper closes, but from the moment the refresh token is sent nothing is given up (TOK-5).
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
	case c.Access != old && (!c.expired(s.keeper.clock.Now()) || !c.refreshable()):
		return nil
	case !c.refreshable():
		return ErrNotRefreshable
	case f.began == forced && s.refreshSpent(): // by an alias, which held the gate
		return ErrRefreshSpent
	}
	if err := cmp.Or(s.refreshForbidden(), s.recentFailure()); err != nil {
		return err
	}
	return s.exchange(ctx, f, c)
}

// lease acquires the lease of the document, which other processes respect.
func (s *source) lease(ctx context.Context) (store.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	return s.store.Lease(ctx, s.name)
}

// exchange sends the refresh token and makes what comes back durable before anybody may use it (TOK-5).
func (s *source) exchange(ctx context.Context, f *flight, c credential) error {
	k := s.keeper
	sent := k.clock.Now()
	grant, err := s.family.Refresher.Refresh(ctx, c.Refresh)
	if err == nil {
		_, illegalAccess := oauth.ParseToken(grant.AccessToken.Reveal())
		_, illegalRefresh := oauth.ParseToken(grant.RefreshToken.Reveal())
		err = cmp.Or(illegalAccess, illegalRefresh)
	}
	if k.onRefresh != nil {
		k.onRefresh(s.title(), err)
	}
	if err != nil {
		// Another program may have been faster, and then its login is the good one (TOK-7b).
		_ = s.reread(ctx)
		if now, unusable := s.usable(); unusable == nil && !sameTokens(now, c) {
			return nil
		}
		if errors.Is(err, oauth.ErrInvalidGrant) {
			if s.recoverLogin(ctx) {
				return s.refreshExpired(ctx, f)
			}
			k.markRefused(c.Refresh)
			return fmt.Errorf("%w: %w", ErrNeedsLogin, err)
		}
		return s.fail(err)
	}
	renewed := credential{
		Credential: oauth.Credential{Access: grant.AccessToken, Refresh: grant.RefreshToken, Expires: sent.Add(grant.Lifetime)},
		half:       sent.Add(grant.Lifetime / 2),
	}
	if renewed.Refresh.IsZero() {
		renewed.Refresh = c.Refresh
	}
	s.mu.Lock()
	f.rotated = true
	s.noteUnproven(f) // before the token can be used, and so succeed
	rejected := f.rejected
	s.mu.Unlock()
	s.rotate(ctx, c, renewed, rejected)
	k.log.Info("token refreshed", "account", s.title(), "expires", renewed.Expires.Round(time.Second))
	return nil
}

// rotate replaces a spent login with the one that it was exchanged for: in the document, before anything uses it (TOK-5), and
// for the other sources of the spent one. Rejected is set if a 401 was the cause.
func (s *source) rotate(ctx context.Context, spent, renewed credential, rejected bool) {
	s.mu.Lock()
	if sameTokens(s.current, spent) { // else there was a new login meanwhile
		s.rotated = &renewed
	}
	s.mu.Unlock()
	s.keeper.successors.add(spent, renewed)
	s.write(ctx)
	s.keeper.share(s, spent, renewed, rejected)
}

// refreshExpired refreshes a login that has just been recovered, if that has expired since.
func (s *source) refreshExpired(ctx context.Context, f *flight) error {
	c, err := s.usable()
	if err == nil && c.expired(s.keeper.clock.Now()) {
		err = s.exchange(ctx, f, c)
	}
	return err
}

// fail records a refresh that failed for now, and returns why.
func (s *source) fail(err error) error {
	s.mu.Lock()
	s.refreshErr = err
	rest := min(firstBackoff<<min(s.failures, 10), maxBackoff)
	s.failures++
	s.failedAt = s.keeper.clock.Now()
	s.backoffUntil = s.failedAt.Add(rest)
	s.mu.Unlock()
	s.report()
	return err
}

// recentFailure is why the last refresh failed, if that was only a moment ago.
func (s *source) recentFailure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refreshErr != nil && s.keeper.clock.Now().Before(s.failedAt.Add(demandBackoff)) {
		return s.refreshErr
	}
	return nil
}

// forbidden says why a refresh must not be tried before the credential changes (TOK-7).
func (s *source) refreshForbidden() error {
	s.mu.Lock()
	if s.current.Refresh == s.refused {
		s.loginReason = refusedReason // also after a success of the old token had taken it away
	}
	reason := s.loginReason
	s.mu.Unlock()
	if reason == "" {
		return nil
	}
	s.report()
	return fmt.Errorf("%w: %s", ErrNeedsLogin, reason)
}

const refusedReason = "the provider does not take its refresh token any more (invalid_grant)"

// refuse marks every source of a refresh token that the provider will not take again.
func (k *Keeper) markRefused(refresh Token) {
	for _, s := range k.allSources() {
		s.mu.Lock()
		hit := s.current.Refresh == refresh
		if hit {
			s.refused, s.loginReason = refresh, refusedReason
		}
		s.mu.Unlock()
		if hit {
			s.report()
		}
	}
}

// follow gives the renewed credential to the other sources of the spent one (TOK-7e). Run writes it into their files.
func (k *Keeper) share(leader *source, spent, renewed credential, rejected bool) {
	if spent.Refresh == renewed.Refresh {
		return
	}
	for _, s := range k.allSources() {
		if s == leader {
			continue
		}
		s.mu.Lock()
		hit := s.current.Refresh == spent.Refresh
		if hit {
			s.rotated = &renewed
			s.adopt(renewed)
			if rejected {
				k.unproven.add(s.keys)
			}
		}
		s.mu.Unlock()
		if hit {
			s.notify(true)
		}
	}
}

// labels are what only one refresh at a time may have to do with: the identities behind the source (TOK-4) and its
// refresh token (TOK-7e).
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
