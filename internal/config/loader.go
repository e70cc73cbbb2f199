package config

import (
	"fmt"
	"path/filepath"
	"strings"
)

// spot is a key, or with an empty key a table, that a configuration can set.
type spot struct {
	table string
	items items
	key   string
}

// items tells the tables of lists apart: each list around a spot, outermost first, has the number of its table, from 1.
type items [2]int

func (i items) in(number int) items {
	if i[0] == 0 {
		return items{number}
	}
	return items{i[0], number}
}

// of is a key of the table at s.
func (s spot) of(key string) spot { return spot{s.table, s.items, key} }

// below is the table that the key at s holds.
func (s spot) below() spot { return spot{s.String(), s.items, ""} }

// item is one of the tables that the list at s holds.
func (s spot) item(index int) spot { return spot{s.String(), s.items.in(index + 1), ""} }

func (s spot) String() string {
	return strings.Trim(s.table+"."+s.key, ".")
}

// place is where a spot was set.
type place struct {
	line     int    // 0: not in the file
	variable string // the environment variable that overrides the file
}

// loader builds one Config.
type loader struct {
	file     string
	from     base // for paths in the file
	here     base // for paths in the environment
	env      map[string]string
	config   *Config
	places   map[spot]place
	bad      map[spot]bool // whose value is no good, so nothing should be concluded from it
	problems Problems
	warnings Problems
}

func newLoader(o Options) (*loader, error) {
	here, err := filepath.Abs(".")
	if err != nil {
		return nil, fmt.Errorf("needs a working directory: %w", err)
	}
	env := environment(o.Env)
	dir := filepath.Dir(o.Path)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(here, dir)
	}
	l := &loader{
		file:   o.Path,
		from:   base{dir, env["HOME"]},
		here:   base{here, env["HOME"]},
		env:    env,
		config: &Config{Path: o.Path},
		places: map[spot]place{},
		bad:    map[spot]bool{},
	}
	schema.defaults(l.config)
	document, problem := parseDocument([]byte(builtin))
	if problem != nil {
		panic("config: built-in: " + problem.Message)
	}
	l.decode(document)
	clear(l.places)
	return l, nil
}

// report adds a problem at a spot, or if nothing set it, at the innermost table that it would stand in.
func (l *loader) report(s spot, message string) { l.problems = append(l.problems, l.at(s, message)) }

func (l *loader) at(s spot, message string) Problem {
	where, ok := l.places[s]
	for in := s.of(""); !ok && in.table != ""; in.table = above(in.table) {
		where, ok = l.places[in]
	}
	if where.variable != "" {
		return Problem{Key: where.variable, Message: message}
	}
	return Problem{File: l.file, Line: where.line, Key: s.String(), Message: message}
}

// above is the heading of the table around another.
func above(heading string) string {
	return heading[:max(0, strings.LastIndexByte(heading, '.'))]
}

// fail reports a value that is no good.
func (l *loader) fail(s spot, message string) {
	l.bad[s] = true
	l.report(s, message)
}

// written reports whether the file or the environment set a spot, well or badly.
func (l *loader) written(s spot) bool {
	_, ok := l.places[s]
	return ok
}

// notePresence tells the owners of the single tables that want to know whether their table is there.
func (l *loader) notePresence(t *table, above string, owner any) {
	heading := t.heading(above)
	if t.presence != nil {
		*t.presence(owner) = l.present(heading)
	}
	for i := range t.tables {
		if sub := &t.tables[i]; sub.form == single && sub.owner != nil {
			part, _ := sub.owner(owner, "")
			l.notePresence(sub, heading, part)
		}
	}
}

// present reports whether the file has a table, be it empty, or the environment sets one of its keys.
func (l *loader) present(heading string) bool {
	for s := range l.places {
		if s.table == heading {
			return true
		}
	}
	return false
}

func (l *loader) failed(s spot) bool { return l.bad[s] }
