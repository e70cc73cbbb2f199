//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
)

// readableWhileLocked reports whether a file can be read while another process holds its lock.
const readableWhileLocked = true

// directoryLock returns the lock that writers of a directory hold: the directory's own.
func directoryLock(path string) *flock.Flock { return flock.New(path, flock.SetFlag(os.O_RDONLY)) }

// ownerOf returns the user who owns a file.
func ownerOf(info fs.FileInfo) int {
	stat, _ := info.Sys().(*syscall.Stat_t)
	return int(stat.Uid)
}

// replace writes the file so that at every moment, also after a crash, a reader finds all of the old content or all of
// the new.
func replace(path string, data []byte) error {
	dir := filepath.Dir(path)
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }()
	if old, err := os.Stat(path); err == nil && os.Geteuid() == 0 {
		// As root on the files of a user: without this the user's own client could not read its login any more.
		// Others may not give files away, and then it is their file.
		if owner, ok := old.Sys().(*syscall.Stat_t); ok {
			_ = f.Chown(int(owner.Uid), int(owner.Gid))
		}
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return syncDirectory(dir)
}

// syncDirectory makes a rename durable. Some file systems cannot sync a directory and report EINVAL or ENOTSUP.
func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
