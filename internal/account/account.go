// Package account keeps the credentials of pooled accounts: their sources (ACC-1..3), their identities (ID-1), and a fresh
// token of each (TOK-*). Providers rotate refresh tokens, so a lost response or a truncated file costs a person their
// login; the package is designed never to lose one. What a family of accounts has of its own is in a [Family].
//
// A [Keeper] owns all of this. It is safe for concurrent use, and for use beside other processes that share the files. It
// does not choose accounts and does not interpret responses: the scheduler and the attempt loop do, and report to it. It
// does not log in; a [Store] adds the result of a login to the account store.
package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"shunt/internal/identity"
	"shunt/internal/oauth"
	"shunt/internal/secret"
)

// Token is an access token, as sent after "Bearer ".
type Token = secret.String

// Errors that callers distinguish; the errors of this package wrap them.
var (
	ErrNeedsLogin     = errors.New("the account needs a new login")
	ErrNotRefreshable = errors.New("the credential cannot be refreshed")
	ErrClosed         = errors.New("shutting down")

	// ErrRefreshSpent is the error of [Account.Renew] while the provider rejects even tokens that it has just issued (TOK-9).
	ErrRefreshSpent = errors.New("the provider also rejected the token from a refresh after a 401; shunt refreshes again " +
		"once a request succeeds, the login changes, or 10 minutes have passed")

	errExpired = errors.New("the token has expired")
	errNoOther = errors.New("the rejected token is the only one")

	errOtherAccount = errors.New("its file now holds the login of another account, which shunt uses once it has reloaded the accounts")
)

const expiredReason = "its token has expired and cannot be refreshed"

// Listing is the list of accounts in the configuration of one provider.
type Listing struct {
	Family string // the name of the accounts' family
	Specs  []Spec // none: every usable file of the family's store (ACC-4)
}

// Spec is one configured account. Without Credentials and TokenEnv it is the store entry of that name.
type Spec struct {
	Name             string
	Credentials      string // absolute path of a credentials file (ACC-1)
	TokenEnv         string // environment variable with a setup token (ACC-2)
	UUID             string // of the account; empty: unknown
	OrganizationUUID string // empty: unknown
}

// Account is a configured account with its credential. Accounts with the same source share the credential and its state.
type Account struct {
	name, provider string
	key            identity.Key
	uuid           string
	owner          oauth.Owner // that the credential named when the account was resolved
	source         *source
}

// Name returns the name of the account in the configuration or the store.
func (a *Account) Name() string { return a.name }

// Key returns the identity that the account had when it was resolved (ID-1).
func (a *Account) Key() identity.Key { return a.key }

// UUID returns the account's UUID, or empty if it is unknown or does not have the form of one.
func (a *Account) UUID() string { return a.uuid }

// ID returns the account as the provider knows it: as the credential names it, else its UUID.
func (a *Account) ID() string { return cmp.Or(a.owner.Account, a.uuid) }

// DeviceID returns the ID of the device that the login is bound to, or empty.
func (a *Account) DeviceID() string {
	c, _ := a.usable()
	return c.DeviceID
}

// usable returns the credential. If another account has replaced the one that was resolved, there is none (GPT-3).
func (a *Account) usable() (credential, error) {
	a.source.mu.Lock()
	defer a.source.mu.Unlock()
	if a.source.problem == nil && !a.source.owner.Is(a.owner) {
		return credential{}, errOtherAccount
	}
	return a.source.current, a.source.problem
}

// Missing reports whether the account is a store entry whose file does not exist (CFG-23).
func (a *Account) Missing() bool { return a.source.missing() }

// Refreshable reports whether a refresh can replace a rejected token.
func (a *Account) Refreshable() bool {
	c, err := a.usable()
	return err == nil && c.refreshable()
}

// NeedsLogin reports whether the account needs a new login, and why (TOK-7).
func (a *Account) NeedsLogin() (reason string, needed bool) { return a.source.needsLogin() }

// unexpiredWait is how long a request waits for a refresh while the current token is unexpired (TOK-1b).
const unexpiredWait = time.Second

// Token returns a fresh token, after a refresh if necessary (TOK-1). It returns an unexpired token after at most a second,
// whatever the refresh waits for (TOK-1b), and also while refreshes fail (TOK-7c). The end of ctx ends the wait, never
// the refresh (TOK-5).
func (a *Account) Token(ctx context.Context) (Token, error) {
	s, clock := a.source, a.source.keeper.clock
	now := clock.Now()
	c, err := a.usable()
	switch {
	case err != nil:
		return Token{}, a.wrap(err)
	case !c.refreshable() && c.expired(now):
		s.markNeedsLogin(c.Access, expiredReason)
		return Token{}, a.wrap(fmt.Errorf("%w: %s", ErrNeedsLogin, expiredReason))
	case !c.refreshable() || c.fresh(now) || !c.expired(now) && s.backingOff(now):
		return c.Access, nil
	}
	wait, stop := ctx, func() {}
	if !c.expired(now) {
		wait, stop = context.WithTimeout(ctx, clock.Scale(unexpiredWait))
	}
	defer stop()
	failure := s.renew(wait, c.Access, scheduled)
	c, err = a.usable()
	if err == nil && c.expired(clock.Now()) && wait.Err() != nil && ctx.Err() == nil {
		failure = s.renew(ctx, c.Access, scheduled) // it expired during the wait
		c, err = a.usable()
	}
	if err == nil && !c.expired(clock.Now()) {
		return c.Access, nil
	}
	return Token{}, a.wrap(cmp.Or(failure, err, errExpired))
}

// Renew returns a token to replace one that the provider rejected with a 401: the one in the file if that has changed,
// else one from a refresh (TOK-4). It returns [ErrRefreshSpent] at once if the last such refresh did not help (TOK-9).
// The end of ctx ends the wait, never the refresh.
func (a *Account) Renew(ctx context.Context, rejected Token) (Token, error) {
	s := a.source
	valid := func(c credential) bool { return c.Access != rejected && !c.expired(s.keeper.clock.Now()) }
	c, err := a.usable()
	if err == nil && !valid(c) {
		failure := errNoOther
		if s.refreshSpent() {
			failure = ErrRefreshSpent
			err = s.reread(context.WithoutCancel(ctx))
		} else {
			err = s.renew(ctx, c.Access, forced)
		}
		if err == nil {
			c, err = a.usable()
		}
		if err == nil && !valid(c) {
			err = failure
		}
	}
	if err != nil {
		return Token{}, a.wrap(err)
	}
	return c.Access, nil
}

// MarkNeedsLogin records that the provider rejects this token's credential (a 403, 5-failover), unless there is a newer
// one. The account is not refreshed until the credential changes or a request with it succeeds (TOK-7).
func (a *Account) MarkNeedsLogin(used Token, reason string) { a.source.markNeedsLogin(used, reason) }

// Exclude records why the provider does not serve the account of this token, although its credential is valid: a health condition
// until a request succeeds or the credential changes.
func (a *Account) Exclude(used Token, reason string) { a.source.exclude(used, reason) }

// Confirm records a 2xx for a request with this token. It clears the need for a login (TOK-7) and [Account.Exclude], and lets a later 401 cause a
// refresh (TOK-9).
func (a *Account) Confirm(used Token) { a.source.confirm(used) }

// wrap adds the name of the account to an error.
func (a *Account) wrap(err error) error {
	return fmt.Errorf("account %s/%s: %w", a.provider, a.name, err)
}
