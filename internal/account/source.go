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

// source is where one credential comes from, a document of a store or a variable of the environment, and what is known
// of that credential. Every entry that leads there shares it.
type source struct {
	keeper *Keeper
	place
	store store.Store // nil for a variable of the environment

	// disk is held while the document is read or written, so that what is learned from it is learned in order.
	disk sync.Mutex

	// reporting is held while conditions are told, so that the last word is about the last state.
	reporting sync.Mutex
	reported  map[string]string // the details by the names of the conditions

	// Only Resolve uses these.
	exposed  map[string]bool // the modes that have been warned of (TOK-8b)
	searched bool            // whether a login to recover was looked for (TOK-6b)

	mu      sync.Mutex // never held across I/O; guards what follows
	current credential // in use; durable unless rotated is set
	problem error      // why current is none; nil if it is one
	seen    store.Version
	onDisk  credential // what the document last held that could be used

	// rotated is a credential that the document has yet to get. While a refresh writes it, current is still the old one.
	rotated  *credential
	writeErr error     // why the last write failed
	writeAt  time.Time // when to try again

	owner oauth.Owner // as the document has it

	loginReason  string        // why a person has to log in again; empty: not needed (TOK-7)
	refused      secret.String // the refresh token that the provider will not take again
	refreshErr   error         // why the last refresh failed
	failures     int           // refreshes that failed in a row
	failedAt     time.Time     // when the last of them did
	backoffUntil time.Time     // no refresh in the background before

	flight      *flight // the refresh that runs
	warned      store.Version
	titles      []string // the entries that lead here, "provider/name"
	keys        []identity.Key
	unannounced bool // the credential changed before anybody could be told whose it is
}

// unreadable is an error that says nothing of the document: the disk failed, or for now forbids reading.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

// absent is the error of a document that is not there.
type absent struct{ place }

func (a absent) Error() string { return "there is no file " + a.String() }

// missing reports whether the source is a file of the store that is not there.
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

// read returns the document, and why it cannot be used if it cannot. The caller holds disk.
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

// look brings the source up to date with its document, which may have become unusable. It reports whether the content
// is new, other than by a write of our own.
func (s *source) refreshFromDisk(ctx context.Context) (news bool) {
	s.disk.Lock()
	d, version, err := s.read(ctx)
	if _, bad := s.usable(); err != nil && bad == nil {
		// A writer that does not rename leaves a file empty for a moment; a login is not given up for that.
		s.disk.Unlock()
		_ = clock.Clock{}.Sleep(ctx, settleTime)
		s.disk.Lock()
		d, version, err = s.read(ctx)
	}
	news, changed := s.update(d, version, err)
	s.disk.Unlock()
	s.notify(changed)
	return news
}

// reread does the same under the lock of the document, before and after a refresh (TOK-4, TOK-7b), but an unusable
// document is only an error then: whether it stays so is for look to find out.
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

// learn takes in what was read. It reports whether the content is news, and whether the credential changed.
func (s *source) update(d document, version store.Version, problem error) (news, changed bool) {
	successor, spent := s.keeper.successors.latest(d.credential)
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.As(problem, new(unreadable)) && s.problem == nil {
		return false, false // what is in memory may be all that is left of the login
	}
	news = version != s.seen || (problem == nil) != (s.problem == nil)
	s.seen = version
	if problem != nil {
		s.problem, s.current, s.rotated, s.writeErr = problem, credential{}, nil, nil
		return news, false
	}
	s.owner = d.file.Owner
	newest := s.current
	if s.rotated != nil {
		newest = *s.rotated
	}
	switch {
	case sameTokens(d.credential, newest):
		s.onDisk, s.rotated, s.writeErr = d.credential, nil, nil
		if d.Expires.UnixMilli() == newest.Expires.UnixMilli() {
			// Ours may hold monotonic readings, by which a step of the wall clock does not age it.
			d.credential = newest
		}
		if changed = !sameTokens(s.current, d.credential); changed {
			s.adopt(d.credential)
		}
		s.current, s.problem = d.credential, nil
	case s.rotated != nil && sameTokens(d.credential, s.onDisk):
		// Not written yet.
	case spent:
		// Somebody put back what this process rotated away from: a client that rewrites the file from its memory, or a
		// backup; or it is a copy of another entry's file. The provider would refuse it.
		s.onDisk, s.rotated = d.credential, &successor
		if changed = !sameTokens(s.current, successor); changed {
			s.adopt(successor)
		}
	default:
		s.onDisk, s.rotated, s.writeErr = d.credential, nil, nil
		s.adopt(d.credential)
		s.keeper.unproven.clear(s.keys)
		changed = true
	}
	return news, changed
}

// adopt makes a credential the current one, about which nothing bad is known. The caller holds mu.
func (s *source) adopt(c credential) {
	s.current, s.problem = c, nil
	s.loginReason, s.refused, s.refreshErr, s.failures, s.backoffUntil = "", secret.String{}, nil, 0, time.Time{}
}

// updateFromVariable brings the source up to date with the environment (ACC-2).
func (s *source) updateFromVariable(value string) {
	access, err := oauth.ParseToken(value)
	switch {
	case err != nil:
		err = fmt.Errorf("the variable %s %w", s.name, err)
	case access.IsZero():
		err = fmt.Errorf("the variable %s is not set", s.name)
	}
	s.mu.Lock()
	changed := err == nil && access != s.current.Access
	if changed {
		s.adopt(credential{Credential: oauth.Credential{Access: access, SetupToken: true}})
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

func (s *source) confirm(used Token) {
	s.mu.Lock()
	current := used == s.current.Access
	over := current && s.loginReason != ""
	if over {
		s.loginReason = ""
	}
	if current {
		s.keeper.unproven.clear(s.keys)
	}
	s.mu.Unlock()
	if over {
		s.report()
	}
}

// backingOff reports whether a refresh would be pointless or too soon.
func (s *source) backingOff(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loginReason != "" || s.current.Refresh == s.refused || now.Before(s.backoffUntil)
}

func (s *source) inFlight() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flight != nil
}

// busy reports whether the source may not be forgotten: something runs, or a login is only in memory.
func (s *source) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flight != nil || s.rotated != nil
}
