package account

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"shunt/internal/clock"
	"shunt/internal/identity"
	"shunt/internal/oauth"
	"shunt/internal/secret"
	"shunt/internal/store"
)

var errNotRead = errors.New("it has not been read yet")

// source is the source of one credential, a document or an environment variable, with the state of that credential. All
// entries with the same source share it.
type source struct {
	keeper *Keeper
	place
	store store.Store // nil for an environment variable

	// disk is held while the document is read or written, so that updates happen in order.
	disk diskTurn

	// reporting is held while conditions are reported, so that the last report is about the last state.
	reporting sync.Mutex
	reported  map[string]string // the details of the conditions, by name

	// Only Resolve uses these.
	exposed  map[string]bool // the exposures that had a warning (TOK-8b)
	searched bool            // whether recoverAtStart has run (TOK-6b)

	mu      sync.Mutex // never held across I/O; guards what follows
	current credential // in use; durable unless rotated is set
	problem error      // why the source has no credential; nil if it has one
	seen    store.Version
	onDisk  credential // the last usable one in the document

	// rotated is a credential that is not in the document yet. While a refresh writes it, current is still the old one.
	rotated  *credential
	writeErr error     // why the last write failed
	writeAt  time.Time // when to try again

	owner    oauth.Owner // as written in the document
	resolved oauth.Owner // the same when the entries were resolved; zero without entries

	loginReason  string        // why a person has to log in again; empty: not needed (TOK-7)
	excluded     string        // why the provider does not serve the account; empty: it does
	rejected     secret.String // the refresh token that the provider will never accept again
	rejection    string        // how it said so
	refreshErr   error         // why the last refresh failed
	failures     int           // refreshes that failed in a row
	failedAt     time.Time     // when the last of them did
	backoffUntil time.Time     // no refresh in the background before

	flight      *flight // the refresh in flight
	warned      store.Version
	titles      []string // the entries with this source, "provider/name"
	keys        []identity.Key
	unannounced bool // the credential changed before its identity was known
}

// unreadable is an error that does not mean that the document is unusable: it cannot be read for now.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

// absent is the error of a document that does not exist.
type absent struct{ place }

func (a absent) Error() string { return "cannot find the file " + a.String() }

// missing reports whether the source is a file of the store that does not exist.
func (s *source) missing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.As(s.problem, new(absent)) && s.dir == s.family.Dir
}

func (s *source) usable() (credential, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current, s.problem
}

// read reads the document. The error explains why it cannot be used. The caller holds disk.
func (s *source) read(ctx context.Context) (document, store.Version, error) {
	doc, err := s.store.Get(ctx, s.name)
	if errors.Is(err, fs.ErrNotExist) {
		return document{}, "", absent{s.place}
	}
	if err != nil {
		return document{}, "", unreadable{err}
	}
	d, err := parse(s.family.Format, doc.Data)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.place, err)
	}
	return d, doc.Version, err
}

// refreshFromDisk updates the source from its document, which may have become unusable. It reports whether the document has
// changed, other than by a write of this process.
func (s *source) refreshFromDisk(ctx context.Context) (changed bool) {
	s.disk.Lock()
	d, version, err := s.read(ctx)
	if _, bad := s.usable(); err != nil && bad == nil {
		// A program that writes in place leaves the file empty for a moment, which must not drop the login.
		s.disk.Unlock()
		_ = clock.Clock{}.Sleep(ctx, settleTime)
		s.disk.Lock()
		d, version, err = s.read(ctx)
	}
	changed, renewed := s.update(d, version, err)
	s.disk.Unlock()
	s.notify(renewed)
	return changed
}

// reread updates the source from its document before and after a refresh (TOK-4, TOK-7b). For an unusable document it
// returns an error and keeps the credential.
func (s *source) reread(ctx context.Context) error {
	s.disk.Lock()
	d, version, err := s.read(ctx)
	changed := false
	if err == nil {
		_, changed = s.update(d, version, nil)
	}
	s.disk.Unlock()
	s.notify(changed)
	return err
}

// update stores a document that was read. It reports whether the document has changed, and whether the credential has.
func (s *source) update(d document, version store.Version, problem error) (changed, renewed bool) {
	successor, spent := s.keeper.successors.latest(d.credential)
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.As(problem, new(unreadable)) && s.problem == nil {
		return false, false // memory may have the only copy of the login
	}
	changed = version != s.seen || (problem == nil) != (s.problem == nil)
	s.seen = version
	if problem != nil {
		s.problem, s.current, s.rotated, s.writeErr = problem, credential{}, nil, nil
		return changed, false
	}
	replaced := s.problem == nil && !d.file.Owner.Is(s.owner)
	s.owner = d.file.Owner
	if !s.owner.Is(s.resolved) {
		s.keeper.signal(s.keeper.changes) // it is another account's now (GPT-3)
	}
	newest := s.current
	if s.rotated != nil {
		newest = *s.rotated
	}
	switch {
	case replaced:
		renewed = s.takeFrom(d)
	case sameTokens(d.credential, newest):
		s.onDisk, s.rotated, s.writeErr = d.credential, nil, nil
		if d.Expires.UnixMilli() == newest.Expires.UnixMilli() {
			// Ours may have a monotonic clock reading, so that a step of the wall clock does not change its age.
			d.credential = newest
		}
		if renewed = !sameTokens(s.current, d.credential); renewed {
			s.adopt(d.credential)
		}
		s.current, s.problem = d.credential, nil
	case s.rotated != nil && sameTokens(d.credential, s.onDisk):
		// The rotated credential is not written yet.
	case spent:
		// A program wrote the spent login back from its memory or from a backup, or this is a copy of another entry's
		// file. The provider would reject it.
		s.onDisk, s.rotated = d.credential, &successor
		if renewed = !sameTokens(s.current, successor); renewed {
			s.adopt(successor)
		}
	default:
		renewed = s.takeFrom(d)
	}
	return changed, renewed
}

// takeFrom makes the login in a document the current one, in place of anything in memory. It returns true. The caller holds mu.
func (s *source) takeFrom(d document) (renewed bool) {
	s.onDisk, s.rotated, s.writeErr = d.credential, nil, nil
	s.adopt(d.credential)
	s.keeper.unproven.clear(s.keys)
	return true
}

// replaced reports whether the document holds the login of another account than its entries have (GPT-3).
func (s *source) replaced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.owner.Is(s.resolved)
}

// adopt makes a credential the current one and clears the state of the old one. The caller holds mu.
func (s *source) adopt(c credential) {
	s.current, s.problem = c, nil
	s.loginReason, s.excluded, s.rejected, s.refreshErr, s.failures, s.backoffUntil = "", "", secret.String{}, nil, 0, time.Time{}
}

// updateFromVariable updates the source from its environment variable (ACC-2).
func (s *source) updateFromVariable(value string) {
	access, err := oauth.ParseToken(value)
	switch {
	case err != nil:
		err = fmt.Errorf("the variable %s %w", s.name, err)
	case access.IsZero():
		err = fmt.Errorf("the variable %s is not set", s.name)
	}
	var d document
	if err == nil {
		// A token may say itself when it expires and whose it is (GPT-2, GPT-4).
		format := s.family.Format
		if d, err = parse(format, format.New(oauth.Credential{Access: access, SetupToken: true}, oauth.Owner{})); err != nil {
			err = fmt.Errorf("the variable %s: %w", s.name, err)
		}
		d.SetupToken = true
	}
	s.mu.Lock()
	changed := err == nil && access != s.current.Access
	if changed {
		s.owner = d.file.Owner
		s.adopt(d.credential)
	} else if err != nil {
		s.current, s.problem = credential{}, err
	}
	s.mu.Unlock()
	s.notify(changed)
}

func (s *source) needsLogin() (reason string, needed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loginReason, s.loginReason != ""
}

func (s *source) markNeedsLogin(used Token, reason string) {
	s.mu.Lock()
	current := used == s.current.Access
	if current {
		s.loginReason = reason
	}
	s.mu.Unlock()
	if current {
		s.report()
	}
}

func (s *source) exclude(used Token, reason string) {
	s.mu.Lock()
	current := used == s.current.Access
	if current {
		s.excluded = reason
	}
	s.mu.Unlock()
	if current {
		s.report()
	}
}

func (s *source) confirm(used Token) {
	s.mu.Lock()
	current := used == s.current.Access
	cleared := current && (s.loginReason != "" || s.excluded != "")
	if cleared {
		s.loginReason, s.excluded = "", ""
	}
	if current {
		s.keeper.unproven.clear(s.keys)
	}
	s.mu.Unlock()
	if cleared {
		s.report()
	}
}

// backingOff reports whether a background refresh would be pointless or too early.
func (s *source) backingOff(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loginReason != "" || s.current.Refresh == s.rejected || now.Before(s.backoffUntil) || !s.owner.Is(s.resolved)
}

func (s *source) inFlight() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flight != nil
}

// busy reports whether the source must be kept: a refresh is in flight, or a login is only in memory.
func (s *source) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flight != nil || s.rotated != nil
}
