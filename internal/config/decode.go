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
	if upstreams := document.child["upstreams"]; upstreams != nil && upstreams.shape == listShape {
		l.config.ordered, l.config.Providers = true, nil
		l.rejectProviders(document)
	}
	l.table(&schema, document, spot{}, l.config)
	if !l.config.ordered {
		slices.SortFunc(l.config.Providers, func(a, b Provider) int { return cmp.Compare(a.Name, b.Name) })
	}
}

// rejectProviders takes [providers.*] out of a document that has [[upstreams]] (CFG-20), once its own problems are reported.
func (l *loader) rejectProviders(document *node) {
	providers := document.child["providers"]
	if providers == nil {
		return
	}
	at := spot{key: "providers"}
	l.places[at] = place{line: providers.line}
	l.fail(at, "cannot stand beside [[upstreams]]; declare every provider in one of the two ways")
	l.subtable(schema.table("providers"), providers, at, &Config{})
	document.remove("providers")
}

// table decodes n, which stands at the spot in, into the owner of t's keys.
func (l *loader) table(t *table, n *node, in spot, owner any) {
	l.places[in] = place{line: n.line}
	for _, name := range n.names {
		child := n.child[name]
		at := in.of(segment(name))
		l.places[at] = place{line: child.line}
		if t.free != nil {
			l.set(t.free, child, at, t.join(owner, name))
		} else if k := t.key(name); k != nil {
			l.set(k, child, at, owner)
		} else if sub := t.table(name); sub != nil {
			l.subtable(sub, child, at, owner)
		} else {
			l.report(at, unknown(t, in.table, name, child))
		}
	}
}

func (l *loader) subtable(t *table, n *node, at spot, parent any) {
	if t.form == listed {
		l.list(t, n, at, parent)
		return
	}
	n, ok := t.long(n)
	switch {
	case !ok && t.short != nil:
		l.fail(at, "must be "+t.short.expect)
	case !ok:
		l.fail(at, fmt.Sprintf("must be one table, headed [%s]", at))
	case t.form == named:
		for _, name := range n.names {
			l.named(t, name, n.child[name], at.below().of(segment(name)), parent)
		}
	default:
		l.enter(t, n, at.below(), parent, "")
	}
}

func (l *loader) list(t *table, n *node, at spot, parent any) {
	tables := make([]*node, len(n.items))
	ok := n.shape == listShape
	for i, item := range n.items {
		var fits bool
		tables[i], fits = t.long(item)
		ok = ok && fits
	}
	switch {
	case !ok && t.short != nil:
		l.fail(at, "must be "+t.short.expect)
	case !ok:
		l.fail(at, fmt.Sprintf("must be a list of tables, each headed [[%s]]", at))
	default:
		for i, item := range tables {
			l.enter(t, item, at.item(i), parent, "")
		}
	}
}

// long is the table that n is, or that it stands for in short.
func (t *table) long(n *node) (*node, bool) {
	if t.short != nil && n.shape == textShape {
		table := newTable(n.line)
		table.put(t.short.key, n)
		return table, true
	}
	return n, n.shape == tableShape
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
	l.enter(t, n, at.below(), parent, name)
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
