package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// readableWhileLocked reports whether a file can be read while another process holds its lock. Windows enforces locks.
const readableWhileLocked = false

// directoryLock returns the lock that writers of a directory hold: that of a file in it, since Windows does not lock
// directories.
func directoryLock(path string) *flock.Flock { return flock.New(filepath.Join(path, lockSuffix)) }

// ownerOf returns the user of this process for every file: the owner of a file is part of its access control list,
// which [fs.FileInfo] does not have. So anyone who may write to the directory can plant an orphan.
func ownerOf(fs.FileInfo) int { return os.Geteuid() }

// replace writes the file so that a reader finds all of the old content or all of the new. The file gets the access
// control list that new files in its directory inherit: its mode does not protect it. A file that another process has
// open cannot be replaced, so replace tries for a second.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
		for end := time.Now().Add(time.Second); errors.Is(err, fs.ErrPermission) && time.Now().Before(end); {
			time.Sleep(lockPoll)
			err = os.Rename(f.Name(), path)
		}
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// syncDirectory does nothing: Windows cannot sync a directory. After a power failure the old content may be back.
func syncDirectory(string) error { return nil }
