// Package wiretest has helpers for tests of streams.
package wiretest

import (
	"strings"
)

// Chunks cuts a stream into chunks of 1 to 16 bytes, and some empty ones, by the bits of cuts.
func Chunks(stream []byte, cuts uint64) (chunks [][]byte) {
	for len(stream) > 0 {
		n := min(int(cuts&15)+int(cuts>>4&1), len(stream))
		if n == 0 && cuts>>5&1 == 1 {
			n = 1
		}
		chunks = append(chunks, stream[:n])
		stream = stream[n:]
		cuts = cuts*6364136223846793005 + 1442695040888963407
		cuts ^= cuts >> 29
	}
	return chunks
}

// Lines returns the lines of a stream. The last one is the rest after the last line end.
func Lines(stream []byte) []string {
	text := strings.TrimPrefix(string(stream), "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")
}
