package main

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
)

// writer generates the contents of bodies. Its seed is fixed, so that each run sends the same.
type writer struct{ *rand.Rand }

func newWriter() *writer { return &writer{rand.New(rand.NewPCG(1, 2))} }

func pick(w *writer, from []string) string { return from[w.IntN(len(from))] }

var words = strings.Fields(`the a of to and in is that it with as for on each when which where account request session
	stream result header window quota reading error test file function value buffer client server proxy upstream moment
	before after never always only first last next other whole empty open closed known unknown careful small large
	should must may can returns keeps reads writes counts waits fails begins ends moves serves checks`)

// prose returns at least size bytes of text, with the punctuation, quotes and line breaks of instructions.
func (w *writer) prose(size int) string {
	var b strings.Builder
	for b.Len() < size {
		if w.IntN(6) == 0 {
			b.WriteString("- ")
		}
		for i := range 6 + w.IntN(10) {
			if i > 0 {
				b.WriteByte(' ')
			}
			switch w.IntN(100) {
			case 0:
				fmt.Fprintf(&b, "\"%s %s\"", pick(w, words), pick(w, words))
			case 1, 2, 3, 4:
				fmt.Fprintf(&b, "`%s`", pick(w, words))
			case 5:
				b.WriteString("naïve—")
			default:
				b.WriteString(pick(w, words))
			}
		}
		b.WriteString(pick(w, []string{". ", ". ", ".\n", ":\n\n"}))
	}
	return b.String()
}

// plain returns exactly size bytes of text that needs no escapes.
func (w *writer) plain(size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(pick(w, words))
		b.WriteByte(' ')
	}
	return b.String()[:max(size, 0)]
}

var codeLines = []string{
	"func (%s *%s) %s(ctx context.Context) error {",
	"\tif err := %s.%s(%s); err != nil {",
	"\t\treturn fmt.Errorf(\"%s %s %%q: %%w\", %s, err)",
	"\t}",
	"}",
	"",
	"\t// %s %s %s %s %s %s %s",
	"\t%s := %s.%s(%s, len(%s))",
	"\tdefer %s.%s()",
	"\tfor i, %s := range %s.%s {",
	"\t\tslog.Info(\"%s\", \"%s\", %s)",
	"\tconst %s = `<a href=\"/%s?id=1&%s\">`",
	"\tcase '\\n', '\\t': // %s %s %s",
}

// code returns at least size bytes of a file as a tool shows it, with line numbers.
func (w *writer) code(size int) string {
	var b strings.Builder
	for line := 1; b.Len() < size; line++ {
		fmt.Fprintf(&b, "%6d\t", line)
		form := pick(w, codeLines)
		args := make([]any, strings.Count(form, "%s"))
		for i := range args {
			args[i] = pick(w, words)
		}
		fmt.Fprintf(&b, form, args...)
		b.WriteByte('\n')
	}
	return b.String()
}

func (w *writer) path() string {
	return fmt.Sprintf("/home/dev/project/%s/%s_%s.go", pick(w, words), pick(w, words), pick(w, words))
}

// base64 returns an encoded signature of size bytes.
func (w *writer) base64(size int) string {
	raw := make([]byte, size)
	for i := range raw {
		raw[i] = byte(w.Uint32())
	}
	return base64.StdEncoding.EncodeToString(raw)
}
