package script

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
)

// Vocabulary has the words of checksummed texts. It includes characters that JSON escapes and multi-byte characters, because those are damaged most easily.
var Vocabulary = strings.Fields(`amber birch cedar delta ember flint grove haven inlet jasper kelp larch maple north
	onyx pine quartz river slate thorn umber vale willow yarrow zinc naïve 桜 "quoted" back\slash 🦊 tab/slash`)

const wordsPerLine = 8

// Checksummed returns a text that [Verify] can check: it starts with its kind and the digest of its prompt, numbers its lines
// and ends with a checksum of everything before the last line.
//
//	[sim text 1f2e3d4c5b6a7988 12]
//	1 amber birch ...
//	2 ...
//	[end 9a8b7c6d]
func Checksummed(kind, digest string, words int, rng *rand.Rand) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[sim %s %s %d]", kind, digest, words)
	for i := range words {
		if i%wordsPerLine == 0 {
			fmt.Fprintf(&b, "\n%d", i/wordsPerLine+1)
		}
		b.WriteByte(' ')
		b.WriteString(Vocabulary[rng.IntN(len(Vocabulary))])
	}
	b.WriteByte('\n')
	fmt.Fprintf(&b, "[end %08x]", crc32.ChecksumIEEE([]byte(b.String())))
	return b.String()
}

// Verify returns an error unless text is a complete [Checksummed] text of the kind, for the prompt with the digest.
func Verify(text, kind, digest string) error {
	var gotKind, gotDigest string
	var words int
	if _, err := fmt.Sscanf(text, "[sim %s %s %d]", &gotKind, &gotDigest, &words); err != nil {
		return errors.New("first line is damaged")
	}
	switch {
	case gotKind != kind:
		return fmt.Errorf("got %s, want %s", gotKind, kind)
	case gotDigest != digest:
		return errors.New("it belongs to another prompt, or the prompt was changed on the way")
	}
	lines := strings.Split(text, "\n")
	if len(lines) < 2 {
		return errors.New("only the first line is there")
	}
	for i, line := range lines[1 : len(lines)-1] {
		if !strings.HasPrefix(line, fmt.Sprintf("%d ", i+1)) {
			return fmt.Errorf("line %d is missing or damaged", i+1)
		}
	}
	end := lines[len(lines)-1]
	if sum := crc32.ChecksumIEEE([]byte(strings.TrimSuffix(text, end))); end != fmt.Sprintf("[end %08x]", sum) {
		return errors.New("checksum mismatch: the text is incomplete or mixed with another")
	}
	return nil
}

// Pieces splits a text after every n words.
func Pieces(text string, n int) (list []string) {
	start, words := 0, 0
	for i := range len(text) {
		if text[i] != ' ' && text[i] != '\n' {
			continue
		}
		if words++; words == n {
			list = append(list, text[start:i+1])
			start, words = i+1, 0
		}
	}
	return append(list, text[start:])
}

// Tokens returns the number of tokens that a text counts: its words, without what frames the words of a checksummed text.
func Tokens(text string) int64 {
	var kind, digest string
	var words int64
	if n, _ := fmt.Sscanf(text, "[sim %s %s %d]", &kind, &digest, &words); n == 3 {
		return words
	}
	return int64(len(strings.Fields(text)))
}
