package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// target is a key that an environment variable stands for.
type target struct {
	key   *key // nil: a list of tables
	at    spot
	owner any
	twice bool // the names of two providers become the same variable
}

// override lets the environment set single values over the file (CFG-3).
func (l *loader) override() {
	targets := map[string]target{}
	l.targets(&schema, spot{}, l.config, targets)
	for _, variable := range slices.Sorted(maps.Keys(l.env)) {
		head, _, nested := strings.Cut(strings.TrimPrefix(variable, "SHUNT_"), "__")
		if !nested || !strings.HasPrefix(variable, "SHUNT_") || schema.table(strings.ToLower(head)) == nil {
			continue
		}
		t, ok := targets[variable]
		switch {
		case !ok:
			l.reportVariable(variable, unknownVariable(variable, targets))
		case t.twice:
			l.reportVariable(variable, "could mean more than one provider; rename one of them or set the key in the file")
		case t.key == nil || t.key.shape == listShape:
			l.reportVariable(variable, fmt.Sprintf("%s is a list, which only the file can set", t.at))
		default:
			l.overrideOne(t, variable)
		}
	}
}

func (l *loader) reportVariable(variable, message string) {
	l.problems = append(l.problems, Problem{Key: variable, Message: message})
}

func (l *loader) overrideOne(t target, variable string) {
	l.places[t.at] = place{variable: variable}
	n := &node{shape: textShape, text: l.env[variable]}
	if t.key.shape != textShape {
		var ok bool
		if n, ok = literal(n.text); !ok {
			l.fail(t.at, "must be "+t.key.expect)
			return
		}
	}
	l.assign(t.key, n, t.at, t.owner, l.here)
}

// targets collects the variables of a table's keys and of those below it, for the providers that there are.
func (l *loader) targets(t *table, in spot, owner any, found map[string]target) {
	add := func(at target) {
		variable := "SHUNT_" + strings.ToUpper(strings.NewReplacer(".", "__", "-", "_").Replace(at.at.String()))
		_, at.twice = found[variable]
		found[variable] = at
	}
	for i := range t.keys {
		add(target{key: &t.keys[i], at: spot{in.table, 0, t.keys[i].name}, owner: owner})
	}
	for i := range t.tables {
		sub := &t.tables[i]
		below := spot{table: spot{in.table, 0, sub.name}.String()}
		switch sub.form {
		case single:
			part, _ := sub.owner(owner, "")
			l.targets(sub, below, part, found)
		case named:
			for _, name := range sub.present(owner) {
				element, _ := sub.owner(owner, name)
				l.targets(sub, spot{table: below.table + "." + segment(name)}, element, found)
			}
		case listed:
			add(target{at: below})
		}
	}
}

func unknownVariable(variable string, targets map[string]target) string {
	for list, t := range targets {
		if t.key == nil && strings.HasPrefix(variable, list+"__") {
			return fmt.Sprintf("%s is a list, which only the file can set", t.at)
		}
	}
	if near, ok := nearest(variable, slices.Sorted(maps.Keys(targets))); ok {
		return fmt.Sprintf("unknown key; did you mean %s?", near)
	}
	return "unknown key; a variable can set a key that the reference lists, of a provider that is built in or in the file"
}
