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

// WriteReference writes the documentation of every key in Markdown.
func WriteReference(w io.Writer, families []Family) error {
	return referenceTemplate.Execute(w, newSchema(families).Sections())
}

//go:embed starter.toml
var starter []byte

// Starter returns a configuration file to start from: a pool of the accounts in the store, and the other settings as comments.
// [Load] accepts it on any machine.
func Starter() []byte { return bytes.Clone(starter) }
