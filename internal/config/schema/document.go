package schema

import (
	"errors"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// shape is the TOML type of a value.
type shape uint8

const (
	textShape shape = iota
	wholeShape
	numberShape
	boolShape
	timeShape
	listShape
	tableShape
)

func (s shape) String() string {
	return [...]string{"a string", "a whole number", "a floating-point number", "a boolean", "a date or time", "a list", "a table"}[s]
}

// Document is a TOML document with the line of each value.
type Document struct{ root *node }

// IsList reports whether the root has a list of that name, or several tables headed [[name]].
func (d *Document) IsList(name string) bool {
	n := d.root.child[name]
	return n != nil && n.shape == listShape
}

// node is a value of a document with its line.
type node struct {
	shape     shape
	line      int
	reference bool             // of a string: the whole is one reference (CFG-4)
	text      string           // of a string, its content; of a number, boolean or time, the literal
	items     []*node          // of a list
	names     []string         // of a table, its keys in the order of the document
	child     map[string]*node // of a table
}

// Parse reads TOML. The only problem is a syntax error, which includes a key that is defined twice; it is reported alone
// (CFG-2) and without a file.
func Parse(data []byte) (*Document, *Problem) {
	if at := invalidUTF8(data); at >= 0 {
		return nil, &Problem{Line: newlines(data).line(at), Message: "is not UTF-8 text; save it as UTF-8"}
	}
	// The library's decoder checks what its syntax tree does not: keys defined twice, impossible dates, numbers out of range.
	var discard map[string]any
	if err := toml.Unmarshal(data, &discard); err != nil {
		problem := &Problem{Message: "syntax error: " + strings.TrimPrefix(err.Error(), "toml: ")}
		var at *toml.DecodeError
		if errors.As(err, &at) {
			problem.Line, _ = at.Position()
		}
		return nil, problem
	}
	return &Document{buildTree(data)}, nil
}

func invalidUTF8(data []byte) int {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// lineIndex holds the offset of every newline.
type lineIndex []int

func newlines(data []byte) lineIndex {
	var index lineIndex
	for at, b := range data {
		if b == '\n' {
			index = append(index, at)
		}
	}
	return index
}

func (l lineIndex) line(offset int) int { return sort.SearchInts(l, offset) + 1 }

// treeBuilder turns the syntax tree of a document that is known to be valid into nodes.
type treeBuilder struct {
	parser unstable.Parser
	lines  lineIndex
}

func buildTree(data []byte) *node {
	b := treeBuilder{lines: newlines(data)}
	b.parser.Reset(data)
	root := newTable(1)
	current := root
	for b.parser.NextExpression() {
		switch expr := b.parser.Expression(); expr.Kind {
		case unstable.Table:
			keys := b.keys(expr)
			current = root.descend(keys)
			if current.line == 0 || len(current.names) == 0 {
				current.line = keys[len(keys)-1].line
			}
		case unstable.ArrayTable:
			keys := b.keys(expr)
			last := keys[len(keys)-1]
			current = newTable(last.line)
			list := root.descend(keys[:len(keys)-1]).get(last, listShape)
			list.items = append(list.items, current)
		case unstable.KeyValue:
			b.assign(current, expr)
		}
	}
	return root
}

func newTable(line int) *node {
	return &node{shape: tableShape, line: line, child: map[string]*node{}}
}

type keyPart struct {
	name string
	line int
}

func (b *treeBuilder) keys(expr *unstable.Node) []keyPart {
	var keys []keyPart
	for it := expr.Key(); it.Next(); {
		part := it.Node()
		keys = append(keys, keyPart{string(part.Data), b.lines.line(int(part.Raw.Offset))})
	}
	return keys
}

// descend follows keys from a table and makes missing tables. In a list of tables it takes the last.
func (n *node) descend(keys []keyPart) *node {
	for _, key := range keys {
		n = n.get(key, tableShape)
		if n.shape == listShape {
			n = n.items[len(n.items)-1]
		}
	}
	return n
}

func (n *node) get(key keyPart, missing shape) *node {
	next, ok := n.child[key.name]
	if !ok {
		next = newTable(key.line)
		next.shape = missing
		n.put(key.name, next)
	}
	return next
}

func (n *node) put(name string, child *node) {
	n.names = append(n.names, name)
	n.child[name] = child
}

func (n *node) remove(name string) {
	delete(n.child, name)
	n.names = slices.DeleteFunc(n.names, func(other string) bool { return other == name })
}

func (b *treeBuilder) assign(table *node, keyValue *unstable.Node) {
	keys := b.keys(keyValue)
	last := keys[len(keys)-1]
	table.descend(keys[:len(keys)-1]).put(last.name, b.value(keyValue.Value(), last.line))
}

// value converts a value. Line is the one to report if the parser does not know that of the value.
func (b *treeBuilder) value(v *unstable.Node, line int) *node {
	n := &node{line: line, text: string(v.Data)}
	switch v.Kind {
	case unstable.String:
		n.shape = textShape
	case unstable.Integer:
		n.shape = wholeShape
	case unstable.Float:
		n.shape = numberShape
	case unstable.Bool:
		n.shape = boolShape
	case unstable.Array:
		n.shape = listShape
		for it := v.Children(); it.Next(); {
			item := it.Node()
			at := line
			if item.Raw.Length > 0 {
				at = b.lines.line(int(item.Raw.Offset))
			}
			n.items = append(n.items, b.value(item, at))
		}
	case unstable.InlineTable:
		n = newTable(line)
		for it := v.Children(); it.Next(); {
			b.assign(n, it.Node())
		}
	default:
		n.shape = timeShape
	}
	return n
}

// tables reports whether the node is a list of tables only.
func (n *node) tables() bool {
	return n.shape == listShape && len(n.items) > 0 &&
		!slices.ContainsFunc(n.items, func(item *node) bool { return item.shape != tableShape })
}

// literal reads one TOML value from text.
func literal(text string) (*node, bool) {
	d, problem := Parse([]byte("value = " + text))
	if problem != nil || len(d.root.names) != 1 || d.root.child["value"] == nil {
		return nil, false
	}
	return d.root.child["value"], true
}
