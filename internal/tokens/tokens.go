// Package tokens counts the tokens of a request for upstreams that do not count them (DIA-10), with the byte-pair encoding o200k.
// That is exact for text on models that use the encoding, and an estimate for all others.
//
// Its functions are safe for concurrent use. The first call loads the table of the encoding, which stays in memory.
package tokens

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"

	"shunt/internal/dialect"
)

// What the parts of a request cost besides their text, in tokens.
const (
	perRequest = 3
	perMessage = 4
	perTool    = 8
	perCall    = 4
	perImage   = 1500 // of about a megapixel
	perFile    = 1500 // a page or two: its text is not known
)

var encoding = sync.OnceValue(codec.NewO200kBase)

// Count returns the number of tokens of a request.
func Count(t *dialect.Turn) int64 {
	n := int64(perRequest)
	for _, text := range t.Instructions {
		n += CountText(text.Text)
	}
	for i := range t.Tools {
		tool := &t.Tools[i]
		n += perTool + CountText(tool.Name.Namespace+tool.Name.Name) + CountText(tool.Description) + CountText(string(tool.Schema)) + CountText(string(tool.Grammar))
	}
	for i := range t.Messages {
		n += perMessage + countParts(t.Messages[i].Parts)
	}
	if t.Format != nil {
		n += CountText(string(t.Format.Schema))
	}
	return n
}

func countParts(parts []dialect.Part) (n int64) {
	for _, part := range parts {
		switch p := part.(type) {
		case dialect.Text:
			n += CountText(p.Text)
		case *dialect.Image:
			n += perImage
		case *dialect.File:
			if n += CountText(p.Text); p.Text == "" {
				n += perFile
			}
		case *dialect.ToolCall:
			n += perCall + CountText(p.Name.Namespace+p.Name.Name) + CountText(p.Arguments)
		case *dialect.ToolResult:
			n += perCall + countParts(p.Parts)
		case *dialect.Reasoning:
			n += CountText(p.Text)
		case *dialect.WebSearch:
			for _, r := range p.Results {
				n += CountText(r.Title) + CountText(r.URL)
			}
		}
	}
	return n
}

// longestRun is how many bytes of one kind of character are encoded together. The time that the encoding takes grows with the
// square of such a run; no word is as long.
const longestRun = 128

// CountText returns the number of tokens of a text.
func CountText(text string) int64 {
	var n int64
	run, start := 0, 0
	last := other
	for i, c := range text {
		kind := kindOf(c)
		if kind != last {
			run, last = i, kind
		}
		if i-run >= longestRun {
			n += count(text[start:i])
			run, start = i, i
		}
	}
	return n + count(text[start:])
}

func count(text string) int64 {
	if text == "" {
		return 0
	}
	n, err := encoding().Count(text)
	if err != nil { // the expression that splits the text has no limit of time
		return int64(utf8.RuneCountInString(text))
	}
	return int64(n)
}

type kind uint8

const (
	other kind = iota
	letter
	space
)

func kindOf(c rune) kind {
	switch {
	case unicode.IsSpace(c):
		return space
	case unicode.IsLetter(c), unicode.IsMark(c), unicode.IsDigit(c):
		return letter
	}
	return other
}
