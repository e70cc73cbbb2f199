package config

import (
	"crypto/sha256"
	"os"
	"path/filepath"

	"shunt/internal/config/schema"
	"shunt/internal/userfile"
)

// Options are the sources of a configuration.
type Options struct {
	Path string   // the file; empty: only the built-in defaults and the environment (CFG-1)
	Env  []string // as [os.Environ] returns it; of a name given twice the last counts
	// Families are the families of accounts that there are.
	Families []Family
}

// Load reads and validates a configuration as a whole (CFG-2). The environment overrides the file, and the file the defaults.
// If there is any problem, Load returns no Config, and the error is a [Problems].
func Load(o Options) (*Config, []Warning, error) {
	var data []byte
	if o.Path != "" {
		var err error
		if data, err = readFile(o.Path); err != nil {
			return nil, nil, Problems{{File: o.Path, Message: err.Error()}}
		}
	}
	return load(o, data)
}

func load(o Options, data []byte) (*Config, []Warning, error) {
	document, problem := schema.Parse(data)
	if problem != nil {
		problem.File = o.Path
		return nil, nil, Problems{*problem}
	}
	l, err := newLoader(o)
	if err != nil {
		return nil, nil, Problems{{File: o.Path, Message: err.Error()}}
	}
	l.config.sum = sha256.Sum256(data)
	l.decode(document)
	l.Override(l.config)
	l.applyPresets()
	l.applyFamilies()
	l.NotePresence(l.config)
	l.validate()
	if problems := l.Problems(); len(problems) > 0 {
		return nil, nil, problems
	}
	l.warn()
	return l.config, l.Warnings(), nil
}

// Find returns the file to load (CFG-1): path, if it is not empty, or else the first of the usual places where a file exists.
// The result is empty if there is none. The only error, a [Problems], is a path that does not exist.
func Find(path string, env []string) (string, error) {
	if path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", Problems{{File: path, Message: unreadable(err).Error()}}
		}
		return path, nil
	}
	for _, candidate := range usualPlaces(userfile.Environment(env)) {
		// A place that cannot be read counts as missing: a hardened service manager hides the home directory.
		if _, err := os.Stat(candidate); err == nil {
			return candidate, nil
		}
	}
	return "", nil
}

func usualPlaces(env map[string]string) []string {
	const name = "shunt.toml"
	places := []string{"./" + name}
	// The XDG specification says to ignore relative paths.
	if dir := env["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		places = append(places, filepath.Join(dir, "shunt", name))
	} else if home := env["HOME"]; home != "" {
		places = append(places, filepath.Join(home, ".config", "shunt", name))
	}
	if systemDirectory != "" {
		places = append(places, filepath.Join(systemDirectory, name))
	}
	return places
}
