// Package userfile has what code needs to use files that people keep and edit themselves: the environment, the home
// directory, byte-order marks, and file modes that give other users access. It opens no file and changes nothing.
package userfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Home returns the user's home directory: $HOME, or the one in the user database, since some services do not set HOME.
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

// Environment returns the variables of a list in the form of [os.Environ]. Of several variables with one name, the last counts.
func Environment(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			env[name] = value
		}
	}
	return env
}

// Getenv returns a function like [os.Getenv] for an environment in the form of [os.Environ]. See [Environment].
func Getenv(environ []string) func(name string) string {
	env := Environment(environ)
	return func(name string) string { return env[name] }
}

var errUTF16 = errors.New("is UTF-16 text; save it as UTF-8")

// Text returns the content of a file without a byte-order mark at its start (TOK-7f). It fails for UTF-16; the error completes
// a sentence whose subject is the file.
func Text(content []byte) ([]byte, error) {
	if bytes.HasPrefix(content, []byte("\xfe\xff")) || bytes.HasPrefix(content, []byte("\xff\xfe")) {
		return nil, errUTF16
	}
	return bytes.TrimPrefix(content, []byte("\ufeff")), nil
}

// Exposure is a file mode that lets other users of the machine read or replace a file with secrets (TOK-8b).
type Exposure struct {
	Path string // of the file or of its directory
	Dir  bool
}

// String returns a description of the problem and the command that fixes it.
func (e Exposure) String() string {
	if e.Dir {
		return fmt.Sprintf("others can write to the directory %s, and so replace the secrets in it: `chmod go-w %s`", e.Path, shellWord(e.Path))
	}
	return fmt.Sprintf("others can read or write %s, which holds secrets: `chmod 600 %s`", e.Path, shellWord(e.Path))
}

// Exposures returns the exposures of a file, of its directory and, for a symbolic link, of the directory of its target. A
// sticky directory protects its files. A file that does not exist has no exposures.
//
// On Windows it returns nothing. Access there depends on access control lists, and the mode that Go makes up from the
// read-only attribute says nothing about other users.
func Exposures(path string) (found []Exposure) {
	if runtime.GOOS == "windows" {
		return nil
	}
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

// shellWord quotes a path for a shell if necessary.
func shellWord(path string) string {
	const plain = "/._-+:,@%=0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !strings.ContainsRune(plain, r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
