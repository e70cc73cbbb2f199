package cli

import (
	"encoding/json"
	"fmt"
	"runtime"

	"shunt/internal/version"
)

type versionCommand struct {
	JSON bool `help:"Print JSON."`
}

func (v *versionCommand) Run(s *System) error {
	if v.JSON {
		return json.NewEncoder(s.Stdout).Encode(map[string]string{"version": version.String(), "go": runtime.Version()})
	}
	_, err := fmt.Fprintln(s.Stdout, "shunt", version.String())
	return err
}
