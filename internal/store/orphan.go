package store

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// OrphanLife is how long a write keeps an orphan in case it is the only copy of something (TOK-6b).
const OrphanLife = 24 * time.Hour

// Orphans implements [Store]. A writer that is killed between writing and renaming leaves a temporary file beside the
// document (beside its target, for a link).
func (d *Dir) Orphans(ctx context.Context, name string) (list []Orphan, err error) {
	err = d.withOrphans(ctx, name, func(target string) {
		document, _ := os.Stat(target)
		for _, o := range orphansOf(target) {
			if data, err := os.ReadFile(o.path); err == nil {
				list = append(list, Orphan{Data: data, Newer: document == nil || o.info.ModTime().After(document.ModTime())})
			}
		}
	})
	return list, err
}

// RemoveOrphans implements [Store].
func (d *Dir) RemoveOrphans(ctx context.Context, name string, age time.Duration) error {
	return d.withOrphans(ctx, name, func(target string) { removeOrphans(target, nil, age) })
}

// withOrphans calls f with the path that a write of the document goes to, while no process is writing. It does nothing
// on a file system without locks, where it cannot know that.
func (d *Dir) withOrphans(ctx context.Context, name string, f func(target string)) error {
	if err := firstError(ctx.Err(), checkName(name)); err != nil {
		return err
	}
	target, err := resolve(filepath.Join(d.path, name))
	if err != nil {
		return err
	}
	unlock, locked, err := lockDirectory(ctx, filepath.Dir(target))
	if err != nil {
		return err
	}
	defer unlock()
	if locked {
		f(target)
	}
	return nil
}

// orphan is a temporary file whose writer has died.
type orphan struct {
	path string
	info fs.FileInfo
}

// orphansOf returns the temporary files of a document, oldest first. The caller holds the lock of the directory, so none
// of them belongs to a live writer. It omits files of other users, who could have planted them.
func orphansOf(target string) (orphans []orphan) {
	entries, err := os.ReadDir(filepath.Dir(target))
	if err != nil {
		return nil
	}
	owners := []int{os.Geteuid()}
	if document, err := os.Stat(target); err == nil {
		owners = append(owners, ownerOf(document))
	}
	for _, e := range entries {
		// renameio names them with a dot, the name of the document, and digits.
		digits, ok := strings.CutPrefix(e.Name(), "."+filepath.Base(target))
		if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err == nil && info.Size() <= MaxSize && slices.Contains(owners, ownerOf(info)) {
			orphans = append(orphans, orphan{filepath.Join(filepath.Dir(target), e.Name()), info})
		}
	}
	slices.SortStableFunc(orphans, func(a, b orphan) int { return a.info.ModTime().Compare(b.info.ModTime()) })
	return orphans
}

// removeOrphans removes the orphans of at least that age, and those with the given content, which the document has now. The
// caller holds the lock of the directory.
func removeOrphans(target string, content []byte, age time.Duration) {
	for _, o := range orphansOf(target) {
		same := false
		if content != nil && o.info.Size() == int64(len(content)) {
			data, err := os.ReadFile(o.path)
			same = err == nil && bytes.Equal(data, content)
		}
		if same || time.Since(o.info.ModTime()) >= age {
			_ = os.Remove(o.path)
		}
	}
}
