package cli

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

//go:embed shunt.service
var unitTemplate string

// writeService writes a systemd unit for the user who runs it, and prints how to enable it.
func writeService(c *commands, s *System) error {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return fmt.Errorf("init: --service writes a systemd unit, and %s does not have systemd: start `shunt run` with the service manager of your system", runtime.GOOS)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	command := quoteUnit(self) + " run"
	if c.Config != "" {
		path, err := filepath.Abs(c.Config)
		if err != nil {
			return fmt.Errorf("init: %w", err)
		}
		command += " --config " + quoteUnit(path)
	}
	directory, err := configDirectory(s)
	if err != nil {
		return err
	}
	path := filepath.Join(directory, "systemd", "user", "shunt.service")
	if err := writeNew(path, []byte(strings.ReplaceAll(unitTemplate, "@COMMAND@", command)), 0o644); err != nil {
		return err
	}
	printLines(s.Stdout, path, "systemctl --user daemon-reload", "systemctl --user enable --now shunt.service")
	return nil
}

// quoteUnit returns a path as one word of a unit's command line.
func quoteUnit(path string) string {
	path = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$").Replace(path)
	return `"` + path + `"`
}

// configDirectory returns the directory where programs of this user keep their configuration.
func configDirectory(s *System) (string, error) {
	if directory := s.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(directory) {
		return directory, nil
	}
	home := s.Getenv("HOME")
	if home == "" {
		return "", errors.New("HOME is not set: name the file with --config")
	}
	return filepath.Join(home, ".config"), nil
}

// writeNew creates a file, which must not exist, and its directories.
func writeNew(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("init: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s already exists and was not changed", path)
	}
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("init: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}
