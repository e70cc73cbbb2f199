package config

import (
	"bytes"
	"context"
	"crypto/sha256"
	"time"
)

// pollInterval is how often a watched file is read. A change is taken at the second reading that shows it, so within
// twice this time and well inside the 2 s of CFG-50.
const pollInterval = 500 * time.Millisecond

// Reload is the outcome of loading again: a new configuration and its warnings, or why the running one stays.
type Reload struct {
	Config   *Config // nil if Err is not
	Warnings []Warning
	Err      error // a Problems
}

// Watch loads the file again, until ctx ends, when its content has changed (CFG-50) and whenever now receives, as on
// SIGHUP, which also resolves the references in an unchanged file anew. It calls deliver with each outcome, one after the
// other. o and running are those of the last Load; now may be nil.
//
// Contents are compared, not attributes, so a rename over the file, a switched symlink and a bind mount are all alike. A
// change is taken only once two readings agree, because its writer may not have finished, and the very bytes that were
// compared are loaded. A file that has problems, has gone or was emptied is reported once.
func Watch(ctx context.Context, o Options, running *Config, now <-chan struct{}, deliver func(Reload)) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	taken := reading{sum: running.sum}
	last := taken
	take := func(r reading) {
		taken = r
		outcome := r.load(o, running.sum)
		if outcome.Err == nil {
			running = outcome.Config
		}
		deliver(outcome)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-now:
			if !open {
				now = nil
				continue
			}
			last = read(o)
			take(last)
		case <-ticker.C:
			present := read(o)
			if present.same(last) && !present.same(taken) {
				take(present)
			}
			last = present
		}
	}
}

// reading is one look at the file.
type reading struct {
	data []byte
	sum  [sha256.Size]byte // of data
	err  error
}

func read(o Options) reading {
	if o.Path == "" {
		return reading{sum: sha256.Sum256(nil)}
	}
	data, err := readFile(o.Path)
	return reading{data, sha256.Sum256(data), err}
}

func (r reading) same(other reading) bool {
	if r.err != nil && other.err != nil {
		return r.err.Error() == other.err.Error()
	}
	return (r.err == nil) == (other.err == nil) && r.sum == other.sum
}

func (r reading) load(o Options, running [sha256.Size]byte) Reload {
	if r.err != nil {
		return Reload{Err: Problems{{File: o.Path, Message: r.err.Error()}}}
	}
	// An empty file is valid, but one that has become empty is a save that went wrong, such as on a full disk.
	if len(bytes.TrimSpace(r.data)) == 0 && r.sum != running {
		return Reload{Err: Problems{{File: o.Path, Message: "has become empty; to run on the defaults alone, leave a comment in it"}}}
	}
	config, warnings, err := load(o, r.data)
	return Reload{config, warnings, err}
}
