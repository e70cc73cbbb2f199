package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"shunt/internal/family"
	"shunt/internal/pool"
	"shunt/internal/quota"
	"shunt/internal/store"
)

// quotaFile is the file with the quota of pooled accounts (QUO-30). It is not safe for concurrent use. A write replaces the whole
// file: a process that is killed at any moment leaves the old file or the new one.
type quotaFile struct {
	path     string
	dir      *store.Dir
	families families
	tables   map[string]*quota.Table // of the families, by their names in the file
	bad      bool                    // the file could not be read, and must not be overwritten
}

// newQuotaFile returns the file at path, for accounts of families. It does not access the disk.
func newQuotaFile(path string, of families) *quotaFile {
	tables := map[string]*quota.Table{}
	for _, f := range of {
		tables[f.StoreName()] = f.Windows
	}
	return &quotaFile{path: path, dir: store.NewDir(filepath.Dir(path)), families: of, tables: tables}
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
	return f.renamed(q, (*family.Family).StoreName, func(f *family.Family) string { return f.Name }), current, nil
}

// renamed returns the quota with another name of each family in its identities.
func (f *quotaFile) renamed(q pool.Quotas, from, to func(*family.Family) string) pool.Quotas {
	names := map[string]string{}
	for _, known := range f.families {
		names[from(known)] = to(known)
	}
	renamed := make(pool.Quotas, len(q))
	for key, record := range q {
		renamed[key.In(names[key.Family()])] = record
	}
	return renamed
}

// Save writes the file.
func (f *quotaFile) Save(ctx context.Context, q pool.Quotas) error {
	if err := f.setAside(); err != nil {
		return err
	}
	written := f.renamed(q, func(f *family.Family) string { return f.Name }, (*family.Family).StoreName)
	if _, err := f.dir.Put(ctx, filepath.Base(f.path), pool.EncodeQuotas(written, f.tables)); err != nil {
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
