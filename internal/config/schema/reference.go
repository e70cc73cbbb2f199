package schema

// Section documents one table.
type Section struct {
	Heading string // as it is written in a file, with its brackets
	Doc     string
	Like    string // the heading of the table that documents the same keys; empty: none
	Keys    []Documented
}

// Documented is the documentation of one key.
type Documented struct {
	Name, Default, Expect, Doc string
	Restart                    bool // a change takes effect at the next start
}

// Sections returns the documentation of every table, in the order of the schema.
func (s *Schema) Sections() []Section {
	var found []Section
	s.Root.walk("", func(heading string, t *Table) {
		keys := t.Keys
		if t.Any != nil {
			keys = []Key{*t.Any}
		}
		if len(keys) == 0 && t.Doc == "" {
			return
		}
		section := Section{Heading: "[" + heading + "]", Doc: t.Doc, Like: t.Like}
		if t.Form == Listed {
			section.Heading = "[" + section.Heading + "]"
		}
		if t.Like != "" {
			keys = nil
		}
		for _, k := range keys {
			section.Keys = append(section.Keys, Documented{
				Name: k.Name, Default: k.Default, Expect: k.expect, Doc: k.Doc, Restart: k.Restart,
			})
		}
		found = append(found, section)
	})
	return found
}
