// Package schema decodes TOML files against a description of their keys. A [Schema] is a tree of tables; each [Key] has a
// name, a type, a default and its documentation. From that one description come strict decoding with line numbers, overrides
// by environment variables, suggestions for misspelt names, and the reference for people ([Schema.Sections]).
//
// The package knows no key of its own. It validates one value at a time; what must hold between keys is for the caller to
// check and to report with the [Loader]. It does no I/O: the caller reads the files.
//
// A Schema is not changed once it is in use and may be shared; a Loader belongs to one goroutine.
package schema

import "strings"

// Schema describes a file.
type Schema struct {
	Prefix string // begins the environment variables that set keys, such as "APP_"
	Root   Table  // the document; it has no name
}

// Table describes one table of the file: its keys and the tables in it.
type Table struct {
	Name   string
	Doc    string // for the reference, in Markdown
	Form   Form
	Keys   []Key
	Tables []Table

	// Owner returns the value that the keys are decoded into, given the owner of the table around it and, for a [Named] table,
	// the name. New reports that the owner does not have the defaults yet.
	Owner func(parent any, name string) (owner any, isNew bool)

	// Presence returns the field that records whether the file or the environment has the table, even if empty. It applies to
	// [Single] tables and may be nil.
	Presence func(owner any) *bool
	Restart  bool // a change of presence takes effect at the next start

	// Names says how the name of a [Named] table is written.
	Names Type[string]

	// Elements lists the existing tables of a [Named] table, or of a [Listed] one whose elements have names, for the environment
	// to set. It may be nil.
	Elements func(parent any) []Element

	// Short is another way to write the table, or nil.
	Short *Short

	// Any, unless nil, describes every key of a table whose keys have names that the file chooses. Join returns the owner of
	// one.
	Any  *Key
	Join func(owner any, name string) any

	// Like is the heading, with its brackets, of a table with the same keys, to which the reference refers.
	Like string
}

// Element is one table of several.
type Element struct {
	Name  string
	Owner any
}

// Short is a string that stands for a table with one key.
type Short struct {
	Key    string
	Expect string // completes "must be", for the table or for the list of them
}

// Form says how often a table may occur.
type Form uint8

// The forms.
const (
	Single Form = iota // [server]
	Named              // [providers.<name>]
	Listed             // [[routes]]
)

// Key describes one key of a table.
type Key struct {
	Name    string
	Default string // a TOML literal; empty: none
	Doc     string // for the reference, in Markdown
	Restart bool   // a change takes effect at the next start
	Binding
}

// Binding connects a type to a field, with both types erased.
type Binding struct {
	shape  shape
	orList bool
	expect string
	set    func(owner any, n *node, from Base) error
	get    func(owner any) any
}

// Bind connects a type to a field of O.
func Bind[O, V any](t Type[V], field func(*O) *V) Binding {
	return BindFunc(t, func(o *O) V { return *field(o) }, func(o *O, value V) { *field(o) = value })
}

// BindFunc connects a type to the value that get and set access in an O.
func BindFunc[O, V any](t Type[V], get func(*O) V, set func(*O, V)) Binding {
	return Binding{
		shape:  t.shape,
		orList: t.orList,
		expect: t.expect,
		set: func(owner any, n *node, from Base) error {
			value, err := t.parse(n, from)
			if err == nil {
				set(owner.(*O), value)
			}
			return err
		},
		get: func(owner any) any { return get(owner.(*O)) },
	}
}

// Part returns the Owner function of a [Single] table that is decoded into a field of its parent.
func Part[P, O any](field func(*P) *O) func(parent any, name string) (owner any, isNew bool) {
	return func(parent any, _ string) (any, bool) { return field(parent.(*P)), false }
}

// heading returns the table's path in the file: "server.limits", "providers.<name>.accounts".
func (t *Table) heading(parent string) string {
	heading := strings.TrimPrefix(parent+"."+t.Name, ".")
	if t.Form == Named {
		heading += ".<name>"
	}
	return heading
}

// defaults copies the defaults of a table, and of the single tables in it, into its owner.
func (t *Table) defaults(owner any) {
	for i := range t.Keys {
		k := &t.Keys[i]
		if k.Default == "" {
			continue
		}
		n, ok := literal(k.Default)
		if !ok {
			panic("schema: the default of " + k.Name + " is not TOML")
		}
		if err := k.set(owner, n, Base{}); err != nil {
			panic("schema: the default of " + k.Name + " " + err.Error())
		}
	}
	for i := range t.Tables {
		if sub := &t.Tables[i]; sub.Form == Single {
			part, _ := sub.Owner(owner, "")
			sub.defaults(part)
		}
	}
}

// walk visits a table and all tables in it, with their headings.
func (t *Table) walk(parent string, visit func(heading string, t *Table)) {
	heading := t.heading(parent)
	visit(heading, t)
	for i := range t.Tables {
		t.Tables[i].walk(heading, visit)
	}
}

func (t *Table) key(name string) *Key {
	for i := range t.Keys {
		if t.Keys[i].Name == name {
			return &t.Keys[i]
		}
	}
	return nil
}

func (t *Table) table(name string) *Table {
	for i := range t.Tables {
		if t.Tables[i].Name == name {
			return &t.Tables[i]
		}
	}
	return nil
}
