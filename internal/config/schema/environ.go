package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// target is a key that an environment variable sets.
type target struct {
	key       *Key // nil: a list of tables
	at        Spot
	owner     any
	ambiguous bool // the variable stands for several keys, in tables whose names differ in - and _ only
}

// Override lets the environment set single values over those of the file. The variable of a key is the prefix of the schema
// and then the key's full name in capitals, with __ between its parts and _ for -. A variable of this form is a problem if its
// first part names a table of the root and it fits no key; any other variable is ignored.
func (l *Loader) Override(owner any) {
	targets := map[string]target{}
	l.schema.Root.targets(l.schema.Prefix, Spot{}, owner, targets)
	for _, variable := range slices.Sorted(maps.Keys(l.source.Env)) {
		name, prefixed := strings.CutPrefix(variable, l.schema.Prefix)
		first, _, nested := strings.Cut(name, "__")
		if !prefixed || !nested || l.schema.Root.table(strings.ToLower(first)) == nil {
			continue
		}
		t, ok := targets[variable]
		switch {
		case !ok:
			l.reportVariable(variable, unknownVariable(variable, targets))
		case t.ambiguous:
			l.reportVariable(variable, "could set the key of more than one table; rename one of them or set the key in the file")
		case t.key == nil || t.key.shape == listShape:
			l.reportVariable(variable, fmt.Sprintf("%s is a list, which only the file can set", t.at))
		default:
			l.override(t, variable)
		}
	}
}

func (l *Loader) reportVariable(variable, message string) {
	l.problems = append(l.problems, Problem{Key: variable, Message: message})
}

func (l *Loader) override(t target, variable string) {
	l.places[t.at] = place{variable: variable}
	n := &node{shape: textShape, text: l.source.Env[variable]}
	if t.key.shape != textShape {
		var ok bool
		if n, ok = literal(n.text); !ok {
			l.Fail(t.at, "must be "+t.key.expect)
			return
		}
	}
	l.assign(t.key, n, t.at, t.owner, l.source.InEnv)
}

// targets collects the variables of a table's keys and of the tables in it that exist. The names of the variables begin with
// prefix.
func (t *Table) targets(prefix string, in Spot, owner any, found map[string]target) {
	add := func(variable string, at target) {
		_, at.ambiguous = found[variable]
		found[variable] = at
	}
	for i := range t.Keys {
		k := &t.Keys[i]
		add(prefix+capitals(k.Name), target{key: k, at: in.Of(k.Name), owner: owner})
	}
	for i := range t.Tables {
		sub := &t.Tables[i]
		variable, at := prefix+capitals(sub.Name), in.Of(sub.Name)
		switch {
		case sub.Form == Single:
			part, _ := sub.Owner(owner, "")
			if sub.Short != nil {
				add(variable, target{key: sub.key(sub.Short.Key), at: at.Table().Of(sub.Short.Key), owner: part})
			}
			sub.targets(variable+"__", at.Table(), part, found)
		case sub.Elements == nil:
			add(variable, target{at: at})
		default:
			for i, e := range sub.Elements(owner) {
				table := at.Item(i)
				if sub.Form == Named {
					table = at.Table().Of(Segment(e.Name)).Table()
				}
				sub.targets(variable+"__"+capitals(e.Name)+"__", table, e.Owner, found)
			}
		}
	}
}

// capitals returns a part of a key as variables have it.
func capitals(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

func unknownVariable(variable string, targets map[string]target) string {
	for list, t := range targets {
		if t.key == nil && strings.HasPrefix(variable, list+"__") {
			return fmt.Sprintf("%s is a list, which only the file can set", t.at)
		}
	}
	if near, ok := Nearest(variable, slices.Sorted(maps.Keys(targets))); ok {
		return fmt.Sprintf("unknown key; did you mean %s?", near)
	}
	return "unknown key; a variable can set only a key that the reference lists, in a table that is built in or in the file"
}
