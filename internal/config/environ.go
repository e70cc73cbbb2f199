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
	l.targets(&schema, "SHUNT_", spot{}, l.config, targets)
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

// targets collects the variables of a table's keys and of those below it, for the providers that there are. Their names begin
// with prefix.
func (l *loader) targets(t *table, prefix string, in spot, owner any, found map[string]target) {
	add := func(variable string, at target) {
		_, at.twice = found[variable]
		found[variable] = at
	}
	for i := range t.keys {
		k := &t.keys[i]
		add(prefix+capitals(k.name), target{key: k, at: in.of(k.name), owner: owner})
	}
	for i := range t.tables {
		sub := &t.tables[i]
		variable, at := prefix+capitals(sub.name), in.of(sub.name)
		switch {
		case sub.form == single:
			part, _ := sub.owner(owner, "")
			if sub.short != nil {
				add(variable, target{key: sub.key(sub.short.key), at: at.below().of(sub.short.key), owner: part})
			}
			l.targets(sub, variable+"__", at.below(), part, found)
		case sub.elements == nil:
			add(variable, target{at: at})
		default:
			for i, e := range sub.elements(owner) {
				table := at.item(i)
				if sub.form == named {
					table = at.below().of(segment(e.name)).below()
				}
				l.targets(sub, variable+"__"+capitals(e.name)+"__", table, e.owner, found)
			}
		}
	}
}

// capitals is a part of a key as variables have it.
func capitals(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

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
