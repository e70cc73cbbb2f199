package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Dir is a [Store] of the files in one directory, which it creates with mode 0700 when it first writes. A directory that
// does not exist is an empty store. Files have mode 0600 after a write and keep their owner where the process may
// set it; on Windows they have the access control list that they inherit from their directory. A symbolic link is followed and stays one, but is not listed (TOK-6, ACC-4).
//
// Leases are advisory locks of the operating system: on a lock file beside the document (beside its target, for a link),
// or on the document itself where no lock file can be made, as on a read-only or a full disk. Such a lease does not
// expire; it ends when its holder releases it or dies. On a file system without locks, Lease fails, and PutIf may miss a
// write of another process that comes between its comparison and its rename.
type Dir struct{ path string }

var _ Store = (*Dir)(nil)

// NewDir returns the store of the directory at path. It does not touch the disk.
func NewDir(path string) *Dir { return &Dir{path} }

// Get implements [Store].
func (d *Dir) Get(ctx context.Context, name string) (Doc, error) {
	if err := firstError(ctx.Err(), checkName(name)); err != nil {
		return Doc{}, err
	}
	path := filepath.Join(d.path, name)
	// Opening a pipe or a device could block.
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Doc{}, err
	case !info.Mode().IsRegular():
		return Doc{}, fmt.Errorf("%s is not a regular file: %w", path, fs.ErrInvalid)
	}
	f, err := os.Open(path)
	if err != nil {
		return Doc{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err := firstError(err, checkSize(path, int64(len(data)))); err != nil {
		return Doc{}, err
	}
	return Doc{data, versionOf(data)}, nil
}

// Put implements [Store].
func (d *Dir) Put(ctx context.Context, name string, data []byte) (Version, error) {
	return d.put(ctx, name, data, func() error { return nil })
}

// PutIf implements [Store].
func (d *Dir) PutIf(ctx context.Context, name string, data []byte, was Version) (Version, error) {
	return d.put(ctx, name, data, func() error {
		doc, err := d.Get(ctx, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if doc.Version != was {
			return fmt.Errorf("%s: %w", filepath.Join(d.path, name), ErrConflict)
		}
		return nil
	})
}

func (d *Dir) put(ctx context.Context, name string, data []byte, check func() error) (Version, error) {
	if err := firstError(ctx.Err(), checkName(name), checkSize(name, int64(len(data)))); err != nil {
		return "", err
	}
	if err := d.create(); err != nil {
		return "", err
	}
	target, err := resolve(filepath.Join(d.path, name))
	if err != nil {
		return "", err
	}
	unlock, locked, err := lockDirectory(ctx, filepath.Dir(target))
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := check(); err != nil {
		return "", err
	}
	if err := replace(target, data); err != nil {
		if errors.Is(err, syscall.EBUSY) {
			err = fmt.Errorf("%w (a mount point cannot be replaced: mount its directory instead of the file)", err)
		}
		return "", err
	}
	if locked {
		removeOrphans(target, data, OrphanLife)
	}
	return versionOf(data), nil
}

// Remove implements [Store]. It removes a symbolic link, not its target, and the orphans, so that no login stays on the
// disk.
func (d *Dir) Remove(ctx context.Context, name string) error {
	if err := firstError(ctx.Err(), checkName(name)); err != nil {
		return err
	}
	unlock, locked, err := lockDirectory(ctx, d.path)
	if err != nil {
		return err
	}
	defer unlock()
	path := filepath.Join(d.path, name)
	if err := os.Remove(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if locked {
		for _, o := range orphansOf(path) {
			_ = os.Remove(o.path)
		}
	}
	return syncDirectory(d.path)
}

// List implements [Store].
func (d *Dir) List(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && checkName(e.Name()) == nil && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// create makes the directory and syncs its parent.
func (d *Dir) create() error {
	if _, err := os.Stat(d.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(d.path))
}

// resolve follows symbolic links to the file that a write goes to, which may not exist yet.
func resolve(path string) (string, error) {
	for range 40 {
		real, err := filepath.EvalSymlinks(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return real, err
		}
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}
