package store

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	// Two looks and the work that follows a change fit into a second.
	pollInterval = 250 * time.Millisecond

	// A file that was written this short ago may be written again within the resolution of its time stamp.
	timestampGrain = 2 * time.Second
)

// Watch implements [Store]. It polls instead of asking the operating system for events, so that network and container
// file systems, swapped links and replaced directories work alike: first name, size, time and inode, then the content.
// A content counts when two polls in a row have seen it, so that a file that is being written is not taken half.
func (d *Dir) Watch(ctx context.Context, changed func(name string), names ...string) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	sights := map[string]*sight{}
	for ctx.Err() == nil {
		d.lookAround(ctx, sights, names, changed)
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// lookAround is one poll.
func (d *Dir) lookAround(ctx context.Context, sights map[string]*sight, names []string, changed func(name string)) {
	listing := len(names) == 0
	if listing {
		var err error
		if names, err = d.List(ctx); err != nil {
			return // a directory that cannot be read for a moment has not lost its documents
		}
	}
	for _, name := range names {
		if sights[name] == nil {
			sights[name] = &sight{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sights)) {
		s := sights[name]
		if listing && !slices.Contains(names, name) {
			if s.look(nil, func() Version { return "" }) {
				delete(sights, name)
				changed(name)
			}
			continue
		}
		info, _ := os.Stat(filepath.Join(d.path, name))
		if s.look(info, func() Version { return d.versionNow(ctx, name) }) {
			changed(name)
		}
	}
}

// sight is what a watcher knows of one file.
type sight struct {
	looked    bool
	info      fs.FileInfo // of the last look; nil when there was none
	told      Version     // what the watcher's owner knows
	candidate Version     // what the last look saw
	restless  bool        // the last two looks saw two contents, both new
}

// look reports whether the owner has to be told of a change. It reads the file only when it may have changed.
func (s *sight) look(info fs.FileInfo, read func() Version) bool {
	first := !s.looked
	if !first && s.candidate == s.told && unchanged(s.info, info) {
		return false
	}
	before, now := s.candidate, read()
	s.looked, s.info, s.candidate = true, info, now
	if now == s.told {
		s.restless = false
		return false
	}
	if first || now == before || s.restless {
		s.told, s.restless = now, false
		return true
	}
	s.restless = before != s.told
	return false
}

// versionNow reads the file. That it cannot be read is a state like any other, which begins and ends.
func (d *Dir) versionNow(ctx context.Context, name string) Version {
	doc, err := d.Get(ctx, name)
	switch {
	case err == nil:
		return doc.Version
	case errors.Is(err, fs.ErrNotExist):
		return ""
	default:
		return Version("unreadable: " + err.Error())
	}
}

func unchanged(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b) &&
		time.Since(b.ModTime()).Abs() > timestampGrain
}
