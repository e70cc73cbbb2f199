//go:build unix

package cli

import "github.com/google/renameio/v2"

// replaceFile writes a file that everyone may read, as far as the umask allows. A reader finds all of the old content or all
// of the new.
func replaceFile(path string, data []byte) error {
	file, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer file.Cleanup()
	if _, err := file.Write(data); err != nil {
		return err
	}
	return file.CloseAtomicallyReplace()
}
