package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"shunt/internal/userfile"
)

// maxFile bounds the configuration file and each file that a reference names, in bytes.
const maxFile = 1 << 20

var errTooLarge = fmt.Errorf("is larger than %d bytes", maxFile)

// readFile reads a regular file of at most [maxFile] bytes and removes a byte-order mark (TOK-7f). Its errors complete a sentence
// that begins with the file.
func readFile(path string) ([]byte, error) {
	// This comes before opening the file, because opening a named pipe waits for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(err)
	}
	switch {
	case info.IsDir():
		return nil, errors.New("is a directory; name a file")
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, unreadable(err)
	}
	if len(data) > maxFile {
		return nil, errTooLarge
	}
	return userfile.Text(data)
}

// unreadable removes the path, which the sentence already has.
func unreadable(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("does not exist")
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("cannot be read: %w", err)
}
