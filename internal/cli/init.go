package cli

import (
	"fmt"
	"path/filepath"

	"shunt/internal/config"
)

type initCommand struct {
	Service bool `help:"Write a systemd user unit instead, and print the commands that enable it."`
}

// Run writes the starter file where the other commands find it. It never replaces a file.
func (i *initCommand) Run(c *commands, s *System) error {
	if i.Service {
		return writeService(c, s)
	}
	path := c.Config
	if path == "" {
		directory, err := configDirectory(s)
		if err != nil {
			return err
		}
		path = filepath.Join(directory, "shunt", "shunt.toml")
	}
	if err := writeNew(path, config.Starter(), 0o600); err != nil {
		return err
	}
	_, err := fmt.Fprintln(s.Stdout, path)
	return err
}
