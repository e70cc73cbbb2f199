package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"shunt/internal/wire"
	"shunt/internal/wire/wiretest"
)

// WIRE-12: a ping may go where an event has just ended, or before any byte, and nowhere else.
func TestBoundary(t *testing.T) {
	for stream, want := range map[string]bool{
		"": true, "\n": true, "\r": true, "\r\n": true, "\n\n\n": true,
		"data: a\n\n": true, "data: a\r\n\r\n": true, "data: a\r\r": true, "data: a\n\r\n": true, "data: a\r\n\n": true, ": hi\n\n": true,
		"data: a": false, "data: a\n": false, "data: a\r\n": false, "data: a\r": false, "data: a\n\ndata: b": false, "data: a\n\ndata: b\n": false,
		"data: a\r\n\r": false,
		"\xef":          false, "\xef\xbb": false, "\ufeff": true, "\ufeff\n": true, "\ufeff\r\n": true, "x\ufeff\n": false, "\n\ufeff\n": false,
	} {
		var b wire.Boundary
		b.Write([]byte(stream))
		if b.AtEnd() != want {
			t.Errorf("after %q: AtEnd() = %v", stream, !want)
		}
	}
}

// FuzzBoundary: chunking never matters, and a plain reader agrees at every cut (WIRE-12).
func FuzzBoundary(f *testing.F) {
	for _, seed := range []string{"event: a\ndata: b\n\n", "data: a\r\n\r\ndata: b\r\n\r\n", "data: a\r\rdata: b\r\r", "\ufeff\n\n", "\r\n\r\n\r", "a\n\r\n\r\r\n\n", ": c\n\n\n\n\n\n\n\n\n\n\n"} {
		f.Add([]byte(seed), uint64(0b1011010))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cuts uint64) {
		var single wire.Boundary
		for i := range stream {
			single.Write(stream[i : i+1])
			if got, want := single.AtEnd(), plainAtEnd(stream[:i+1]); got != want {
				t.Fatalf("after %q: AtEnd() = %v, reference %v", stream[:i+1], got, want)
			}
		}
		var chunked wire.Boundary
		sent := 0
		for _, chunk := range wiretest.Chunks(stream, cuts) {
			chunked.Write(chunk)
			sent += len(chunk)
			if got, want := chunked.AtEnd(), plainAtEnd(stream[:sent]); got != want {
				t.Fatalf("after %q in chunks %b: AtEnd() = %v, reference %v", stream[:sent], cuts, got, want)
			}
		}
	})
}

func plainAtEnd(stream []byte) bool {
	if len(stream) == 0 || string(stream) == "\ufeff" {
		return true
	}
	if bytes.HasSuffix(stream, []byte("\r\n\r")) {
		return false
	}
	lines := wiretest.Lines(stream)
	return len(lines) >= 2 && lines[len(lines)-1] == "" && lines[len(lines)-2] == ""
}

func BenchmarkBoundary(b *testing.B) {
	chunk := []byte(strings.Repeat("event: content_block_delta\ndata: {\"type\":\"content_block_delta\"}\n\n", 32))
	var boundary wire.Boundary
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		boundary.Write(chunk)
	}
	if !boundary.AtEnd() {
		b.Fatal("the chunk ends an event")
	}
}
