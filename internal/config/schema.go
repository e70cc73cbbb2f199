package config

import "strings"

// table describes one table of the file: its keys and the tables under it.
type table struct {
	name   string // empty: the document itself
	doc    string // for the reference
	form   form
	keys   []key
	tables []table

	// owner is where the keys go: from the owner of the table above and, in a [named] table, the name. fresh says that
	// the defaults have yet to be copied in.
	owner func(parent any, name string) (owner any, fresh bool)

	// Of a single table whose presence means something, be it empty: the field that says so.
	presence func(owner any) *bool
	restart  bool // it takes effect only at the next start (CFG-51)

	// Of a named table: how a name is written.
	names kind[string]

	// Of a named table, or a listed one whose elements have names: those that there are, for the environment to set.
	elements func(parent any) []element

	// short is the other way to write the table, nil if there is none.
	short *short

	// free, if it is there, stands for every key of the table, whose names are the file's own. join makes the owner of one.
	free *key
	join func(owner any, name string) any

	// like is the heading, brackets included, of the table that has the same keys, in whose place the reference has them.
	like string
}

// element is one of the tables of a form that has several.
type element struct {
	name  string
	owner any
}

// short is a string in place of a table, which means the table with that one key.
type short struct {
	key    string
	expect string // completes "must be": what to write in place of the table, or of the list of them
}

// form is how often a table may be there.
type form uint8

const (
	single form = iota // [server]
	named              // [providers.<name>]
	listed             // [[upstreams]]
)

// key describes one key of a table.
type key struct {
	name    string
	def     string // the default as a TOML literal; empty: none
	doc     string // for the reference, which calls the key by its name
	restart bool   // a change takes effect only at the next start (CFG-51)
	binding
}

// binding joins a kind of value to a field, with the types of both erased.
type binding struct {
	shape  shape
	expect string // completes "must be"
	set    func(owner any, n *node, from base) error
	get    func(owner any) any
}

// to binds a kind to a field of O.
func to[O, V any](k kind[V], field func(*O) *V) binding {
	return binding{
		shape:  k.shape,
		expect: k.expect,
		set: func(owner any, n *node, from base) error {
			value, err := k.parse(n, from)
			if err == nil {
				*field(owner.(*O)) = value
			}
			return err
		},
		get: func(owner any) any { return *field(owner.(*O)) },
	}
}

// part is the owner function of a [single] table whose fields are a part of the fields above.
func part[P, O any](field func(*P) *O) func(any, string) (any, bool) {
	return func(parent any, _ string) (any, bool) { return field(parent.(*P)), false }
}

// heading is the table's place in the file: "server.limits", "providers.<name>.accounts".
func (t *table) heading(above string) string {
	heading := strings.TrimPrefix(above+"."+t.name, ".")
	if t.form == named {
		heading += ".<name>"
	}
	return heading
}

// defaults copies the defaults of a table, and of the single tables under it, into its owner.
func (t *table) defaults(owner any) {
	for i := range t.keys {
		k := &t.keys[i]
		if k.def == "" {
			continue
		}
		n, ok := literal(k.def)
		if !ok {
			panic("config: the default of " + k.name + " is not TOML")
		}
		if err := k.set(owner, n, base{}); err != nil {
			panic("config: the default of " + k.name + " " + err.Error())
		}
	}
	for i := range t.tables {
		if sub := &t.tables[i]; sub.form == single {
			part, _ := sub.owner(owner, "")
			sub.defaults(part)
		}
	}
}

// walk visits a table and all below it, with each one's heading.
func (t *table) walk(above string, visit func(heading string, t *table)) {
	heading := t.heading(above)
	visit(heading, t)
	for i := range t.tables {
		t.tables[i].walk(heading, visit)
	}
}

func (t *table) key(name string) *key {
	for i := range t.keys {
		if t.keys[i].name == name {
			return &t.keys[i]
		}
	}
	return nil
}

func (t *table) table(name string) *table {
	for i := range t.tables {
		if t.tables[i].name == name {
			return &t.tables[i]
		}
	}
	return nil
}
