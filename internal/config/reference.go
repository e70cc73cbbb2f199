package config

import (
	"bytes"
	_ "embed"
	"io"
	"text/template"
)

//go:embed reference.tmpl
var referenceText string

var referenceTemplate = template.Must(template.New("reference").Parse(referenceText))

// section is one table of the reference.
type section struct {
	Heading string // as it is written in a file, brackets included
	Doc     string
	Like    string // the heading of the table whose keys these are
	Keys    []referenceKey
}

type referenceKey struct {
	Name, Default, Expect, Doc string
	Restart                    bool
}

// WriteReference writes the documentation of every key in Markdown.
func WriteReference(w io.Writer) error {
	return referenceTemplate.Execute(w, sections())
}

func sections() []section {
	var found []section
	schema.walk("", func(heading string, t *table) {
		keys := t.keys
		if t.free != nil {
			keys = []key{*t.free}
		}
		if len(keys) == 0 && t.doc == "" {
			return
		}
		s := section{Heading: "[" + heading + "]", Doc: t.doc, Like: t.like}
		if t.form == listed {
			s.Heading = "[" + s.Heading + "]"
		}
		if t.like != "" {
			keys = nil
		}
		for _, k := range keys {
			s.Keys = append(s.Keys, referenceKey{
				Name: k.name, Default: k.def, Expect: k.expect, Doc: k.doc, Restart: k.restart,
			})
		}
		found = append(found, s)
	})
	return found
}

//go:embed starter.toml
var starter []byte

// Starter is a configuration file to begin with: a pool of the accounts in the store, and the rest as comments. It passes
// [Load] anywhere.
func Starter() []byte { return bytes.Clone(starter) }
