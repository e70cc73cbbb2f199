package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"shunt/internal/config/schema"
	"shunt/internal/userfile"
)

// Problem is an error or a warning about a configuration.
type Problem = schema.Problem

// Problems is the only type of error that [Load] returns.
type Problems = schema.Problems

// Warning is a problem with which a configuration still loads (CFG-45).
type Warning = schema.Problem

// loader builds one Config.
type loader struct {
	*schema.Loader
	config   *Config
	families families
	env      map[string]string
}

func newLoader(o Options) (*loader, error) {
	here, err := filepath.Abs(".")
	if err != nil {
		return nil, fmt.Errorf("needs a working directory: %w", err)
	}
	dir := filepath.Dir(o.Path)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(here, dir)
	}
	env := userfile.Environment(o.Env)
	keys := newSchema(o.Families)
	l := &loader{config: &Config{Path: o.Path, schema: keys}, families: o.Families, env: env}
	l.Loader = schema.NewLoader(keys, schema.Source{
		File: o.Path, Env: env, ReadFile: readFile,
		InFile: schema.Base{Dir: dir, Home: env["HOME"]},
		InEnv:  schema.Base{Dir: here, Home: env["HOME"]},
	})
	l.Defaults(l.config, builtin)
	return l, nil
}

// decode puts the file into the Config. Providers come from one of two forms (CFG-20).
func (l *loader) decode(document *schema.Document) {
	if document.IsList("upstreams") {
		l.config.ordered, l.config.Providers = true, nil
		l.Reject(document, "providers", &Config{}, "cannot be combined with [[upstreams]]; declare all providers in one of the two ways")
	}
	l.Decode(document, l.config)
	if !l.config.ordered {
		slices.SortFunc(l.config.Providers, func(a, b Provider) int { return cmp.Compare(a.Name, b.Name) })
	}
}

// applyFamilies notes which providers are pools, and of which family.
func (l *loader) applyFamilies() {
	for i := range l.config.Providers {
		p := &l.config.Providers[i]
		if f, ok := l.families.pool(p.Auth); ok {
			p.Family = f.Name
		}
	}
}
