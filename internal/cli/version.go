package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCommand struct {
	JSON bool `help:"Print JSON."`
}

func (v *versionCommand) Run(s *System) error {
	if v.JSON {
		return json.NewEncoder(s.Stdout).Encode(map[string]string{"version": version(), "go": runtime.Version()})
	}
	_, err := fmt.Fprintln(s.Stdout, "shunt", version())
	return err
}

// version returns the version of the build.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}
