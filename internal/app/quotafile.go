package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/store"
)

// quotaFile is the file with the quota of pooled accounts (QUO-30). It is not safe for concurrent use. A write replaces the whole
// file: a process that is killed at any moment leaves the old file or the new one.
type quotaFile struct {
	path   string
	dir    *store.Dir
	tables map[string]*quota.Table
	bad    bool // the file could not be read, and must not be overwritten
}

// newQuotaFile returns the file at path, for accounts of the families that have tables. It does not access the disk.
func newQuotaFile(path string, tables map[string]*quota.Table) *quotaFile {
	return &quotaFile{path: path, dir: store.NewDir(filepath.Dir(path)), tables: tables}
}

// Load reads the file, with the times on which a process that started at start can rely (QUO-34). A file that does not exist is
// empty. Current reports whether the file has the current version; if not, it should be written again (QUO-36).
//
// A file that could not be read is kept as PATH.bad (QUO-32); if it cannot be renamed, Save does not write until it can.
func (f *quotaFile) Load(ctx context.Context, start time.Time) (q pool.Quotas, current bool, err error) {
	// A killed process leaves an incomplete file behind. The next save writes all that is known.
	_ = f.dir.RemoveOrphans(ctx, filepath.Base(f.path), 0)
	doc, err := f.dir.Get(ctx, filepath.Base(f.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	if err == nil {
		q, current, err = pool.DecodeQuotas(doc.Data, f.tables, start)
	}
	if err != nil {
		f.bad = true
		return nil, true, errors.Join(fmt.Errorf("read %s: %w", f.path, err), f.setAside())
	}
	return q, current, nil
}

// Save writes the file.
func (f *quotaFile) Save(ctx context.Context, q pool.Quotas) error {
	if err := f.setAside(); err != nil {
		return err
	}
	if _, err := f.dir.Put(ctx, filepath.Base(f.path), pool.EncodeQuotas(q, f.tables)); err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return nil
}

// setAside renames a bad file, so that it is not overwritten. It fails if the path is not a regular file.
func (f *quotaFile) setAside() error {
	if !f.bad {
		return nil
	}
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: %w", f.path, fs.ErrInvalid)
	default:
		if err := os.Rename(f.path, f.path+".bad"); err != nil {
			return err
		}
	}
	f.bad = false
	return nil
}
