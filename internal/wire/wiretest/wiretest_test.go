package wiretest_test

import (
	"bytes"
	"slices"
	"testing"

	"shunt/internal/wire/wiretest"
)

func TestChunks(t *testing.T) {
	stream := bytes.Repeat([]byte("0123456789"), 20)
	for cuts := range uint64(100) {
		chunks := wiretest.Chunks(stream, cuts)
		if !bytes.Equal(bytes.Join(chunks, nil), stream) {
			t.Errorf("cuts %d: the chunks are not the stream", cuts)
		}
		for _, c := range chunks {
			if len(c) > 16 {
				t.Errorf("cuts %d: a chunk of %d bytes", cuts, len(c))
			}
		}
	}
}

func TestLines(t *testing.T) {
	for stream, want := range map[string][]string{
		"": {""}, "a": {"a"}, "a\nb\r\nc\rd": {"a", "b", "c", "d"}, "\ufeffa\n\n": {"a", "", ""},
	} {
		if got := wiretest.Lines([]byte(stream)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", stream, got, want)
		}
	}
}
