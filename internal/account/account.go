// Package account holds the credentials of pooled accounts: where they come from (ACC-1..3), whose they are (ID-1), and
// a token of each that is fresh (TOK-*). The provider rotates refresh tokens, so whatever reply is lost or file is torn
// costs a person their login; the package is built around not losing one.
//
// A [Keeper] owns everything and is safe for concurrent use, also beside other processes that hold the same files. It
// chooses no account and judges no response: the scheduler and the attempt loop do, and tell it what they learned. It
// does not log anybody in; what a login brought is put into the account store with a [Store].
package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"shunt/internal/identity"
	"shunt/internal/secret"
)

// Token is an access token as the provider wants it behind "Bearer ".
type Token = secret.String

// The reasons why there is no token that a caller may want to tell apart; errors of this package wrap them.
var (
	ErrNeedsLogin     = errors.New("the account needs a new login")
	ErrNotRefreshable = errors.New("the credential cannot be refreshed")
	ErrClosed         = errors.New("shutting down")

	// ErrRefreshSpent is the error of [Account.Renew] while the provider refuses even tokens that it has just issued (TOK-9).
	ErrRefreshSpent = errors.New("the provider also refused the token that a refresh after a 401 brought; shunt refreshes again " +
		"once a request succeeds, the login changes, or 10 minutes have passed")

	errExpired = errors.New("the token has expired")
	errNoOther = errors.New("there is no other token than the one that was refused")
)

const expiredReason = "its token has expired and cannot be refreshed"

// Listing is the accounts that the configuration lists for one provider.
type Listing struct {
	Family string // the name of their family
	Specs  []Spec // none: every usable file of the family's store (ACC-4)
}

// Spec is one configured entry of a pool. Neither Credentials nor TokenEnv: the entry of that name in the store.
type Spec struct {
	Name             string
	Credentials      string // absolute path of a credentials file (ACC-1)
	TokenEnv         string // variable that holds a setup token (ACC-2)
	UUID             string // of the account; empty: unknown
	OrganizationUUID string // empty: unknown
}

// Account is an entry of a pool with its credential. Entries that lead to one file share the credential and its state.
type Account struct {
	name, provider string
	key            identity.Key
	uuid           string
	source         *source
}

// Name is the name that the configuration or the store gives the entry.
func (a *Account) Name() string { return a.name }

// Key is the identity that the entry had when it was resolved (ID-1).
func (a *Account) Key() identity.Key { return a.key }

// UUID is the account's UUID, or empty where none is known that has the form of one.
func (a *Account) UUID() string { return a.uuid }

// Missing reports whether the account is an entry of the store that is not there (CFG-23).
func (a *Account) Missing() bool { return a.source.missing() }

// Refreshable reports whether a token that was refused can be replaced by a refresh.
func (a *Account) Refreshable() bool {
	c, err := a.source.usable()
	return err == nil && c.refreshable()
}

// NeedsLogin reports whether only a person can bring the account back, and why (TOK-7).
func (a *Account) NeedsLogin() (reason string, needed bool) { return a.source.needsLogin() }

// unexpiredWait is how long a request waits for a refresh while the present token would still do (TOK-1b).
const unexpiredWait = time.Second

// Token returns a token that is fresh, after a refresh if need be (TOK-1). A token that has not expired is returned after
// at most a second, whatever the refresh waits for (TOK-1b), and while refreshes fail (TOK-7c). The end of ctx ends the
// wait, never the refresh (TOK-5).
func (a *Account) Token(ctx context.Context) (Token, error) {
	s, clock := a.source, a.source.keeper.clock
	now := clock.Now()
	c, err := s.usable()
	switch {
	case err != nil:
		return Token{}, a.failed(err)
	case !c.refreshable() && c.expired(now):
		s.markNeedsLogin(c.Access, expiredReason)
		return Token{}, a.failed(fmt.Errorf("%w: %s", ErrNeedsLogin, expiredReason))
	case !c.refreshable() || c.fresh(now) || !c.expired(now) && s.backingOff(now):
		return c.Access, nil
	}
	wait, stop := ctx, func() {}
	if !c.expired(now) {
		wait, stop = context.WithTimeout(ctx, clock.Scale(unexpiredWait))
	}
	defer stop()
	failure := s.renew(wait, c.Access, scheduled)
	c, err = s.usable()
	if err == nil && c.expired(clock.Now()) && wait.Err() != nil && ctx.Err() == nil {
		failure = s.renew(ctx, c.Access, scheduled) // it expired during the wait
		c, err = s.usable()
	}
	if err == nil && !c.expired(clock.Now()) {
		return c.Access, nil
	}
	return Token{}, a.failed(cmp.Or(failure, err, errExpired))
}

// Renew returns a token in place of one that the provider refused with 401: the file's, if that holds another by now,
// else one from a refresh (TOK-4). It returns [ErrRefreshSpent] at once if the last such refresh has not helped
// (TOK-9). The end of ctx ends the wait, never the refresh.
func (a *Account) Renew(ctx context.Context, rejected Token) (Token, error) {
	s := a.source
	good := func(c credential) bool { return c.Access != rejected && !c.expired(s.keeper.clock.Now()) }
	c, err := s.usable()
	if err == nil && !good(c) {
		failure := errNoOther
		if s.refreshSpent() {
			failure = ErrRefreshSpent
			err = s.reread(context.WithoutCancel(ctx))
		} else {
			err = s.renew(ctx, c.Access, forced)
		}
		if err == nil {
			c, err = s.usable()
		}
		if err == nil && !good(c) {
			err = failure
		}
	}
	if err != nil {
		return Token{}, a.failed(err)
	}
	return c.Access, nil
}

// MarkNeedsLogin records that the provider refuses the credential that this token is of (a 403, 5-failover), unless there
// is a newer one by now. Until the credential changes or works again nothing is refreshed (TOK-7).
func (a *Account) MarkNeedsLogin(used Token, reason string) { a.source.markNeedsLogin(used, reason) }

// Confirm records a 2xx for a request with this token, which clears the account's mark (TOK-7) and lets a later 401 cause
// a refresh again (TOK-9).
func (a *Account) Confirm(used Token) { a.source.confirm(used) }

func (a *Account) failed(err error) error {
	return fmt.Errorf("account %s/%s: %w", a.provider, a.name, err)
}
