package account

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"shunt/internal/store"
)

// startWait is how long startup waits for another process that uses the same document.
const startWait = time.Second

// recoverAtStart recovers a login when the document is read for the first time (TOK-6b). If another process holds the lease,
// that process does it, or the first refresh that is rejected.
func (s *source) recoverAtStart(ctx context.Context) {
	orphans, err := s.store.Orphans(ctx, s.name)
	if err != nil || len(orphans) == 0 {
		return
	}
	waiting, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	lease, err := s.store.Lease(waiting, s.name)
	if err != nil {
		return
	}
	defer lease.Release()
	s.recoverLogin(ctx)
	_ = s.store.RemoveOrphans(ctx, s.name, store.OrphanLife) // those that are too young are removed later
}

// recoverLogin replaces a login whose refresh token is spent with its successor, if the process that refreshed it was killed
// before it had renamed the new file (TOK-6b). It reports whether it did. The caller holds the lease of the document.
func (s *source) recoverLogin(ctx context.Context) bool {
	orphans, err := s.store.Orphans(ctx, s.name)
	if err != nil || len(orphans) == 0 {
		return false
	}
	s.disk.Lock()
	d, _, err := s.read(ctx)
	s.disk.Unlock()
	if err != nil {
		return false
	}
	next, ok := d.successorIn(orphans)
	if !ok {
		return false
	}
	_, spent := s.keeper.successors.latest(next)
	if current, err := s.usable(); spent || err != nil || !sameTokens(current, d.credential) {
		return false
	}
	s.mu.Lock()
	s.keeper.unproven.clear(s.keys)
	s.mu.Unlock()
	s.rotate(ctx, d.credential, next, false)
	s.keeper.log.Warn("recovered the newest login from a temporary file; a process was killed while it wrote the file", "account", s.title())
	return true
}

// successorIn returns the newest login among the orphans of a credentials file that is a successor of the file's own. A
// truncated orphan does not parse, and an outdated one expires earlier.
func (d document) successorIn(orphans []store.Orphan) (newest credential, ok bool) {
	if !d.refreshable() {
		return credential{}, false
	}
	newest = d.credential
	for _, orphan := range orphans {
		o, err := parse(d.format, orphan.Data)
		if err != nil || !o.refreshable() || o.Refresh == d.Refresh || !d.sameAccount(o) {
			continue
		}
		later := o.Expires.Compare(newest.Expires)
		if later > 0 || later == 0 && (ok || orphan.Newer) {
			newest, ok = o.credential, true
		}
	}
	return newest, ok
}

// sameAccount reports whether an orphan certainly belongs to the account of the file: both name the account, or they differ
// in the login only.
func (d document) sameAccount(o document) bool {
	ours, its := d.file.Owner, o.file.Owner
	if ours.Account == "" || its.Account == "" {
		return sameJSON(d.with(o.credential), o.file.Text)
	}
	return its.Is(ours)
}

// sameJSON reports whether two valid JSON texts are equal except for white space.
func sameJSON(a, b []byte) bool {
	var first, second bytes.Buffer
	return json.Compact(&first, a) == nil && json.Compact(&second, b) == nil && bytes.Equal(first.Bytes(), second.Bytes())
}
