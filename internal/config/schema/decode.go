package schema

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// Decode puts a document into the owner of its keys and reports what does not fit the schema.
func (l *Loader) Decode(d *Document, owner any) { l.table(&l.schema.Root, d.root, Spot{}, owner) }

// Reject takes a table of the document's root out of it, with a problem at the table. The table's own problems are reported
// too, for which it is decoded into an owner that is then of no use.
func (l *Loader) Reject(d *Document, table string, owner any, message string) {
	n := d.root.child[table]
	if n == nil {
		return
	}
	at := At("").Of(table)
	l.places[at] = place{line: n.line}
	l.Fail(at, message)
	l.subtable(l.schema.Root.table(table), n, at, owner)
	d.root.remove(table)
}

// table decodes n, which is at the spot in, into the owner of t's keys.
func (l *Loader) table(t *Table, n *node, in Spot, owner any) {
	l.places[in] = place{line: n.line}
	for _, name := range n.names {
		child := n.child[name]
		at := in.Of(Segment(name))
		l.places[at] = place{line: child.line}
		if t.Any != nil {
			l.set(t.Any, child, at, t.Join(owner, name))
		} else if k := t.key(name); k != nil {
			l.set(k, child, at, owner)
		} else if sub := t.table(name); sub != nil {
			l.subtable(sub, child, at, owner)
		} else {
			l.Report(at, l.schema.unknown(t, in.table, name, child))
		}
	}
}

func (l *Loader) subtable(t *Table, n *node, at Spot, parent any) {
	if t.Form == Listed {
		l.list(t, n, at, parent)
		return
	}
	n, ok := t.long(n)
	switch {
	case !ok && t.Short != nil:
		l.Fail(at, "must be "+t.Short.Expect)
	case !ok:
		l.Fail(at, fmt.Sprintf("must be one table, headed [%s]", at))
	case t.Form == Named:
		for _, name := range n.names {
			l.named(t, name, n.child[name], at.Table().Of(Segment(name)), parent)
		}
	default:
		l.enter(t, n, at.Table(), parent, "")
	}
}

func (l *Loader) list(t *Table, n *node, at Spot, parent any) {
	tables := make([]*node, len(n.items))
	ok := n.shape == listShape
	for i, item := range n.items {
		var fits bool
		tables[i], fits = t.long(item)
		ok = ok && fits
	}
	switch {
	case !ok && t.Short != nil:
		l.Fail(at, "must be "+t.Short.Expect)
	case !ok:
		l.Fail(at, fmt.Sprintf("must be a list of tables, each headed [[%s]]", at))
	default:
		for i, item := range tables {
			l.enter(t, item, at.Item(i), parent, "")
		}
	}
}

// long returns the table that n is or that its short form stands for.
func (t *Table) long(n *node) (*node, bool) {
	if t.Short != nil && n.shape == textShape {
		table := newTable(n.line)
		table.put(t.Short.Key, n)
		return table, true
	}
	return n, n.shape == tableShape
}

func (l *Loader) named(t *Table, name string, n *node, at Spot, parent any) {
	l.places[at] = place{line: n.line}
	if n.shape != tableShape {
		l.Report(at, fmt.Sprintf("must be one table, headed [%s]", at))
		return
	}
	if _, err := t.Names.parse(&node{text: name}, Base{}); err != nil {
		l.Report(at, fmt.Sprintf("is not %s", t.Names.expect))
	}
	l.enter(t, n, at.Table(), parent, name)
}

func (l *Loader) enter(t *Table, n *node, in Spot, parent any, name string) {
	owner, isNew := t.Owner(parent, name)
	if isNew {
		t.defaults(owner)
	}
	l.table(t, n, in, owner)
}

// set decodes one value of the file.
func (l *Loader) set(k *Key, n *node, at Spot, owner any) {
	n, err := l.expand(n)
	if err != nil {
		l.Fail(at, err.Error())
		return
	}
	l.assign(k, n, at, owner, l.source.InFile)
}

// expand replaces the references in the strings of a value.
func (l *Loader) expand(n *node) (*node, error) {
	switch n.shape {
	case textShape:
		text, err := l.source.expand(n.text)
		if err != nil {
			return nil, err
		}
		return &node{shape: textShape, line: n.line, text: text, reference: isReference(n.text)}, nil
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

func (l *Loader) assign(k *Key, n *node, at Spot, owner any, from Base) {
	if n.shape != k.shape && !(n.shape == wholeShape && k.shape == numberShape) && !(n.shape == listShape && k.orList) {
		l.Fail(at, fmt.Sprintf("is %s; it must be %s", n.shape, k.expect))
		return
	}
	switch err := k.set(owner, n, from); {
	case errors.Is(err, ErrUnexpected):
		l.Fail(at, "must be "+k.expect)
	case err != nil:
		l.Fail(at, err.Error())
	}
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// Segment returns one part of a key as it is written in TOML, quoted if it must be.
func Segment(name string) string {
	if bareKey.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}
