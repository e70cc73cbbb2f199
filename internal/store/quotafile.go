package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"shunt/internal/identity"
	"shunt/internal/quota"
)

// Quotas is what is known of the quota of each identity.
type Quotas = map[identity.Key]quota.Record

// QuotaFile is the file that carries the quota of pooled accounts from one run of the process to the next (QUO-30). It
// is read once and then written from time to time, by one goroutine. A write replaces it as a whole: a process that is
// killed at any moment leaves the old file or the new one.
type QuotaFile struct {
	path string
	dir  *Dir
	bad  bool // what is there could not be read, and is to be kept
}

// NewQuotaFile is the file at path. It does not touch the disk.
func NewQuotaFile(path string) *QuotaFile {
	return &QuotaFile{path: path, dir: NewDir(filepath.Dir(path))}
}

// Load reads the file, with the times that a process of that start may trust in (QUO-34). A file that does not exist is
// empty. Current is whether the file says the same in the present version; else it is to be written again (QUO-36).
//
// After an error the caller begins with nothing (QUO-32). What could not be read is then kept aside as PATH.bad; if that
// fails too, no write takes place until it succeeds.
func (f *QuotaFile) Load(ctx context.Context, start time.Time) (q Quotas, current bool, err error) {
	doc, err := f.dir.Get(ctx, filepath.Base(f.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	if err == nil {
		q, current, err = DecodeQuotas(doc.Data, start)
	}
	if err != nil {
		f.bad = true
		return nil, true, errors.Join(fmt.Errorf("read %s: %w", f.path, err), f.setAside())
	}
	return q, current, nil
}

// Save writes the file.
func (f *QuotaFile) Save(ctx context.Context, q Quotas) error {
	if err := f.setAside(); err != nil {
		return err
	}
	if _, err := f.dir.Put(ctx, filepath.Base(f.path), EncodeQuotas(q)); err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return nil
}

// setAside moves a bad file out of the way, so that it is not overwritten. Something that is no file stays.
func (f *QuotaFile) setAside() error {
	if !f.bad {
		return nil
	}
	info, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file: %w", f.path, fs.ErrInvalid)
	default:
		if err := os.Rename(f.path, f.path+".bad"); err != nil {
			return err
		}
	}
	f.bad = false
	return nil
}
