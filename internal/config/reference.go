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

// Starter is a configuration file to begin with: a pool of the accounts in the store, and the rest as comments. It passes
// [Load] anywhere.
func Starter() []byte { return bytes.Clone(starter) }
