package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"shunt/internal/app"
	"shunt/internal/config"
)

type checkCommand struct {
	Explain string `placeholder:"MODEL" help:"Show where requests for a model would go, and with which credentials."`
	JSON    bool   `help:"Print JSON."`
}

// Run checks the configuration without opening the account store or using the network (CFG-46).
func (k *checkCommand) Run(c *commands, s *System) error {
	cfg, warnings, err := load(c, s)
	var problems config.Problems
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	var explained *explanation
	if k.Explain != "" && len(problems) == 0 {
		if explained, err = explain(cfg, k.Explain); err != nil {
			return err
		}
	}
	if k.JSON {
		result := checkResult(problems, warnings)
		result.Explained = explained
		if err := json.NewEncoder(s.Stdout).Encode(result); err != nil {
			return err
		}
	} else {
		for _, w := range warnings {
			fmt.Fprintln(s.Stderr, "warning:", w)
		}
		if len(problems) == 0 {
			if c.Config == "" {
				fmt.Fprintln(s.Stderr, "checked:", cmp.Or(cfg.Path, "no file; using the built-in defaults"))
			}
			fmt.Fprintln(s.Stdout, "config ok")
		}
		if explained != nil {
			explained.print(s.Stdout)
		}
		for _, p := range problems {
			fmt.Fprintln(s.Stdout, p)
		}
	}
	if len(problems) > 0 {
		return errReported
	}
	return nil
}

// load finds and loads the configuration that the flags name.
func load(c *commands, s *System) (*config.Config, []config.Warning, error) {
	path, err := config.Find(c.Config, s.Env)
	if err != nil {
		return nil, nil, err
	}
	return config.Load(config.Options{Path: path, Env: s.Env, Families: app.ConfigFamilies(c.families)})
}

type problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
}

type checked struct {
	OK       bool      `json:"ok"`
	Problems []problem `json:"problems"`
	Warnings []problem `json:"warnings"`

	Explained *explanation `json:"explained,omitempty"`
}

// checkResult returns the result for programs.
func checkResult(problems config.Problems, warnings []config.Warning) checked {
	result := checked{OK: len(problems) == 0, Problems: []problem{}, Warnings: []problem{}}
	for _, p := range problems {
		result.Problems = append(result.Problems, problem(p))
	}
	for _, w := range warnings {
		result.Warnings = append(result.Warnings, problem(w))
	}
	return result
}
