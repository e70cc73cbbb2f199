package config

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// decode puts a document into the Config and reports whatever does not fit the schema.
func (l *loader) decode(document *node) {
	l.table(&schema, document, spot{}, l.config)
	slices.SortFunc(l.config.Providers, func(a, b Provider) int { return cmp.Compare(a.Name, b.Name) })
}

// table decodes n, which stands at the spot in, into the owner of t's keys.
func (l *loader) table(t *table, n *node, in spot, owner any) {
	l.places[in] = place{line: n.line}
	for _, name := range n.names {
		child := n.child[name]
		at := spot{in.table, in.item, segment(name)}
		l.places[at] = place{line: child.line}
		if k := t.key(name); k != nil {
			l.set(k, child, at, owner)
		} else if sub := t.table(name); sub != nil {
			l.subtable(sub, child, at, owner)
		} else {
			l.report(at, unknown(t, in.table, name, child))
		}
	}
}

func (l *loader) subtable(t *table, n *node, at spot, parent any) {
	heading := at.String()
	switch {
	case t.form == listed:
		if n.shape != listShape || len(n.items) > 0 && !n.tables() {
			l.report(at, fmt.Sprintf("must be a list of tables, each headed [[%s]]", heading))
			return
		}
		for i, item := range n.items {
			l.enter(t, item, spot{heading, i + 1, ""}, parent, "")
		}
	case n.shape != tableShape:
		l.report(at, fmt.Sprintf("must be one table, headed [%s]", heading))
	case t.form == named:
		for _, name := range n.names {
			l.named(t, name, n.child[name], spot{table: heading, key: segment(name)}, parent)
		}
	default:
		l.enter(t, n, spot{table: heading}, parent, "")
	}
}

func (l *loader) named(t *table, name string, n *node, at spot, parent any) {
	l.places[at] = place{line: n.line}
	if n.shape != tableShape {
		l.report(at, fmt.Sprintf("must be one table, headed [%s]", at))
		return
	}
	if _, err := t.names.parse(&node{text: name}, base{}); err != nil {
		l.report(at, fmt.Sprintf("is not %s", t.names.expect))
	}
	l.enter(t, n, spot{table: at.String()}, parent, name)
}

func (l *loader) enter(t *table, n *node, in spot, parent any, name string) {
	owner, fresh := t.owner(parent, name)
	if fresh {
		t.defaults(owner)
	}
	l.table(t, n, in, owner)
}

// set decodes one value of the file.
func (l *loader) set(k *key, n *node, at spot, owner any) {
	n, err := l.expand(n)
	if err != nil {
		l.fail(at, err.Error())
		return
	}
	l.assign(k, n, at, owner, l.from)
}

// expand replaces the references in the strings of a value (CFG-4).
func (l *loader) expand(n *node) (*node, error) {
	switch n.shape {
	case textShape:
		text, err := expand(n.text, l.env)
		if err != nil {
			return nil, err
		}
		return &node{shape: textShape, line: n.line, text: text}, nil
	case listShape:
		expanded := &node{shape: listShape, line: n.line}
		for _, item := range n.items {
			item, err := l.expand(item)
			if err != nil {
				return nil, err
			}
			expanded.items = append(expanded.items, item)
		}
		return expanded, nil
	default:
		return n, nil
	}
}

func (l *loader) assign(k *key, n *node, at spot, owner any, from base) {
	if n.shape != k.shape && !(n.shape == wholeShape && k.shape == numberShape) {
		l.fail(at, fmt.Sprintf("is %s; it must be %s", n.shape, k.expect))
		return
	}
	switch err := k.set(owner, n, from); {
	case errors.Is(err, errUnexpected):
		l.fail(at, "must be "+k.expect)
	case err != nil:
		l.fail(at, err.Error())
	}
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// segment writes a part of a key as TOML has it, quoted if need be.
func segment(name string) string {
	if bareKey.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}
