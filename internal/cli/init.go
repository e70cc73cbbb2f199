package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"shunt/internal/config"
)

type initCommand struct{}

// Run writes the starter file where the other commands will find it, and never over one that is there.
func (*initCommand) Run(c *commands, s *System) error {
	path := c.Config
	if path == "" {
		directory := s.Getenv("XDG_CONFIG_HOME")
		if !filepath.IsAbs(directory) {
			home := s.Getenv("HOME")
			if home == "" {
				return errors.New("HOME is not set: name the file with --config")
			}
			directory = filepath.Join(home, ".config")
		}
		path = filepath.Join(directory, "shunt", "shunt.toml")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("init: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already and was left as it is", path)
	}
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	_, err = file.Write(config.Starter())
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("init: %w", errors.Join(err, os.Remove(path)))
	}
	_, err = fmt.Fprintln(s.Stdout, path)
	return err
}
