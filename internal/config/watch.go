package config

import (
	"bytes"
	"context"
	"crypto/sha256"
	"time"
)

// pollInterval is how often a watched file is read. The second reading that shows a change loads it, so within twice this
// time, which is well below the 2 s of CFG-50.
const pollInterval = 500 * time.Millisecond

// Reload is the outcome of loading the file again: a new configuration and its warnings, or why the running one stays.
type Reload struct {
	Config   *Config // nil if Err is not
	Warnings []Warning
	Err      error // a Problems
}

// Watch loads the file again, until ctx ends, when its content has changed (CFG-50) and whenever it receives from now, as on
// SIGHUP. The latter also resolves the references of an unchanged file again. Watch calls deliver with each outcome, one after
// the other. o and running are those of the last Load; now may be nil.
//
// Watch compares content, not attributes, so a rename over the file, a switched symlink and a bind mount are all alike. It loads
// a change once two readings agree, because its writer may not have finished, and it loads the very bytes that it compared. It
// reports a file that has problems, has disappeared or has become empty once.
func Watch(ctx context.Context, o Options, running *Config, now <-chan struct{}, deliver func(Reload)) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	loaded := reading{sum: running.sum}
	last := loaded
	reload := func(r reading) {
		loaded = r
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
			reload(last)
		case <-ticker.C:
			current := read(o)
			if current.same(last) && !current.same(loaded) {
				reload(current)
			}
			last = current
		}
	}
}

// reading is the content of the file at one time.
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
	// An empty file is valid, but one that has become empty was probably saved wrongly, for example on a full disk.
	if len(bytes.TrimSpace(r.data)) == 0 && r.sum != running {
		return Reload{Err: Problems{{File: o.Path, Message: "has become empty; to use only the defaults, leave a comment in it"}}}
	}
	config, warnings, err := load(o, r.data)
	return Reload{config, warnings, err}
}
