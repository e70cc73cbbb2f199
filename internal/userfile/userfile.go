// Package userfile handles what is particular to files that people keep and edit themselves: the environment, the
// home directory, a byte-order mark that an editor put at the start, and modes that let other users in. It opens no file and changes nothing.
package userfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
)

// Home returns the home directory of the user. Some containers and services have no HOME.
func Home(getenv func(string) string) (string, error) {
	if home := getenv("HOME"); home != "" {
		return home, nil
	}
	me, err := user.Current()
	if err != nil {
		return "", err
	}
	if me.HomeDir == "" {
		return "", errors.New("there is no home directory")
	}
	return me.HomeDir, nil
}

// Getenv returns what looks a variable up in an environment, as [os.Environ] gives it. The last of equal names counts; a
// variable that is not set is empty.
func Getenv(environ []string) func(name string) string {
	return func(name string) (value string) {
		for _, entry := range environ {
			if v, ok := strings.CutPrefix(entry, name+"="); ok {
				value = v
			}
		}
		return value
	}
}

var errUTF16 = errors.New("is UTF-16 text; save it as UTF-8")

// Text returns the content of a file without the byte-order mark that some editors write first (TOK-7f). The error about a
// file in UTF-16, which nothing here reads, completes a sentence that begins with the file.
func Text(content []byte) ([]byte, error) {
	if bytes.HasPrefix(content, []byte("\xfe\xff")) || bytes.HasPrefix(content, []byte("\xff\xfe")) {
		return nil, errUTF16
	}
	return bytes.TrimPrefix(content, []byte("\ufeff")), nil
}

// Exposure is a mode that lets other users of the machine read or replace a file with secrets in it (TOK-8b).
type Exposure struct {
	Path string // of the file, or of a directory that it is in
	Dir  bool
}

// String returns what is wrong and the command that fixes it.
func (e Exposure) String() string {
	if e.Dir {
		return fmt.Sprintf("others can write to the directory %s, and so replace the secrets in it: `chmod go-w %s`", e.Path, shellWord(e.Path))
	}
	return fmt.Sprintf("others can read or write %s, which holds secrets: `chmod 600 %s`", e.Path, shellWord(e.Path))
}

// Exposures returns what is wrong with the modes of a file, and of the directories that it is in and that its symbolic
// link, if it is one, leads to. A sticky directory protects what is in it. A file that is not there has none.
func Exposures(path string) (found []Exposure) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o066 != 0 {
		found = append(found, Exposure{Path: path})
	}
	dirs := []string{filepath.Dir(path)}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		dirs = append(dirs, filepath.Dir(target))
	}
	for _, dir := range slices.Compact(dirs) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
			found = append(found, Exposure{Path: dir, Dir: true})
		}
	}
	return found
}

// shellWord quotes a path for a shell where it needs that.
func shellWord(path string) string {
	const plain = "/._-+:,@%=0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !strings.ContainsRune(plain, r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
