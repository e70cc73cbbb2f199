package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"shunt/internal/store"
)

const (
	writeRetry = 5 * time.Second
	writeTries = 10 // while a program that ignores the lease writes at the same time
)

// write puts the rotated credential into the document and keeps everything else in it (ACC-1). If that fails, the
// credential stays in memory and the write is retried (TOK-7d). The caller holds the lease of the document.
func (s *source) write(ctx context.Context) {
	s.disk.Lock()
	before, _ := s.usable()
	err := s.writeRotated(ctx)
	s.mu.Lock()
	s.writeErr, s.writeAt = err, time.Time{}
	if err != nil {
		s.writeAt = s.keeper.clock.Now().Add(writeRetry)
	}
	if s.rotated != nil && !sameTokens(s.current, *s.rotated) {
		s.adopt(*s.rotated)
	}
	changed := !sameTokens(before, s.current)
	s.mu.Unlock()
	s.disk.Unlock()
	s.notify(changed)
}

func (s *source) writeRotated(ctx context.Context) error {
	for range writeTries {
		d, version, err := s.read(ctx)
		if err != nil {
			return err
		}
		s.update(d, version, nil)
		s.mu.Lock()
		rotated := s.rotated
		s.mu.Unlock()
		if rotated == nil {
			return nil // the file has it, or another login
		}
		version, err = s.store.PutIf(ctx, s.name, d.with(*rotated), version)
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.seen, s.onDisk, s.rotated = version, *rotated, nil
		if !sameTokens(s.current, *rotated) {
			s.adopt(*rotated)
		}
		s.mu.Unlock()
		return nil
	}
	return fmt.Errorf("%s changes too often", s.place)
}

// save writes a credential that is only in memory.
func (s *source) save(ctx context.Context) error {
	lease, err := s.lease(ctx)
	if err != nil {
		s.mu.Lock()
		s.writeErr = err
		s.mu.Unlock()
		s.report()
		return err
	}
	defer lease.Release()
	s.write(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writeErr
}

// writeDue reports, once for each attempt, whether it is time to write a credential that is only in memory (TOK-7d).
func (s *source) writeDue(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := s.rotated != nil && s.flight == nil && !now.Before(s.writeAt)
	if due {
		s.writeAt = now.Add(leaseTimeout + writeRetry) // unless the attempt sets another time
	}
	return due
}

// unwritten reports whether the login is only in memory.
func (s *source) unwritten() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rotated != nil
}
