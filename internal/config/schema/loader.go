package schema

// Source is what a Loader decodes, besides the document.
type Source struct {
	File     string                            // the name of the file in problems
	Env      map[string]string                 // for overrides and references
	InFile   Base                              // for paths in the file
	InEnv    Base                              // for paths in the environment
	ReadFile func(path string) ([]byte, error) // for references; its errors complete a sentence that begins with the file
}

// Loader decodes a document and the environment into one value and collects what is wrong with them. Besides its own
// problems, it takes those that its caller finds between keys.
type Loader struct {
	schema   *Schema
	source   Source
	places   map[Spot]place
	bad      map[Spot]bool
	problems Problems
	warnings Problems
}

// place is where a spot was set.
type place struct {
	line     int    // 0: not in the file
	variable string // the environment variable that overrides the file
}

// NewLoader returns a Loader that has decoded nothing yet.
func NewLoader(s *Schema, source Source) *Loader {
	return &Loader{schema: s, source: source, places: map[Spot]place{}, bad: map[Spot]bool{}}
}

// Defaults copies the defaults of all keys into an owner, and then what is built in, a TOML document. It panics if that is not
// one.
func (l *Loader) Defaults(owner any, builtin string) {
	l.schema.Root.defaults(owner)
	document, problem := Parse([]byte(builtin))
	if problem != nil {
		panic("schema: built in: " + problem.Message)
	}
	l.Decode(document, owner)
	clear(l.places)
}

// Problems returns all problems so far, those of the file by line, then those of the environment by name.
func (l *Loader) Problems() Problems { return l.problems.sorted() }

// Warnings returns all warnings so far, in the same order.
func (l *Loader) Warnings() Problems { return l.warnings.sorted() }

// Report adds a problem at a spot or, if nothing has set it, at the innermost table around it that is set.
func (l *Loader) Report(s Spot, message string) { l.problems = append(l.problems, l.at(s, message)) }

// Fail is Report for a value that is wrong: from now on, Failed reports true for its spot.
func (l *Loader) Fail(s Spot, message string) {
	l.bad[s] = true
	l.Report(s, message)
}

// Warn adds a warning at a spot.
func (l *Loader) Warn(s Spot, message string) { l.warnings = append(l.warnings, l.at(s, message)) }

// Failed reports whether the value at a spot is wrong, so that nothing should be concluded from it.
func (l *Loader) Failed(s Spot) bool { return l.bad[s] }

// Written reports whether the file or the environment set a spot, well or badly.
func (l *Loader) Written(s Spot) bool {
	_, ok := l.places[s]
	return ok
}

// Line returns the line of the file where a spot is set, 0 if it is not set there.
func (l *Loader) Line(s Spot) int { return l.places[s].line }

func (l *Loader) at(s Spot, message string) Problem {
	where, ok := l.places[s]
	for in := s.Of(""); !ok && in.table != ""; in.table = parent(in.table) {
		where, ok = l.places[in]
	}
	if where.variable != "" {
		return Problem{Key: where.variable, Message: message}
	}
	return Problem{File: l.source.File, Line: where.line, Key: s.String(), Message: message}
}

// NotePresence sets the fields that record whether a table is there.
func (l *Loader) NotePresence(owner any) { l.notePresence(&l.schema.Root, "", owner) }

func (l *Loader) notePresence(t *Table, parent string, owner any) {
	heading := t.heading(parent)
	if t.Presence != nil {
		*t.Presence(owner) = l.present(heading)
	}
	for i := range t.Tables {
		if sub := &t.Tables[i]; sub.Form == Single {
			part, _ := sub.Owner(owner, "")
			l.notePresence(sub, heading, part)
		}
	}
}

// present reports whether the file has a table, even if empty, or the environment sets one of its keys.
func (l *Loader) present(heading string) bool {
	for s := range l.places {
		if s.table == heading {
			return true
		}
	}
	return false
}
