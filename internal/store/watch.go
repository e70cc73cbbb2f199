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
	// Two polls and the work that follows a change fit into a second.
	pollInterval = 250 * time.Millisecond

	// A file written less than this ago may be written again without a change of its timestamp.
	timestampGrain = 2 * time.Second
)

// Watch implements [Store]. It polls instead of using events of the operating system, so that network and container file
// systems, swapped links and replaced directories work alike. It compares name, size, time and inode, and then the
// content. New content counts when two polls in a row have read it, so that a half-written file does not.
func (d *Dir) Watch(ctx context.Context, changed func(name string), names ...string) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	files := map[string]*watchedFile{}
	for ctx.Err() == nil {
		d.poll(ctx, files, names, changed)
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// poll calls changed for every file that has changed since the last poll.
func (d *Dir) poll(ctx context.Context, files map[string]*watchedFile, names []string, changed func(name string)) {
	listing := len(names) == 0
	if listing {
		var err error
		if names, err = d.List(ctx); err != nil {
			return // a directory that cannot be read now still has its documents
		}
	}
	for _, name := range names {
		if files[name] == nil {
			files[name] = &watchedFile{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := files[name]
		if listing && !slices.Contains(names, name) {
			if f.update(nil, func() Version { return "" }) {
				delete(files, name)
				changed(name)
			}
			continue
		}
		info, _ := os.Stat(filepath.Join(d.path, name))
		if f.update(info, func() Version { return d.version(ctx, name) }) {
			changed(name)
		}
	}
}

// watchedFile is the state of one file at the last poll.
type watchedFile struct {
	polled   bool
	info     fs.FileInfo // nil if the file did not exist
	reported Version     // the caller of Watch has this one
	latest   Version
	unstable bool // the last two polls read different contents, both new
}

// update records a poll and reports whether the file has changed for the caller of Watch. It reads the file only if that
// may have changed.
func (f *watchedFile) update(info fs.FileInfo, read func() Version) bool {
	first := !f.polled
	if !first && f.latest == f.reported && unchanged(f.info, info) {
		return false
	}
	before, now := f.latest, read()
	f.polled, f.info, f.latest = true, info, now
	if now == f.reported {
		f.unstable = false
		return false
	}
	if first || now == before || f.unstable {
		f.reported, f.unstable = now, false
		return true
	}
	f.unstable = before != f.reported
	return false
}

// version reads the file. A failure to read it is a version too, so that its beginning and its end are changes.
func (d *Dir) version(ctx context.Context, name string) Version {
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
